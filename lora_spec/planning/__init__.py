"""What a spec means for a model: which module gets what, exact counts, bytes, memory, steps."""
