"""The native document: one short file per section, and what turns its faults into diagnostics."""
