"""What a match says beyond the counts: which entry did what, and why PEFT refuses. Trees by hand, no torch."""

import re
from typing import Any

import pytest

from lora_spec.inventory.matching import Entry, Match, Reason, match
from lora_spec.inventory.matching.names import Patterns, Saving, Suffixes, fewest_entries, layer_finder
from lora_spec.inventory.tree import Kind, Module, ModuleTree

LINEARS = ("self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj")


def linear(name: str, bias: bool = False) -> Module:
    return Module(name, "Linear", Kind.LINEAR, (("weight", (6, 4)), *((("bias", (6,)),) if bias else ())))


def tree(model_type: str = "mine", layers: int = 2, extra: tuple[Module, ...] = (), **fields: Any) -> ModuleTree:
    modules = [Module("", "Model", Kind.OTHER), Module("model", "Inner", Kind.OTHER)]
    modules.append(Module("model.embed_tokens", "Embedding", Kind.EMBEDDING, (("weight", (10, 4)),)))
    modules.append(Module("model.layers", "ModuleList", Kind.CONTAINER))
    for layer in range(layers):
        block = f"model.layers.{layer}"
        modules += [Module(block, "Layer", Kind.OTHER), Module(f"{block}.self_attn", "Attention", Kind.OTHER)]
        modules += [linear(f"{block}.{name}", bias=True) for name in LINEARS[:2]]
        modules += [Module(f"{block}.mlp", "MLP", Kind.OTHER), linear(f"{block}.{LINEARS[2]}")]
        modules.append(Module(f"{block}.input_layernorm", "Norm", Kind.OTHER, (("weight", (4,)),)))
    modules.append(Module("model.norm", "Norm", Kind.OTHER, (("weight", (4,)),)))
    modules.append(Module("lm_head", "Linear", Kind.LINEAR, (("weight", (10, 4)),)))
    fields = {"input_embeddings": "model.embed_tokens", "output_embeddings": "lm_head"} | fields
    return ModuleTree(modules=(*modules, *extra), model_type=model_type, model_class="Mine", **fields)


def experts(model_type: str = "qwen3_moe") -> ModuleTree:
    mlp = "model.layers.1.mlp"
    fused = (("gate_up_proj", (3, 8, 4)), ("down_proj", (3, 4, 4)))
    extra = (
        Module(f"{mlp}.experts", "Experts", Kind.OTHER, fused),
        Module(f"{mlp}.gate", "Router", Kind.OTHER, (("weight", (3, 4)),)),
    )
    modules = tree().modules
    at = next(i for i, module in enumerate(modules) if module.name == mlp) + 1
    return ModuleTree(modules=(*modules[:at], *extra, *modules[at:]), model_type=model_type, model_class="Mine")


def q(*layers: int) -> tuple[str, ...]:
    return tuple(f"model.layers.{layer}.self_attn.q_proj" for layer in layers)


def entry(said: Match, field: str, place: int | None = 0) -> Entry:
    return next(found for found in said.of(field) if found.place == place)


def test_each_entry_says_what_it_matched() -> None:
    said = match(tree(), {"target_modules": ["q_proj", "missing", "layers.1.self_attn.v_proj"], "r": 2})
    assert [(e.place, e.entry, len(e.names), len(e.effect)) for e in said.of("target_modules")] == [
        (0, "q_proj", 2, 2),
        (1, "missing", 0, 0),
        (2, "layers.1.self_attn.v_proj", 1, 1),
    ]
    assert [(m.name, m.entry, m.parameters) for m in said.modules][-1] == ("model.layers.1.self_attn.v_proj", 2, 20)
    assert (said.trainable_parameters, said.exact) == (60, True)


def test_a_regex_brought_everything_and_has_no_place() -> None:
    said = match(tree(), {"target_modules": r".*\.0\..*q_proj"})
    assert said.of("target_modules") == (Entry("target_modules", None, r".*\.0\..*q_proj", q(0), q(0)),)
    assert said.modules[0].entry is None


def test_all_linear_is_all_but_the_head() -> None:
    said = match(tree(), {"target_modules": "All-Linear"})
    assert len(said.modules) == 6
    assert "lm_head" not in {module.name for module in said.modules}


def test_what_an_exclusion_matched_and_what_it_took() -> None:
    said = match(tree(), {"target_modules": ["q_proj"], "exclude_modules": ["layers.0.self_attn.q_proj", "mlp"]})
    assert entry(said, "exclude_modules").effect == q(0) == said.excluded
    assert (len(entry(said, "exclude_modules", 1).names), entry(said, "exclude_modules", 1).effect) == (2, ())


