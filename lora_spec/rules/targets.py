"""The rule that all others on targets lead to."""

from __future__ import annotations

from lora_spec.diagnostics import Rule, Severity

TARGET_MATCHES_NOTHING = Rule(
    "LS201",
    "target-matches-nothing",
    Severity.ERROR,
    "PEFT complains only when nothing at all matches. An entry without a match beside others that do match is skipped "
    "without a word: fewer modules train than the file says.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, w_pack]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
)
RULES = (TARGET_MATCHES_NOTHING,)
