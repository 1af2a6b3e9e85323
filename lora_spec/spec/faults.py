"""The faults that the document alone can show: keys, types, values and combinations."""

from __future__ import annotations

from lora_spec.diagnostics import Rule, Severity

UNKNOWN_KEY = Rule(
    "LS011",
    "unknown-key",
    Severity.ERROR,
    "A key that nothing reads is a setting that you believe in and do not get. Most trainers drop it without a word.",
    "lora: {rank: 16, alhpa: 32}",
    "lora: {rank: 16, alpha: 32}",
)
MISSING_KEY = Rule(
    "LS012",
    "missing-key",
    Severity.ERROR,
    "The setting has no default that would be right for everyone, so it has to be said.",
    "lora: {rank: 16}",
    "lora: {rank: 16, alpha: 32}",
)
WRONG_TYPE = Rule(
    "LS013",
    "wrong-type",
    Severity.ERROR,
    "A quoted number or a text for a boolean passes most trainers' parsers and breaks, or means something else, "
    "after the model is loaded.",
    'lora: {rank: "16", alpha: 32}',
    "lora: {rank: 16, alpha: 32}",
)
NOT_A_CHOICE = Rule(
    "LS014",
    "not-a-choice",
    Severity.ERROR,
    "The setting takes one of a few words. PEFT checks some of them only when it builds the layers, others never.",
    "lora: {rank: 16, alpha: 32, bias: lora}",
    "lora: {rank: 16, alpha: 32, bias: lora_only}",
)
BAD_REGEX = Rule(
    "LS015",
    "bad-regex",
    Severity.ERROR,
    "PEFT compiles the pattern when it matches modules, after the base model is loaded.",
    "lora: {rank: 16, alpha: 32, target_modules: {regex: '*.q_proj'}}",
    r"lora: {rank: 16, alpha: 32, target_modules: {regex: '.*\.q_proj'}}",
)
VALUE_LEFT_OPEN = Rule(
    "LS019",
    "value-left-open",
    Severity.ERROR,
    "A value such as ${RANK} is filled in later by another tool. `check` goes on without it; a command that builds "
    "something from the file cannot.",
    "lora: {rank: '${RANK}', alpha: 32}   # lora-spec compile, prepare",
    "lora: {rank: 16, alpha: 32}",
)
OUT_OF_RANGE = Rule(
    "LS101",
    "out-of-range",
    Severity.ERROR,
    "PEFT checks few values: a rank below 1 fails after the model is loaded, alpha 0 makes the adapter a no-op, a "
    "negative alpha turns its sign, and dropout 1 keeps it from ever contributing.",
    "lora: {rank: 16, alpha: 0}",
    "lora: {rank: 16, alpha: 32}",
)
ADAPTER_PATH_EXCLUDES = Rule(
    "LS102",
    "adapter-path-excludes",
    Severity.ERROR,
    "An adapter that is loaded keeps the rank, alpha and targets that it was made with. What is written beside its "
    "path would be ignored, or a second adapter would be wrapped around the first.",
    "lora: {adapter_path: ./checkpoint, rank: 16}",
    "lora: {adapter_path: ./checkpoint}",
)
LAYERS_NEED_NAMES = Rule(
    "LS103",
    "layers-need-names",
    Severity.ERROR,
    "PEFT picks layers by index only among modules that are named in a list; with a regex or all-linear it refuses.",
    "lora: {rank: 16, alpha: 32, target_modules: all-linear, layers_to_transform: [0, 1]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj], layers_to_transform: [0, 1]}",
)
LAYERS_PATTERN_ALONE = Rule(
    "LS104",
    "layers-pattern-alone",
    Severity.ERROR,
    "layers_pattern only says where in a module's name the layer index stands; PEFT refuses it without the indices.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], layers_pattern: layers}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], layers_pattern: layers, layers_to_transform: [0]}",
)
COMBINATION_REFUSED = Rule(
    "LS105",
    "combination-refused",
    Severity.ERROR,
    "PEFT refuses these settings together, most of them only while it wraps a model that is loaded already.",
    "lora: {rank: 16, alpha: 32, lora_bias: true, use_dora: true}",
    "lora: {rank: 16, alpha: 32, use_dora: true}",
)
VARIANTS_EXCLUDE = Rule(
    "LS106",
    "variants-exclude",
    Severity.ERROR,
    "DoRA, VeLoRA, aLoRA, MonteCLoRA, BD-LoRA, Arrow, KaSA and MiCA each replace how a layer computes its update; "
    "PEFT has no layer that is two of them.",
    "lora: {rank: 16, alpha: 32, use_dora: true, init: mica}",
    "lora: {rank: 16, alpha: 32, use_dora: true}",
)
PARAMETERS_ARE_PLAIN = Rule(
    "LS107",
    "parameters-are-plain",
    Severity.ERROR,
    "PEFT adapts a bare parameter, such as fused experts, through a wrapper that knows plain LoRA alone: no dropout, "
    "no bias, no variant.",
    "base_model: Qwen/Qwen3-30B-A3B\n"
    "lora: {rank: 16, alpha: 32, dropout: 0.1, target_parameters: [mlp.experts.down_proj]}",
    "base_model: Qwen/Qwen3-30B-A3B\nlora: {rank: 16, alpha: 32, target_parameters: [mlp.experts.down_proj]}",
)
NOTHING_TARGETED = Rule(
    "LS108",
    "nothing-targeted",
    Severity.ERROR,
    "An empty list is not the default: PEFT finds nothing to adapt and stops after the model is loaded.",
    "lora: {rank: 16, alpha: 32, target_modules: []}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
)
TOKENS_OR_WHOLE = Rule(
    "LS109",
    "tokens-or-whole-embedding",
    Severity.ERROR,
    "An embedding either trains in full or for the listed tokens alone; PEFT refuses both on one module.",
    "lora: {rank: 16, alpha: 32, modules_to_save: [lm_head], trainable_token_indices: {lm_head: [5]}}",
    "lora: {rank: 16, alpha: 32, trainable_token_indices: {lm_head: [5]}}",
)

RULES: tuple[Rule, ...] = (
    UNKNOWN_KEY,
    MISSING_KEY,
    WRONG_TYPE,
    NOT_A_CHOICE,
    BAD_REGEX,
    VALUE_LEFT_OPEN,
    OUT_OF_RANGE,
    ADAPTER_PATH_EXCLUDES,
    LAYERS_NEED_NAMES,
    LAYERS_PATTERN_ALONE,
    COMBINATION_REFUSED,
    VARIANTS_EXCLUDE,
    PARAMETERS_ARE_PLAIN,
    NOTHING_TARGETED,
    TOKENS_OR_WHOLE,
)
