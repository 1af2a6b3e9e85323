"""A spec as the keyword arguments of ``peft.LoraConfig``, in builtin types that ``json.dumps`` takes."""

from __future__ import annotations

from typing import Any

from lora_spec.base import StrictModel
from lora_spec.spec.inits import DefaultInit, Init, PissaInit, RandomInit
from lora_spec.spec.lora import Lora
from lora_spec.spec.root import LoraSpec
from lora_spec.spec.targets import Regex

RENAMED = {"rank": "r", "alpha": "lora_alpha", "dropout": "lora_dropout", "init": "init_lora_weights"}
"""Native names that differ from PEFT's."""

ALWAYS = ("rank", "alpha", "target_modules", "dropout", "bias", "init")
"""Fields that are said even where they are PEFT's default: a reader wants to see them."""

NOT_ARGUMENTS = {
    "adapter_path": "an argument of PeftModel.from_pretrained, not of LoraConfig",
    "adapter_name": "an argument of get_peft_model, not of LoraConfig",
    "task_type": "derived where it is absent, so it is always said",
}
"""Native fields that are not copied, with the reason."""

CONFIG_OF_INIT = {"eva": "eva_config", "corda": "corda_config", "loftq": "loftq_config", "lora_ga": "lora_ga_config"}
"""The PEFT argument that holds the settings of an init."""

LEFT_OUT = {
    "peft_type": "always LORA; LoraConfig sets it",
    "auto_mapping": "PEFT fills it in when it saves an adapter of an unknown task type",
    "peft_version": "PEFT fills it in when it saves",
    "inference_mode": "a state, not a setting: PEFT turns it on when it saves; training needs it off",
    "base_model_name_or_path": "the document's base_model",
    "revision": "the document's revision, which is the base model's",
}
"""Fields of ``peft.LoraConfig`` 0.21.2 that the native ``lora`` section does not have, with the reason."""


def peft_arguments(spec: LoraSpec) -> dict[str, Any]:
    """The keyword arguments for ``spec``, in the native document's order.

    What is PEFT's default is left out, but for the settings that everyone looks for. Raises ValueError when LoRA is
    off or when an adapter is continued: there is no new LoraConfig then.
    """
    lora = spec.lora
    if lora is None or not spec.lora_on:
        raise ValueError("LoRA is off: there is no LoraConfig")
    if lora.adapter_path is not None:
        raise ValueError("an adapter is continued: its LoraConfig comes from lora.adapter_path")
    arguments: dict[str, Any] = {"task_type": task_type(spec)}
    for name, field in Lora.model_fields.items():
        value = getattr(lora, name)
        if name in NOT_ARGUMENTS or (name not in ALWAYS and value == field.get_default(call_default_factory=True)):
            continue
        if name == "init":
            arguments |= _init_arguments(value)
        elif value is not None:
            arguments[RENAMED.get(name, name)] = (
                _whole(value) if name in ("alpha", "alpha_pattern") else _builtin(value)
            )
    return arguments


def task_type(spec: LoraSpec) -> str | None:
    """The task type as written, else by the model class; None where the class does not tell."""
    if spec.lora is not None and spec.lora.task_type is not None:
        return spec.lora.task_type
    name = spec.model_class or ""
    for ending, task in _TASKS.items():
        if name.endswith(ending):
            return task
    return "CAUSAL_LM"


_TASKS = {
    "ForSequenceClassification": "SEQ_CLS",
    "ForTokenClassification": "TOKEN_CLS",
    "ForQuestionAnswering": "QUESTION_ANS",
    "ForSeq2SeqLM": "SEQ_2_SEQ_LM",
    "AutoModel": "FEATURE_EXTRACTION",
}


def _init_arguments(init: Init) -> dict[str, Any]:
    match init:
        case DefaultInit():
            return {"init_lora_weights": True}
        case RandomInit():
            return {"init_lora_weights": False}
        case PissaInit(niter=int(niter)):
            return {"init_lora_weights": f"pissa_niter_{niter}"}
    arguments: dict[str, Any] = {"init_lora_weights": init.kind}
    if init.kind in CONFIG_OF_INIT:
        arguments[CONFIG_OF_INIT[init.kind]] = {k: _builtin(v) for k, v in init if k != "kind"}
    return arguments


def _builtin(value: Any) -> Any:
    match value:
        case Regex():
            return value.regex
        case StrictModel():
            return {key: _builtin(item) for key, item in value}
        case tuple():
            return [_builtin(item) for item in value]
        case dict():
            return {key: _builtin(item) for key, item in value.items()}
        case _:
            return value


def _whole(alpha: float | dict[str, float]) -> Any:
    """PEFT types alpha as int: a whole number is given as one."""
    if isinstance(alpha, dict):
        return {key: _whole(item) for key, item in alpha.items()}
    return int(alpha) if alpha.is_integer() else alpha
