"""What is judged about a document beyond its schema: one file for each family of rules."""