def test_saving_wraps_by_the_end_of_a_name_and_withholds_by_segments() -> None:
    said = match(tree(), {"target_modules": ["q_proj", "v_proj"], "modules_to_save": ["norm", "layers.0.self_attn"]})
    assert [saved.name for saved in said.saved if saved.entry == 0] == [
        "model.layers.0.input_layernorm",
        "model.layers.1.input_layernorm",
        "model.norm",
    ]
    assert entry(said, "modules_to_save", 1).effect == (*q(0), "model.layers.0.self_attn.v_proj")
    assert said.trainable_parameters == 3 * 4 + 2 * (24 + 6) + 2 * 8 * 10


def test_a_task_saves_heads_that_no_entry_named() -> None:
    said = match(tree(extra=(linear("score"),)), {"target_modules": ["q_proj"], "task_type": "SEQ_CLS"})
    assert [(saved.name, saved.entry, saved.parameters) for saved in said.saved] == [("score", None, 24)]


def test_layers_hold_for_suffixes_only() -> None:
    said = match(tree(), {"target_modules": ["q_proj", *q(0)], "layers_to_transform": [1, 7]})
    assert [module.name for module in said.modules] == [*q(0, 1)]
    assert [(e.entry, e.names) for e in said.of("layers_to_transform")] == [("1", q(1)), ("7", ())]


def test_the_first_key_sets_the_value_and_all_that_match_are_told() -> None:
    said = match(
        tree(), {"target_modules": ["q_proj"], "rank_pattern": {r"layers\.1\..*": 2, "q_proj": 3, "layers.1": 4}}
    )
    assert [(module.rank, module.scale) for module in said.modules] == [(3, 8 / 3), (2, 4.0)]
    assert [(e.names, e.effect) for e in said.of("rank_pattern")] == [(q(1), q(1)), (q(0, 1), q(0)), ((), ())]


def test_names_of_experts_become_parameters() -> None:
    said = match(experts(), {"target_modules": ["gate_proj", "up_proj", "mlp.down_proj"], "r": 2, "lora_alpha": 4})
    assert said.modules == ()
    assert [(p.name.rpartition(".")[2], p.rank, p.alpha, p.experts, p.converted_from) for p in said.parameters] == [
        ("gate_up_proj", 4, 8, 3, ("gate_proj", "up_proj")),
        ("down_proj", 2, 4, 3, ("mlp.down_proj",)),
    ]
    named = entry(said, "target_modules", 2)
    assert named.names == ("model.layers.0.mlp.down_proj", "model.layers.1.mlp.down_proj")
    assert named.effect == ("model.layers.1.mlp.experts.down_proj",)
    assert said.effective.target_parameters == ("gate_up_proj", "down_proj")


def test_parameters_know_the_entry_that_named_them() -> None:
    spec = {"target_modules": [], "target_parameters": ["dead", "experts.down_proj"], "r": 2}
    said = match(experts("not_converted"), spec)
    assert [(p.entry, p.in_out, p.shapes) for p in said.parameters] == [(1, (4, 4), ((6, 4), (4, 6)))]
    assert [e.names for e in said.of("target_parameters")] == [(), ("model.layers.1.mlp.experts.down_proj",)]


def test_biases_that_train_along() -> None:
    assert len(match(tree(), {"target_modules": ["q_proj"], "bias": "all"}).biases.names) == 4
    said = match(tree(), {"target_modules": ["q_proj"], "bias": "lora_only"})
    assert (said.biases.names, said.biases.parameters) == (tuple(f"{name}.bias" for name in q(0, 1)), 12)


def test_copies_of_layers_share_their_weights() -> None:
    once, twice = (
        match(tree(), {"target_modules": ["q_proj"], "layer_replication": spans}) for spans in ([], [[0, 2], [0, 2]])
    )
    assert [len(said.modules) for said in (once, twice)] == [2, 4]
    added = once.trainable_parameters
    assert (twice.trainable_parameters, twice.all_parameters) == (2 * added, once.all_parameters + added)


def test_tokens_of_a_tied_model_count_once() -> None:
    ties = {"lm_head.weight": "model.embed_tokens.weight"}
    tied = tree(ties=ties, tied_modules=("lm_head",), tie_word_embeddings=True)
    said = match(tied, {"target_modules": ["q_proj"], "trainable_token_indices": [1, 2]})
    assert [(t.name, t.parameters) for t in said.tokens] == [("model.embed_tokens", 8), ("lm_head", 0)]


