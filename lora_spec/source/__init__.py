"""Bytes, texts and Python values as Documents; import from the defining file."""
