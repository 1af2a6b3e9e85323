"""The schema accepts a document if and only if `LoraSpec` does, but for what ``NOT_IN_SCHEMA`` lists."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from lora_spec.base import StrictModel
from lora_spec.diagnostics import SpecError
from lora_spec.spec.documentation import models_of
from lora_spec.spec.inits import INITS, CordaInit, EvaInit, LoftqInit, LoraGaInit, PissaInit
from lora_spec.spec.lora import Lora
from lora_spec.spec.prepare import Fsdp, GradientCheckpointing, Prepare
from lora_spec.spec.quantization import Quantization
from lora_spec.spec.root import LoraSpec
from lora_spec.spec.schema import json_schema
from lora_spec.spec.serve import Serve
from lora_spec.spec.targets import Regex
from lora_spec.spec.train import Train
from lora_spec.spec.variants import Arrow, Bdlora, Kasa, Monteclora, RuntimeOptions, Velora

Document = dict[str, Any]

VALIDATOR = Draft7Validator(json_schema())


def schema_accepts(document: Document) -> bool:
    return VALIDATOR.is_valid(document)


def spec_accepts(document: Document) -> bool:
    try:
        LoraSpec(**copy.deepcopy(document))
    except SpecError:
        return False
    return True


# Valid documents. Whole numbers are never written as floats here, and no pattern is broken: see NOT_IN_SCHEMA.

flags = st.booleans()
counts = st.integers(1, 4)
indices = st.integers(0, 4)
numbers = st.sampled_from([1, 2, 0.5, 1e-4])
texts = st.sampled_from(["a", "q_proj", "mlp.experts.down_proj"])
names = st.lists(texts, max_size=2)
regexes = st.fixed_dictionaries({"regex": st.just(r".*\.[qv]_proj")})
dtypes = st.sampled_from(["bfloat16", "float16", "float32"])


def objects(required: dict[str, Any] | None = None, **optional: Any) -> st.SearchStrategy[Document]:
    """A section with some of its settings, each of which may be null instead."""
    return st.fixed_dictionaries(required or {}, optional={key: value | st.none() for key, value in optional.items()})


INIT_SETTINGS: dict[type[StrictModel], Document] = {
    PissaInit: {"niter": counts},
    EvaInit: {
        "rho": st.sampled_from([1, 1.5]),
        "tau": st.sampled_from([0, 0.5, 1]),
        "use_label_mask": flags,
        "label_mask_value": st.integers(-100, 0),
        "whiten": flags,
        "adjust_scaling_factors": flags,
    },
    CordaInit: {
        "cache_file": texts,
        "covariance_file": texts,
        "corda_method": st.sampled_from(["ipm", "kpm"]),
        "verbose": flags,
        "use_float16_for_covariance": flags,
        "prune_temporary_fields": flags,
    },
    LoftqInit: {"loftq_bits": st.sampled_from([2, 4, 8]), "loftq_iter": counts},
    LoraGaInit: {
        "direction": st.sampled_from(["ArBr", "A2rBr", "ArB2r", "random"]),
        "scale": st.sampled_from(["stable", "weight_svd", "gd_scale", "unit"]),
        "stable_gamma": counts,
    },
}


def inits() -> st.SearchStrategy[Any]:
    kinds = {model.model_json_schema()["properties"]["kind"]["const"]: model for model in INITS}
    long = [objects({"kind": st.just(kind)}, **INIT_SETTINGS.get(model, {})) for kind, model in kinds.items()]
    return flags | st.sampled_from(sorted(kinds)) | st.one_of(long)


SETTINGS: dict[type[StrictModel], Document] = {
    Velora: {
        "num_groups": counts,
        "scale": numbers,
        "init_type": st.sampled_from(["batch_average", "batch_average_once", "random"]),
    },
    Arrow: {"top_k": counts, "router_temperature": numbers, "use_gks": flags, "rng_seed": indices},
    Bdlora: {
        "target_modules_bd_a": st.just(["o_proj"]),
        "target_modules_bd_b": st.just(["q_proj"]),
        "nblocks": counts,
        "match_strict": flags,
    },
    Kasa: {"beta": numbers, "gamma": st.just(0)},
    Monteclora: {
        "num_samples": counts,
        "use_entropy": flags,
        "dirichlet_prior": numbers,
        "sample_scaler": st.just(-0.5),
        "kl_loss_weight": numbers,
        "buffer_size": counts,
    },
    RuntimeOptions: {"ephemeral_gpu_offload": flags},
    GradientCheckpointing: {"use_reentrant": flags},
    Fsdp: {
        "wrap_classes": names,
        "replicate": counts,
        "shard": counts,
        "reshard_after_forward": flags,
        "cpu_offload": flags,
        "param_dtype": dtypes,
        "reduce_dtype": dtypes,
    },
    Train: {
        "world_size": counts,
        "batch_size": counts,
        "sequence_length": counts,
        "optimizer": st.sampled_from(["adamw", "adamw_8bit", "sgd", "adafactor"]),
    },
    Quantization: {"quant_type": st.sampled_from(["nf4", "fp4"]), "double_quant": flags, "compute_dtype": dtypes},
    Serve: {"max_lora_rank": counts},
}

REQUIRED: dict[type[StrictModel], Document] = {
    Fsdp: {"strategy": st.sampled_from(["fsdp2", "fsdp1", "ddp"])},
    Quantization: {"bits": st.sampled_from([4, 8])},
    Serve: {"engine": st.sampled_from(["vllm", "sglang", "llama.cpp"])},
    Regex: {"regex": regexes},
}


def section(model: type[StrictModel]) -> st.SearchStrategy[Document]:
    return objects(REQUIRED.get(model), **SETTINGS[model])


SETTINGS[Prepare] = {
    "dtype": dtypes | st.just("auto"),
    "adapter_dtype": dtypes | st.just("auto"),
    "cast_buffers": flags,
    "gradient_checkpointing": flags | section(GradientCheckpointing),
    "attn_implementation": texts,
    "seed": indices,
    "device": st.sampled_from(["cpu", "cuda:1"]),
    "fsdp": section(Fsdp),
}

SETTINGS[Lora] = {
    "rank": st.sampled_from([0, 1, 8]),
    "alpha": numbers,
    "target_modules": st.sampled_from(["all-linear", "All-Linear"]) | names | regexes,
    "exclude_modules": names | regexes,
    "dropout": st.sampled_from([0, 0.0, 0.5]),
    "bias": st.sampled_from(["none", "all", "lora_only"]),
    "use_rslora": flags,
    "modules_to_save": st.lists(st.just("lm_head"), max_size=1),
    "init": inits(),
    "layers_to_transform": indices | st.lists(indices, max_size=2),
    "layers_pattern": texts | names,
    "rank_pattern": st.dictionaries(texts, counts, max_size=1),
    "alpha_pattern": st.dictionaries(texts, numbers, max_size=1),
    "target_parameters": names,
    "trainable_token_indices": st.lists(indices, max_size=2)
    | st.dictionaries(st.just("embed_tokens"), st.lists(indices), max_size=1),
    "ensure_weight_tying": flags,
    "use_dora": flags,
    "lora_bias": flags,
    "layer_replication": st.lists(st.tuples(indices, counts).map(list), max_size=2),
    "fan_in_fan_out": flags,
    "task_type": st.sampled_from(["CAUSAL_LM", "SEQ_CLS"]),
    "megatron_config": st.dictionaries(texts, indices | names, max_size=1),
    "megatron_core": st.sampled_from(["megatron.core", "other"]),
    "alora_invocation_tokens": st.lists(indices, max_size=2),
    "use_qalora": flags,
    "qalora_group_size": st.sampled_from([16, 8]),
    "velora_config": section(Velora),
    "monteclora_config": section(Monteclora),
    "use_bdlora": section(Bdlora),
    "arrow_config": section(Arrow),
    "kasa_config": section(Kasa),
    "runtime_config": section(RuntimeOptions),
    "adapter_path": texts,
    "adapter_name": st.sampled_from(["default", "a"]),
}


def loras() -> st.SearchStrategy[Document]:
    """A new or a continued adapter with at most four settings more, so that not every one breaks a combination."""
    new = st.fixed_dictionaries({"rank": SETTINGS[Lora]["rank"], "alpha": numbers})
    continued = st.fixed_dictionaries({"adapter_path": texts})
    keys = st.lists(st.sampled_from(sorted(SETTINGS[Lora])), max_size=4, unique=True)
    more = keys.flatmap(lambda chosen: objects({key: SETTINGS[Lora][key] for key in chosen}))
    return st.tuples(st.one_of(new, new, continued), more).map(lambda parts: parts[0] | parts[1])


documents = objects(
    {"base_model": texts},
    revision=texts,
    model_class=st.just("Qwen2ForCausalLM"),
    lora=loras(),
    prepare=section(Prepare),
    quantization=section(Quantization),
    train=section(Train),
    serve=section(Serve),
) | st.fixed_dictionaries({"base_model": texts, "lora": loras()})

# One mutation: a wrong value, a missing key, an unknown key.

JUNK = [
    *(None, True, False, 0, -1, 1, 3, 1.5, "", "16", "true", "all-linear", "pissa", "a.b"),
    *([], ["a"], ["a", 1], [1], [-1], [None], [[0, 4]], [[0]]),
    *(
        {},
        {"a": 1},
        {"a": None},
        {"a": 0},
        {"": 1},
        {"regex": "a"},
        {"regex": ""},
        {"kind": "pissa"},
        {"kind": "mica", "x": 1},
    ),
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with each of its keys or indices."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


@st.composite
def mutated(draw: st.DrawFn) -> Document:
    document = copy.deepcopy(draw(documents))
    container, key = draw(st.sampled_from(list(places(document))))
    junk = copy.deepcopy(draw(st.sampled_from(JUNK)))
    kind = draw(st.sampled_from(["replace", "remove", "add"]))
    if kind == "remove":
        del container[key]
    elif kind == "add" and isinstance(container, dict):
        container[draw(st.sampled_from(["rnak", "r", "x-note", "$schema", "niter", "rank"]))] = junk
    else:
        container[key] = junk
    return document


@settings(max_examples=600, deadline=None)
@given(documents)
def test_they_judge_documents_of_valid_settings_alike(document: Document) -> None:
    assert schema_accepts(document) == spec_accepts(document)


@settings(max_examples=1500, deadline=None)
@given(mutated())
def test_they_judge_documents_with_one_mutation_alike(document: Document) -> None:
    assert schema_accepts(document) == spec_accepts(document)


def test_every_setting_is_drawn() -> None:
    for model in models_of(LoraSpec):
        if model is not LoraSpec:
            drawn = {**SETTINGS.get(model, {}), **INIT_SETTINGS.get(model, {}), **REQUIRED.get(model, {})}
            assert set(drawn) == set(model.model_fields) - {"kind"}, model
