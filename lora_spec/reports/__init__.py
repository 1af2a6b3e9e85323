"""What is found, written for people and for programs: one file for each format."""
