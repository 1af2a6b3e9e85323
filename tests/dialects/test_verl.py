"""What verl's FSDP trainer makes of its config. The steps on a model are in tests/preparation/test_verl_contract.py."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from lora_spec import LoraSpec, SpecError
from lora_spec.diagnostics import Diagnostic
from lora_spec.pipeline import check, judge, parse, read

BASE = {"partial_pretrain": "tiny-qwen2"}
ADAPTERS = Path(__file__).parent.parent / "adapters"


def spec_of(**model: Any) -> LoraSpec:
    return LoraSpec.from_any({"model": {**BASE, **model}})


def errors(**model: Any) -> list[Diagnostic]:
    return [d for d in check({"model": model}) if d.is_error]


def adapter(folder: Path) -> str:
    """A saved adapter of the tiny model, of rank 1."""
    return str(shutil.copytree(ADAPTERS / "tiny-qwen2", folder))


def test_rank_zero_is_off_and_said_in_one_info() -> None:
    assert not spec_of(lora_rank=0).lora_on
    [found] = check({"model": {**BASE, "lora_rank": 0}})
    assert (found.code, found.severity, found.document_path) == ("LS150", "info", ("model", "lora_rank"))
    assert found.message == "LoRA is off: lora_rank is 0, so all parameters train"


def test_a_new_adapter() -> None:
    spec = spec_of(lora_rank=32, lora_alpha=64, target_modules=["q_proj"])
    assert spec.lora is not None
    assert (spec.base_model, spec.lora.rank, spec.lora.alpha) == ("tiny-qwen2", 32, 64)
    assert (spec.lora.target_modules, spec.lora.bias, spec.lora.task_type) == (("q_proj",), "none", "CAUSAL_LM")


def test_verl_s_defaults() -> None:
    lora = spec_of(lora_rank=8).lora
    assert lora is not None
    assert (lora.alpha, lora.target_modules) == (16, "all-linear")


def test_a_text_is_a_regex() -> None:
    config = spec_of(lora_rank=8, target_modules=r".*\.q_proj").to_peft()
    assert config.target_modules == r".*\.q_proj"


def test_the_base_model_under_either_name() -> None:
    assert LoraSpec.from_any({"model": {"path": "a/b", "lora_rank": 8}}).base_model == "a/b"


@pytest.mark.parametrize(
    ("words", "dtype"), [("bf16", "bfloat16"), ("fp32", "float32"), ("float16", "float16"), (None, "auto")]
)
def test_the_whole_model_has_one_dtype(words: str | None, dtype: str) -> None:
    prepare = spec_of(lora_rank=8, fsdp_config={"model_dtype": words}).prepare
    assert (prepare.dtype, prepare.adapter_dtype, prepare.cast_buffers) == (dtype, "auto", True)


def test_the_engine_s_dtype() -> None:
    values = {"model": {"path": "a/b", "lora_rank": 8}, "engine": {"model_dtype": "bf16"}}
    assert LoraSpec.from_any(values).prepare.dtype == "bfloat16"


def test_an_unknown_dtype_is_a_fault_at_its_place() -> None:
    [found] = errors(**BASE, lora_rank=8, fsdp_config={"model_dtype": "bf61"})
    assert (found.code, found.document_path) == ("LS014", ("model", "fsdp_config", "model_dtype"))


@pytest.mark.parametrize(("said", "on"), [({}, True), ({"enable_gradient_checkpointing": False}, False)])
def test_gradients_are_checkpointed_unless_said_otherwise(said: dict[str, bool], on: bool) -> None:
    checkpointing = spec_of(lora_rank=8, **said).prepare.gradient_checkpointing
    assert (checkpointing is not None) is on
    assert checkpointing is None or not checkpointing.use_reentrant


def test_the_path_wins_over_the_rank(tmp_path: Path) -> None:
    path = adapter(tmp_path / "a")
    spec = spec_of(lora_adapter_path=path, lora_rank=16, lora_alpha=1, target_modules=["k_proj"])
    assert spec.lora is not None
    assert (spec.lora.adapter_path, spec.lora.rank, spec.lora.target_modules) == (path, None, None)


def test_a_path_and_the_adapter_s_own_rank_draw_nothing(tmp_path: Path) -> None:
    assert not check({"model": {**BASE, "lora_adapter_path": adapter(tmp_path / "a"), "lora_rank": 1}})


def test_another_rank_than_the_adapter_s(tmp_path: Path) -> None:
    [found] = errors(**BASE, lora_adapter_path=adapter(tmp_path / "a"), lora_rank=8)
    assert (found.code, found.document_path) == ("LS801", ("model", "lora_rank"))
    assert (found.message, found.help) == ("lora_rank is 8 but the adapter's rank is 1", "write lora_rank: 1")


def test_a_path_with_rank_zero_is_right_in_the_trainer_with_partial_pretrain(tmp_path: Path) -> None:
    model = {**BASE, "lora_adapter_path": adapter(tmp_path / "a"), "lora_rank": 0}
    assert not check({"model": model})
    assert LoraSpec.from_any({"model": model}).lora_on


def test_a_path_with_rank_zero_is_ignored_by_the_engine(tmp_path: Path) -> None:
    [found] = errors(path="tiny-qwen2", lora_adapter_path=adapter(tmp_path / "a"))
    assert (found.code, found.document_path) == ("LS802", ("model", "lora_adapter_path"))
    assert found.help == "add lora_rank: 1"


def test_the_engine_s_ignored_path_is_told_without_the_adapter_too() -> None:
    [found] = errors(path="a/b", lora_adapter_path="./elsewhere", lora_rank=0)
    assert (found.code, found.help) == (
        "LS802",
        "add lora_rank with the adapter's rank (r in its adapter_config.json)",
    )


def test_an_adapter_that_is_only_a_pickle(tmp_path: Path) -> None:
    path = adapter(tmp_path / "a")
    Path(path, "adapter_model.safetensors").rename(Path(path, "adapter_model.bin"))
    [found] = errors(**BASE, lora_adapter_path=path, lora_rank=1)
    assert (found.code, found.document_path) == ("LS305", ("model", "lora_adapter_path"))
    assert "pickle" in found.message


def test_the_folder_above_the_adapter(tmp_path: Path) -> None:
    inner = adapter(tmp_path / "step" / "lora_adapter")
    [found] = errors(**BASE, lora_adapter_path=str(tmp_path / "step"), lora_rank=1)
    assert (found.code, found.help) == ("LS305", f"write {inner}, which has one")


def test_an_adapter_whose_config_cannot_be_read(tmp_path: Path) -> None:
    path = adapter(tmp_path / "a")
    Path(path, "adapter_config.json").write_text("{")
    [found] = errors(**BASE, lora_adapter_path=path, lora_rank=1)
    assert found.code == "LS305"


def test_megatron_s_block_is_right_under_megatron() -> None:
    values = {"model": {"path": "a/b", "lora": {"rank": 32}}, "engine": {"strategy": "megatron"}}
    assert not [d for d in check(values) if d.is_error]


def test_omegaconf_objects_are_read() -> None:
    omegaconf = pytest.importorskip("omegaconf")
    config = omegaconf.OmegaConf.create(
        {"rank": 8, "model": {**BASE, "lora_rank": "${rank}", "target_modules": ["q_proj", "v_proj"]}}
    )
    spec = LoraSpec.from_any(config)
    assert spec.lora is not None
    assert (spec.lora.rank, spec.lora.target_modules) == (8, ("q_proj", "v_proj"))
    assert type(spec.to_peft().target_modules) is set


def test_scalars_are_read_as_omegaconf_reads_them() -> None:
    parsed = parse(read("model: {partial_pretrain: a, lora_rank: 8, lora_alpha: 1e1}"))
    assert parsed.spec is not None
    assert parsed.spec.lora is not None
    assert parsed.spec.lora.alpha == 10


def test_ppo_configs_have_the_section_one_level_down() -> None:
    text = "actor_rollout_ref: {model: {path: a/b, lora_rank: '8', target_modules: all-linear}}"
    [found] = [d for d in judge(parse(read(text))).diagnostics if d.is_error]
    assert (found.code, found.document_path) == ("LS013", ("actor_rollout_ref", "model", "lora_rank"))


def test_a_fault_raises_with_the_user_s_path() -> None:
    with pytest.raises(SpecError, match=r"model\.lora_rank: lora_rank must be a whole number"):
        spec_of(lora_rank="8")
