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
        "lora_target_linear",
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
        "adapter",
        "resume_adapter",
        "peft_model_id",
    ),
    "lora.velora_config": ("use_velora", "velora"),
    "lora.kasa_config": ("use_kasa", "kasa"),
    "lora.arrow_config": ("arrow",),
    "lora.use_bdlora": ("bdlora", "bdlora_config"),
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
    "prepare.dtype": ("torch_dtype", "model_dtype", "precision", "bf16", "fp16"),
    "prepare.gradient_checkpointing": (
        "enable_gradient_checkpointing",
        "use_gradient_checkpointing",
        "activation_checkpointing",
    ),
    "prepare.attn_implementation": ("attention", "flash_attention", "attn_impl"),
    "prepare.fsdp": ("fsdp_config", "fsdp_version"),
    "quantization": ("load_in_4bit", "load_in_8bit", "quantization_config", "bnb", "quant"),
    "train.batch_size": ("micro_batch_size", "per_device_train_batch_size", "micro_batch_size_per_gpu"),
    "train.sequence_length": ("sequence_len", "max_seq_length", "cutoff_len", "max_length"),
    "serve.max_lora_rank": ("max_lora_rank",),
}

_NATIVE_OF = {foreign: native for native, names in SETTINGS.items() for foreign in names}

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


def native_name(key: str) -> DocumentPath | None:
    """The native path of a setting that other tools call ``key``, or None."""
    name = _NATIVE_OF.get(key.lower().replace("-", "_"))
    return tuple(name.split(".")) if name else None
