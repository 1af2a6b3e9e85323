"""What is known of models and adapters without loading them."""
