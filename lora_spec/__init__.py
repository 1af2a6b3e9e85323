"""Finds mistakes in LoRA configs before the model is loaded, and prepares the model."""

__version__ = "0.1.0"
