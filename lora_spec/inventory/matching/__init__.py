"""What PEFT would do to a model, told from the model's tree alone: which modules, which parameters, how many, or why not.

Every file says whose behaviour it states: functions of PEFT 0.21.2 on transformers 5. `tests/inventory/differential.py`
holds all of it against PEFT itself.
"""

from lora_spec.inventory.matching.result import (
    Adapted,
    Biases,
    Effective,
    Entry,
    Match,
    Reason,
    Refusal,
    Saved,
    Tokens,
)
from lora_spec.inventory.matching.steps import match

__all__ = ["Adapted", "Biases", "Effective", "Entry", "Match", "Reason", "Refusal", "Saved", "Tokens", "match"]
