"""The generated pages are those that the code makes now."""

from pathlib import Path

from lora_spec.rules.catalogue import ALL_RULES
from lora_spec.rules.documentation import rules_page
from lora_spec.spec.config_page import config_page

DOCS = Path(__file__).parent.parent / "docs"


def test_rules_page() -> None:
    page = rules_page()
    assert (DOCS / "rules.md").read_text(encoding="utf-8") == page, "python -m lora_spec.rules.documentation --write"
    assert all(f"### {rule.code} {rule.name}" in page for rule in ALL_RULES)


def test_config_page() -> None:
    page = config_page()
    assert (DOCS / "config.md").read_text(encoding="utf-8") == page, "python -m lora_spec.spec.config_page --write"
