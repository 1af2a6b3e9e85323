"""The faults of reading: a document that is no document, or that says one thing twice."""

from __future__ import annotations

from lora_spec.diagnostics import Diagnostic, DocumentPath, Fix, Range, Rule, Severity

SYNTAX_ERROR = Rule(
    code="LS001",
    name="syntax-error",
    severity=Severity.ERROR,
    why="The text is not valid YAML or JSON, so no trainer can load it. Reading stops here: what comes after is unchecked.",
    bad="lora:\n  target_modules: [q_proj, v_proj\n",
    good="lora:\n  target_modules: [q_proj, v_proj]\n",
)
DUPLICATE_KEY = Rule(
    code="LS002",
    name="duplicate-key",
    severity=Severity.ERROR,
    why="Most readers silently take the last of two equal keys, OmegaConf refuses the file. Either way one of the two "
    "lines does not do what it says.",
    bad="lora:\n  rank: 16\n  alpha: 32\n  rank: 64\n",
    good="lora:\n  rank: 64\n  alpha: 32\n",
)
DOCUMENT_TOO_LARGE = Rule(
    code="LS003",
    name="document-too-large",
    severity=Severity.ERROR,
    why="A config is small. A document over 1 MiB, 64 levels, 20,000 values (what an alias repeats counts each time) "
    "or with keys over 256 characters is data, a mistake or an attack, and is not read further.",
    bad="a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
    "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
    "e: [*d, *d, *d]\n",
    good="base_model: Qwen/Qwen2.5-0.5B-Instruct\nlora:\n  rank: 16\n  alpha: 32\n",
)
NOT_TEXT = Rule(
    code="LS004",
    name="not-text",
    severity=Severity.ERROR,
    why="A config is text in UTF-8. Weights, archives and files in an old encoding cannot be read as one.",
    bad="(the bytes of adapter_model.safetensors)",
    good="base_model: Qwen/Qwen2.5-0.5B-Instruct\nlora:\n  rank: 16\n  alpha: 32\n",
)
EMPTY_DOCUMENT = Rule(
    code="LS005",
    name="empty-document",
    severity=Severity.ERROR,
    why="A file with nothing in it, or only comments, configures nothing: a trainer stops, or trains with defaults.",
    bad="# rank: 16\n",
    good="base_model: Qwen/Qwen2.5-0.5B-Instruct\nlora:\n  rank: 16\n  alpha: 32\n",
)
SEVERAL_DOCUMENTS = Rule(
    code="LS006",
    name="several-documents",
    severity=Severity.ERROR,
    why="A line `---` starts another YAML document. Trainers load exactly one from a file and stop at the second.",
    bad="lora:\n  rank: 16\n---\nlora:\n  rank: 32\n",
    good="lora:\n  rank: 16\n",
)
BAD_ALIAS = Rule(
    code="LS007",
    name="bad-alias",
    severity=Severity.ERROR,
    why="An alias `*name` repeats the value that `&name` marks, and `<<` copies a mapping's keys. One that leads "
    "nowhere, into itself or to something else cannot be followed.",
    bad="lora:\n  target_modules: *q_proj\n",
    good="lora:\n  target_modules: '*q_proj'\n",
)
BAD_KEY = Rule(
    code="LS008",
    name="bad-key",
    severity=Severity.ERROR,
    why="Settings are found by their names, so a key has to be text. A template such as `{{ name }}` outside quotes "
    "is read as a mapping that is a key.",
    bad="lora:\n  rank: {{ rank }}\n",
    good="lora:\n  rank: '{{ rank }}'\n",
)
NOT_A_MAPPING = Rule(
    code="LS009",
    name="not-a-mapping",
    severity=Severity.ERROR,
    why="A config is a set of `key: value` lines. A list or a single text has no keys to look settings up by.",
    bad="- rank: 16\n- alpha: 32\n",
    good="rank: 16\nalpha: 32\n",
)
UNREADABLE_VALUE = Rule(
    code="LS018",
    name="unreadable-value",
    severity=Severity.ERROR,
    why="A config given as a Python value may hold what a file can hold: mappings, lists, text, numbers, booleans "
    "and None. Any other object has no meaning as a setting.",
    bad="lora:\n  rank: <object object at 0x7f0000000000>\n",
    good="lora:\n  rank: 16\n",
)

RULES: tuple[Rule, ...] = (
    SYNTAX_ERROR,
    DUPLICATE_KEY,
    DOCUMENT_TOO_LARGE,
    NOT_TEXT,
    EMPTY_DOCUMENT,
    SEVERAL_DOCUMENTS,
    BAD_ALIAS,
    BAD_KEY,
    NOT_A_MAPPING,
    UNREADABLE_VALUE,
)
"""Every rule of this room."""


class UnreadableError(Exception):
    """Reading cannot go on; carries the one diagnostic that says why. Never leaves this room."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        """Keep the diagnostic."""
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def fault(
    rule: Rule,
    message: str,
    remedy: str = "",
    *,
    path: DocumentPath = (),
    place: Range | None = None,
    fixes: tuple[Fix, ...] = (),
) -> Diagnostic:
    """A diagnostic of ``rule``: what is wrong, what to do, where."""
    return Diagnostic(rule.code, rule.name, rule.severity, message, remedy, path, place, fixes)
