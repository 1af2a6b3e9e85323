"""What to say of a scalar that YAML 1.1 readers take otherwise than this format."""

from __future__ import annotations

from lora_spec.source.document import Scalar
from lora_spec.source.scalars import other_reading


def reading_note(scalar: Scalar) -> str | None:
    """A sentence on how ``scalar`` is read elsewhere, or None where all readers agree."""
    otherwise = other_reading(scalar)
    if otherwise is None:
        return None
    if scalar.text == "None":
        return "None is a text in YAML; null is written null"
    return f"YAML 1.1 readers such as PyYAML take {scalar.raw} for {otherwise}, this format reads YAML 1.2"
