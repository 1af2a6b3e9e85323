"""How much a document may hold; more is refused before it costs time or memory."""

MAX_BYTES = 1024 * 1024
"""The largest file or text."""

MAX_DEPTH = 64
"""Mappings and lists inside one another, the root included."""

MAX_NODES = 20_000
"""Mappings, lists and scalars (keys not counted); what an alias repeats counts each time."""

MAX_KEY = 256
"""Characters in a key."""
