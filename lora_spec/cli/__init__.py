"""The command line: arguments in, pipeline, report out."""
