"""docs/config.md, made from the models: ``python -m lora_spec.spec.config_page [--write]``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lora_spec.base import StrictModel
from lora_spec.spec.documentation import field_documentation, model_documentation
from lora_spec.spec.inits import INITS
from lora_spec.spec.lora import Lora
from lora_spec.spec.prepare import Fsdp, GradientCheckpointing, Prepare
from lora_spec.spec.quantization import Quantization
from lora_spec.spec.root import LoraSpec
from lora_spec.spec.serve import Serve
from lora_spec.spec.train import Train
from lora_spec.spec.variants import Arrow, Bdlora, Kasa, Monteclora, RuntimeOptions, Velora

SECTIONS: tuple[tuple[str, Any], ...] = (
    ("The document", LoraSpec),
    ("lora", Lora),
    ("lora.velora_config", Velora),
    ("lora.monteclora_config", Monteclora),
    ("lora.use_bdlora", Bdlora),
    ("lora.arrow_config", Arrow),
    ("lora.kasa_config", Kasa),
    ("lora.runtime_config", RuntimeOptions),
    ("prepare", Prepare),
    ("prepare.gradient_checkpointing", GradientCheckpointing),
    ("prepare.fsdp", Fsdp),
    ("quantization", Quantization),
    ("train", Train),
    ("serve", Serve),
)


def config_page() -> str:
    """Every key with its documentation and default."""
    parts = ["# The config", "", "Made by `python -m lora_spec.spec.config_page --write` from the models.", ""]
    for title, model in SECTIONS:
        parts += [f"## {title}", "", model_documentation(model), "", *_table(model), ""]
    parts += ["## lora.init", "", "A kind's name alone, or the kind with its settings: `{kind: pissa, niter: 4}`.", ""]
    for model in INITS:
        kind = model.model_fields["kind"].annotation.__args__[0]  # type: ignore[union-attr]
        parts += [f"### {kind}", "", model_documentation(model), "", *_table(model, leave_out="kind"), ""]
    return "\n".join(parts).replace("\n\n\n", "\n\n").replace("``", "`").rstrip() + "\n"


def _table(model: Any, leave_out: str = "") -> Iterator[str]:
    documentation = field_documentation(model)
    names = [name for name in model.model_fields if name != leave_out]
    if names:
        yield "| key | default | what it says |\n|---|---|---|"
    for name in names:
        text = " ".join(documentation[name].split()).replace("|", r"\|")
        yield f"| `{name}` | {_default(model.model_fields[name])} | {text} |"


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None or default == {} or isinstance(default, StrictModel):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def main() -> None:
    """Print the page, or write it into the repository."""
    if "--write" in sys.argv[1:]:
        Path("docs/config.md").write_text(config_page(), encoding="utf-8")
    else:
        sys.stdout.write(config_page())


if __name__ == "__main__":
    main()
