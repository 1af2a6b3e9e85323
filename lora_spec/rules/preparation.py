"""LS3xx: what can go wrong in a step of `prepare`. Found while preparing, listed here so that no torch is needed."""

from lora_spec.diagnostics import Rule, Severity

PEFT_REFUSED = Rule(
    code="LS301",
    name="peft-refused",
    severity=Severity.ERROR,
    why="PEFT decides in the end what can be wrapped. Its refusal is reported before a module of the model is replaced, "
    "as far as a rehearsal on the model's empty shape can find it.",
    bad="base_model: tiny-qwen2\nlora: {rank: 8, alpha: 16, target_modules: [query]}\n",
    good="base_model: tiny-qwen2\nlora: {rank: 8, alpha: 16, target_modules: [q_proj]}\n",
)
PEFT_WARNED = Rule(
    code="LS302",
    name="peft-warned",
    severity=Severity.INFO,
    why="PEFT warned while it wrapped the model. Often something in the settings has no effect, or not the one meant.",
    bad="base_model: tiny-qwen2\nlora: {rank: 8, alpha: 16, target_modules: [q_proj], rank_pattern: {v_proj: 4}}\n",
    good="base_model: tiny-qwen2\nlora: {rank: 8, alpha: 16, target_modules: [q_proj], rank_pattern: {q_proj: 4}}\n",
)
OUTPUT_EXISTS = Rule(
    code="LS303",
    name="output-exists",
    severity=Severity.ERROR,
    why="An adapter is hours of training. It is never overwritten unless that is asked for.",
    bad="lora-spec prepare lora.yaml --output adapter   # adapter/ holds one already",
    good="lora-spec prepare lora.yaml --output adapter --overwrite",
)
STEP_UNAVAILABLE = Rule(
    code="LS304",
    name="step-unavailable",
    severity=Severity.ERROR,
    why="A step that the document asks for and this version cannot do would be missing in silence.",
    bad="base_model: tiny-qwen2\nlora: {rank: 8, alpha: 16}\nprepare: {fsdp: {strategy: fsdp2}}\n",
    good="base_model: tiny-qwen2\nlora: {rank: 8, alpha: 16}\n",
)
ADAPTER_UNREADABLE = Rule(
    code="LS305",
    name="adapter-unreadable",
    severity=Severity.ERROR,
    why="The adapter to continue must be there, as safetensors: opening a pickle (adapter_model.bin) can run any code.",
    bad="lora: {adapter_path: ./adapter}   # adapter/ holds adapter_model.bin alone",
    good="lora: {adapter_path: ./adapter}   # adapter/ holds adapter_config.json and adapter_model.safetensors",
)
BASE_UNAVAILABLE = Rule(
    code="LS306",
    name="base-unavailable",
    severity=Severity.ERROR,
    why="The base model is a local folder, a model in the hub's local cache, or, with --online, on the hub. Code from "
    "the hub is never run.",
    bad="base_model: Qwen/Qwen2.5-0.5B-Instruct   # never downloaded, and no --online",
    good="base_model: tiny-qwen2   # ships with the package",
)
BASE_INCOMPLETE = Rule(
    code="LS310",
    name="base-incomplete",
    severity=Severity.ERROR,
    why="transformers draws at random what a checkpoint lacks, and only logs it. Frozen, such weights never learn "
    "anything, and the adapter is trained around them.",
    bad="base_model: ./base   # a checkpoint without lm_head.weight",
    good="base_model: ./base   # all weights, or lora.modules_to_save: [lm_head]",
)
CHECKPOINTING_UNSUPPORTED = Rule(
    code="LS307",
    name="checkpointing-unsupported",
    severity=Severity.ERROR,
    why="A model class has to support gradient checkpointing. Without it the memory that was planned is not enough.",
    bad="prepare: {gradient_checkpointing: true}   # for a model class without it",
    good="prepare: {gradient_checkpointing: false}",
)
ALREADY_WRAPPED = Rule(
    code="LS308",
    name="already-wrapped",
    severity=Severity.ERROR,
    why="A model that PEFT has wrapped already would get a second adapter on top, or the first one's settings.",
    bad="prepare(get_peft_model(model, config), spec)",
    good="prepare(model, spec)",
)
PEFT_TOO_OLD = Rule(
    code="LS309",
    name="peft-too-old",
    severity=Severity.ERROR,
    why="The document says something that the installed PEFT does not know. Leaving it out would train something else.",
    bad="lora: {rank: 8, alpha: 16, kasa_config: {}}   # with peft 0.17",
    good="lora: {rank: 8, alpha: 16}",
)

RULES: tuple[Rule, ...] = (
    PEFT_REFUSED,
    PEFT_WARNED,
    OUTPUT_EXISTS,
    STEP_UNAVAILABLE,
    ADAPTER_UNREADABLE,
    BASE_UNAVAILABLE,
    BASE_INCOMPLETE,
    CHECKPOINTING_UNSUPPORTED,
    ALREADY_WRAPPED,
    PEFT_TOO_OLD,
)
