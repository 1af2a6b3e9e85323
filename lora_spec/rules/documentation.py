"""docs/rules.md, made from the records: ``python -m lora_spec.rules.documentation [--write]``."""

from __future__ import annotations

import sys
from pathlib import Path

from lora_spec.diagnostics import Rule
from lora_spec.rules.catalogue import ALL_RULES

FAMILIES = {
    "LS0": "Reading, keys and types",
    "LS1": "Values, combinations and target lists",
    "LS2": "Targets against the model",
    "LS3": "Steps of `prepare`",
    "LS4": "Sharding and memory",
    "LS5": "Compiling",
    "LS7": "Serving",
    "LS8": "One trainer's own traps",
}


def rules_page() -> str:
    """Every rule by family: why it matters, a bad and a good example."""
    parts = [
        "# Rules",
        "",
        "Made by `python -m lora_spec.rules.documentation --write`; `lora-spec explain CODE` says the same.",
        "",
    ]
    for prefix, title in FAMILIES.items():
        parts += [f"## {prefix}xx: {title}", ""]
        for rule in ALL_RULES:
            if rule.code.startswith(prefix):
                parts += _section(rule)
    return "\n".join(parts).rstrip() + "\n"


def _section(rule: Rule) -> list[str]:
    title = f"### {rule.code} {rule.name} ({rule.severity.value})"
    bad, good = rule.bad.strip("\n"), rule.good.strip("\n")
    return [title, "", rule.why, "", "Bad:", "", "```yaml", bad, "```", "", "Good:", "", "```yaml", good, "```", ""]


def main() -> None:
    """Print the page, or write it into the repository."""
    if "--write" in sys.argv[1:]:
        Path("docs/rules.md").write_text(rules_page(), encoding="utf-8")
    else:
        sys.stdout.write(rules_page())


if __name__ == "__main__":
    main()
