"""What other tools call the native settings, for a person who writes one tool's name in another's file."""

from __future__ import annotations

from lora_spec.diagnostics import DocumentPath

SETTINGS: dict[str, tuple[str, ...]] = {
    "lora.rank": ("r", "lora_r", "lora_rank", "lora_dim", "dim", "rank_dimension"),
    "lora.alpha": ("lora_alpha", "scaling_alpha"),
    "lora.dropout": ("lora_dropout",),
    "lora.target_modules": (
        "target_module",
        "targets",
        "target",
        "lora_target",
        "lora_targets",
        "lora_target_modules",
        "modules",
    ),
    "lora.exclude_modules": ("exclude", "lora_exclude_modules", "exclude_module"),
    "lora.modules_to_save": ("lora_modules_to_save", "additional_target", "modules_to_train"),
    "lora.init": ("init_lora_weights", "peft_init_lora_weights", "lora_init", "init_weights"),
    "lora.layers_to_transform": ("layers", "peft_layers_to_transform", "lora_layers"),
    "lora.layers_pattern": ("peft_layers_pattern",),
    "lora.rank_pattern": ("lora_rank_pattern",),
    "lora.alpha_pattern": ("lora_alpha_pattern",),
    "lora.target_parameters": ("lora_target_parameters",),
    "lora.use_rslora": ("rslora", "peft_use_rslora", "rank_stabilized"),
    "lora.use_dora": ("dora", "peft_use_dora"),
    "lora.fan_in_fan_out": ("lora_fan_in_fan_out",),
    "lora.adapter_path": (
        "lora_adapter_path",
        "adapter_name_or_path",
        "lora_model_dir",
        "resume_adapter",
        "peft_model_id",
    ),
    "lora.velora_config": ("use_velora", "velora"),
    "lora.kasa_config": ("use_kasa", "kasa"),
    "lora.arrow_config": ("arrow",),
    "lora.use_bdlora": ("bdlora", "bdlora_config"),
    "lora.target_modules.regex": ("pattern", "regexp", "re", "expression", "match"),
    "lora.exclude_modules.regex": ("pattern", "regexp", "re", "expression", "match"),
    "lora.init.kind": ("type", "name", "method"),
    "lora": ("peft", "peft_config", "lora_config", "adapter_config"),
    "base_model": (
        "model",
        "model_name_or_path",
        "base_model_name_or_path",
        "model_name",
        "model_id",
        "partial_pretrain",
        "pretrained_model_name_or_path",
    ),
    "prepare.dtype": ("torch_dtype", "model_dtype", "precision"),
    "prepare.gradient_checkpointing": (
        "enable_gradient_checkpointing",
        "use_gradient_checkpointing",
        "activation_checkpointing",
    ),
    "prepare.attn_implementation": ("attention", "attn_impl"),
    "prepare.fsdp": ("fsdp_config",),
    "quantization": ("quantization_config", "bnb", "quant"),
    "train.batch_size": ("micro_batch_size", "per_device_train_batch_size", "micro_batch_size_per_gpu"),
    "train.sequence_length": ("sequence_len", "max_seq_length", "cutoff_len", "max_length"),
    "serve.max_lora_rank": ("max_lora_rank",),
}

_NATIVE_OF = {(native.rpartition(".")[0], foreign): native for native, names in SETTINGS.items() for foreign in names}

_TRAINERS = "remove it: it is a setting of the trainer, and this file is about the model and its adapter"
_INIT = "write init: {{kind: {}, …}} with its settings"
_FLASH = "write attn_implementation: flash_attention_2 in prepare"
_SWITCH = "remove it: a rank above 0 turns LoRA on, and adapter_path continues an adapter"
_BY_PEFT = "remove it: PEFT fills it in"

REMEDIES: dict[str, str] = {
    "lora_target_linear": "write target_modules: all-linear in lora",
    "lora_target_all_linear": "write target_modules: all-linear in lora",
    "load_in_4bit": "write quantization: {bits: 4} at the top level, beside lora",
    "load_in_8bit": "write quantization: {bits: 8} at the top level, beside lora",
    "bf16": "write dtype: bfloat16 in prepare",
    "fp16": "write dtype: float16 in prepare",
    "flash_attention": _FLASH,
    "flash_attn": _FLASH,
    "use_flash_attention_2": _FLASH,
    "fsdp_version": "write fsdp: {strategy: fsdp2} in prepare",
    "loftq_config": _INIT.format("loftq"),
    "eva_config": _INIT.format("eva"),
    "corda_config": _INIT.format("corda"),
    "lora_ga_config": _INIT.format("lora_ga"),
    "adapter": _SWITCH,
    "use_peft": _SWITCH,
    "use_lora": _SWITCH,
    "enable_lora": _SWITCH,
    "finetuning_type": _SWITCH,
    "tuner_type": _SWITCH,
    "inference_mode": "remove it: PEFT turns it on when it saves, and training needs it off",
    "peft_type": "remove it: it is always LORA here",
    "peft_version": _BY_PEFT,
    "auto_mapping": _BY_PEFT,
    "scaling": "remove it: the scale is alpha / rank",
    "trust_remote_code": "remove it: code from the hub is never run",
    **dict.fromkeys(
        (
            "learning_rate",
            "lr",
            "lr_scheduler",
            "lr_scheduler_type",
            "warmup_ratio",
            "warmup_steps",
            "weight_decay",
            "num_train_epochs",
            "num_epochs",
            "epochs",
            "max_steps",
            "gradient_accumulation_steps",
            "dataset",
            "datasets",
            "output_dir",
            "logging_steps",
            "save_steps",
            "report_to",
            "loraplus_lr_ratio",
            "wandb_project",
        ),
        _TRAINERS,
    ),
}
"""Names whose value means another thing here, or that have no place here at all, with what to do."""

DTYPES = {
    "bf16": "bfloat16",
    "torch.bfloat16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "torch.float16": "float16",
    "fp32": "float32",
    "float": "float32",
    "torch.float32": "float32",
}
"""Other spellings of a dtype."""

TASKS = {
    "text-generation": "CAUSAL_LM",
    "causal": "CAUSAL_LM",
    "sft": "CAUSAL_LM",
    "text2text-generation": "SEQ_2_SEQ_LM",
    "text-classification": "SEQ_CLS",
    "sequence-classification": "SEQ_CLS",
    "token-classification": "TOKEN_CLS",
    "question-answering": "QUESTION_ANS",
    "feature-extraction": "FEATURE_EXTRACTION",
}
"""The hub's names for tasks, as PEFT's task types."""

NOTHING = ("none", "null", "nil", "false", "no", "off", "~")
"""Words for nothing at all."""


def native_name(key: str, section: DocumentPath = ()) -> DocumentPath | None:
    """The native path of a setting that other tools call ``key``, or None; one of ``section`` comes first."""
    name = _NATIVE_OF.get((".".join(map(str, section)), key)) or next(
        (native for (parent, foreign), native in _NATIVE_OF.items() if foreign == key and parent.count(".") == 0), None
    )
    return tuple(name.split(".")) if name else None


def remedy_for(key: str) -> str | None:
    """What to do with a key that no setting of ours stands for, or None."""
    return REMEDIES.get(key.lower().replace("-", "_"))
