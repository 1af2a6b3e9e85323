"""`python -m lora_spec` is the command `lora-spec`."""

from lora_spec.cli.main import console

console()