REFUSALS: list[tuple[dict[str, Any], Reason, str]] = [
    ({"target_modules": ["missing"]}, Reason.NOTHING_MATCHED, "NoMatchingPeftModuleError"),
    ({"target_modules": ["q_proj"], "exclude_modules": ["q_proj"]}, Reason.ALL_EXCLUDED, "NoMatchingPeftModuleError"),
    ({"target_modules": None}, Reason.NO_DEFAULT_TARGETS, "ValueError"),
    ({"target_modules": "*q_proj"}, Reason.BAD_REGEX, re.error.__name__),
    ({"target_modules": ["mlp"]}, Reason.UNSUPPORTED_MODULE, "ValueError"),
    ({"target_modules": ["embed_tokens"], "lora_bias": True}, Reason.EMBEDDING_BIAS, "ValueError"),
    ({"target_modules": ["q_proj"], "modules_to_save": ["ayers"]}, Reason.SAVED_CONTAINER, "TypeError"),
    ({"target_modules": ["q_proj"], "modules_to_save": ["_proj"]}, Reason.SAVED_ADAPTED, "TypeError"),
    ({"target_modules": ["q_proj"], "modules_to_save": ["default"]}, Reason.SAVED_IN_ADAPTER, "ValueError"),
    ({"target_modules": ["q_proj"], "trainable_token_indices": [10]}, Reason.INDEX_OUT_OF_RANGE, "IndexError"),
    ({"target_modules": ["q_proj"], "trainable_token_indices": {"wte": [1]}}, Reason.TOKENS_NOT_FOUND, "ValueError"),
    ({"target_modules": [], "target_parameters": ["norm.weight"]}, Reason.PARAMETER_SHAPE, "ValueError"),
    (
        {"target_modules": ["q_proj"], "target_parameters": ["q_proj.weight"]},
        Reason.PARAMETER_OF_ADAPTED,
        "ValueError",
    ),
    ({"target_modules": ["q_proj"], "layer_replication": [[0, 9]]}, Reason.LAYER_OUT_OF_RANGE, "IndexError"),
    ({"target_modules": "q_proj", "layers_to_transform": [1]}, Reason.ARGUMENTS, "ValueError"),
]


@pytest.mark.parametrize(("spec", "reason", "exception"), REFUSALS, ids=lambda value: str(value)[:40])
def test_refusals(spec: dict[str, Any], reason: Reason, exception: str) -> None:
    said = match(tree(), spec)
    assert said.refusal is not None
    assert (said.refusal.reason, said.refusal.exception) == (reason, exception)
    assert (said.trainable_parameters, said.all_parameters) == (0, 0)


def test_half_of_a_fused_parameter_is_refused_with_the_other_half_named() -> None:
    said = match(experts(), {"target_modules": ["gate_proj"]})
    assert said.refusal == (Reason.HALF_FUSED, "ValueError", ("gate_proj", "up_proj"))


def test_what_had_matched_is_told_beside_a_refusal() -> None:
    said = match(tree(), {"target_modules": ["q_proj", "mlp"]})
    assert said.refusal == (Reason.UNSUPPORTED_MODULE, "ValueError", ("model.layers.0.mlp",))
    assert [len(found.names) for found in said.of("target_modules")] == [2, 2]


def test_variants_with_tensors_of_their_own_are_not_exact() -> None:
    said = match(tree(), {"target_modules": ["q_proj"], "kasa_config": {"beta": 1}})
    assert said.inexact == ("kasa_config: its own tensors are not counted",)


def test_a_suffix_begins_at_a_dot() -> None:
    entries = Suffixes(["proj", "self_attn.q_proj", "model"])
    assert [entries.hits(name) for name in ("model", "a.self_attn.q_proj", "q_proj", "a.proj")] == [[2], [1], [], [0]]


@pytest.mark.parametrize(
    ("key", "name", "matched"),
    [
        ("q_proj", "a.q_proj", True),
        ("q_proj", "a.xq_proj", False),
        ("layers.1", "layers.1.q_proj", False),
        (r"layers\.1\.q_proj", "a.layers.1.q_proj", True),
        (r"a.q_proj", "b.axq_proj", True),
        (r"^a\.q", "a.q", True),
        (r"^q", "a.q", False),
        (r".*\d", "a.b7", True),
        (r"q|v", "a.v", True),
        (r"[qk]_proj", "a.k_proj", True),
        (r"x\.\w", "a.x.d", True),
    ],
)
def test_keys_of_patterns(key: str, name: str, matched: bool) -> None:
    assert bool(Patterns([key]).hits(name)) is matched


def test_saved_names_are_regexes_for_whole_segments() -> None:
    saving = Saving(["head", "model.norm", "a|b"])
    names = ("head.x", "my_head", "modelxnorm", "x.b.c", "a")
    assert [saving.hits(name) for name in names] == [[0], [], [1], [], [2]]


def test_the_layer_is_the_first_number_behind_two_segments() -> None:
    assert [layer_finder([])(name) for name in ("model.layers.3.x", "h.3.x", "a.b.1.c.2.d")] == [3, None, 1]
    assert layer_finder(["h", "layers"])("h.3.x") == 3


def test_a_long_list_in_fewer_entries() -> None:
    assert fewest_entries(["a.0.q", "a.1.q"], ["a.0.v"]) == ("q",)
    assert fewest_entries(["a.0.q", "a.1.v"], ["a.0.v"]) == ("1.v", "q")
