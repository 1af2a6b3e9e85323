"""The base model: a shipped one, a local folder, the hub's local cache, or, where asked for, the hub."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, BitsAndBytesConfig

from lora_spec.preparation.cast import DTYPES
from lora_spec.preparation.faults import fault
from lora_spec.preparation.hub import hub
from lora_spec.preparation.names import few
from lora_spec.preparation.quiet import quiet
from lora_spec.preparation.unavailable import REFUSALS, unavailable
from lora_spec.rules.preparation import BASE_INCOMPLETE, BASE_UNAVAILABLE
from lora_spec.spec.quantization import Quantization
from lora_spec.spec.root import LoraSpec

SHIPPED = Path(__file__).parent.parent / "inventory" / "models"
"""Models that come with the package: configs alone; their weights are made from a seed."""

SEED = 0
"""Seed of weights that are made up, the same on each run."""


def build(spec: LoraSpec, *, online: bool = False) -> tuple[Any, str]:
    """The base model with its weights, and what it is.

    Nothing is asked of the hub unless ``online``, and code that comes with a model is never run. Raises ``SpecError``
    where the model cannot be had.
    """
    folder = shipped(spec.base_model)
    if folder is not None:
        model = random_model(load_config(spec), spec)
        model.config._name_or_path = model.name_or_path = spec.base_model  # noqa: SLF001 - what from_pretrained does
        return model, f"{spec.base_model}, which ships with the package"
    config = load_config(spec, online=online)
    chosen = model_class(config, spec)
    with hub(online=online), quiet():
        try:
            model, found = chosen.from_pretrained(
                spec.base_model,
                config=config,
                output_loading_info=True,
                **_loading(spec),
                **_source(spec, online=online),
            )
        except (OSError, *REFUSALS) as error:
            raise unavailable(spec, error, online=online) from error
    _refuse_made_up(model, found["missing_keys"], spec)
    return model.to(device(spec)), f"{type(model).__name__} from {spec.base_model}"


def load_config(spec: LoraSpec, *, online: bool = False) -> Any:
    """The base model's config, as transformers reads it."""
    folder = shipped(spec.base_model)
    with hub(online=online), quiet():
        try:
            return AutoConfig.from_pretrained(folder or spec.base_model, **_source(spec, online=online))
        except (OSError, *REFUSALS) as error:
            raise unavailable(spec, error, online=online) from error


def random_model(config: Any, spec: LoraSpec) -> Any:
    """A model with the weights of a fixed seed; the process's random state stays as it was."""
    dtype = DTYPES.get(spec.prepare.dtype, torch.float32)
    attention = spec.prepare.attn_implementation
    arguments = {"attn_implementation": attention} if attention else {}
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        model = instantiate(config, spec, dtype=torch.float32, **arguments)
    return model.to(device(spec), dtype).eval()  # eval mode, as from_pretrained leaves it


def instantiate(config: Any, spec: LoraSpec, **arguments: Any) -> Any:
    """A model of ``config`` by its class, weights as PyTorch makes them."""
    chosen = model_class(config, spec)
    from_config = chosen.from_config if hasattr(chosen, "from_config") else chosen._from_config  # noqa: SLF001 - the one for plain classes
    return from_config(config, **arguments)


def model_class(config: Any, spec: LoraSpec) -> Any:
    """The class that ``spec`` names, else AutoModelForCausalLM where it maps the config, else ImageTextToText."""
    if spec.model_class is not None:
        found = getattr(transformers, spec.model_class, None)
        if not hasattr(found, "from_config") and not hasattr(found, "_from_config"):  # a config, a tokenizer, a module
            words = f"transformers {transformers.__version__} has no model class '{spec.model_class}'"
            raise fault(BASE_UNAVAILABLE, words, "correct model_class or leave it out", at=("model_class",))
        return found
    for chosen in (AutoModelForCausalLM, AutoModelForImageTextToText):
        if type(config) in chosen._model_mapping:  # noqa: SLF001 - the only way to ask
            return chosen
    own = next(iter(getattr(config, "architectures", None) or ()), None)
    words = f"'{spec.base_model}' is a {config.model_type}, which is no causal or image-text-to-text model"
    raise fault(BASE_UNAVAILABLE, words, f"name its class: model_class: {own or '...'}", at=("base_model",))


def shipped(base_model: str) -> Path | None:
    """The folder of a model that ships with the package, None for any other."""
    folder = SHIPPED / base_model
    return folder if "/" not in base_model and (folder / "config.json").is_file() else None


def device(spec: LoraSpec) -> torch.device:
    """Where the model goes: as the spec says, else CUDA where there is one, else the CPU."""
    if spec.prepare.device is not None:
        return torch.device(spec.prepare.device)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _loading(spec: LoraSpec) -> dict[str, Any]:
    prepare = spec.prepare
    arguments: dict[str, Any] = {"dtype": DTYPES.get(prepare.dtype, torch.float32)}
    if prepare.attn_implementation:
        arguments["attn_implementation"] = prepare.attn_implementation
    if spec.quantization is not None:
        arguments["quantization_config"] = _bits_and_bytes(spec.quantization, spec.prepare.dtype)
        arguments["device_map"] = {"": str(device(spec))}
    return arguments


def _bits_and_bytes(quantization: Quantization, dtype: str) -> Any:
    if quantization.bits == 8:
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type=quantization.quant_type,
        bnb_4bit_use_double_quant=quantization.double_quant,
        bnb_4bit_compute_dtype=DTYPES.get(quantization.compute_dtype or dtype, torch.float32),
    )


def _source(spec: LoraSpec, *, online: bool) -> dict[str, Any]:
    where: dict[str, Any] = {"local_files_only": not online, "trust_remote_code": False}
    if spec.revision is not None:
        where["revision"] = spec.revision
    return where


def _refuse_made_up(model: Any, missing: Iterable[str], spec: LoraSpec) -> None:
    """Raise where weights that are to stay frozen were not in the checkpoint: transformers draws them at random.

    A new head is in order where it trains: by ``modules_to_save``, or because PEFT saves the head of a classifier.
    """
    if spec.lora is None or not spec.lora_on:
        return
    trained = {*(spec.lora.modules_to_save or ()), *_saved_in_full(spec.lora.adapter_path), *_heads(model)}
    frozen = sorted(name for name in missing if not trained.intersection(name.split(".")))
    if frozen:
        words = f"the weights of '{spec.base_model}' lack {few(frozen)}, which would stay as drawn at random"
        advice = "take the model's own weights and class, or train a new head in full: modules_to_save"
        raise fault(BASE_INCOMPLETE, words, advice, at=("base_model",))


def _saved_in_full(adapter: str | None) -> tuple[str, ...]:
    """The modules that the adapter to continue brings with it; none where it is not here to be read."""
    path = Path(adapter or "") / "adapter_config.json"
    try:
        content = json.loads(path.read_bytes()) if adapter is not None and path.is_file() else None
    except ValueError:
        return ()  # told when the adapter's turn comes
    return tuple(content.get("modules_to_save") or ()) if isinstance(content, dict) else ()


def _heads(model: Any) -> tuple[str, ...]:
    """What PEFT 0.21.2 trains in full by itself (``PeftModelForSequenceClassification`` and its kin)."""
    name = type(model).__name__
    classifies = name.endswith(("ForSequenceClassification", "ForTokenClassification"))
    return ("classifier", "score") if classifies else ("qa_outputs",) if name.endswith("ForQuestionAnswering") else ()
