"""Where a tree comes from, and what is said where it cannot be had."""

import json
import multiprocessing
from pathlib import Path

import pytest

from lora_spec.inventory import disk_cache, sources
from lora_spec.inventory.catalogue import entry_by_id
from lora_spec.inventory.collapsed import collapse, expand
from lora_spec.inventory.config_file import cached_config, config_key
from lora_spec.inventory.sources import find_tree
from lora_spec.inventory.tree import ModuleTree


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


def config_of(model_id: str = "tiny-qwen2", **changes: object) -> dict:
    entry = entry_by_id(model_id)
    assert entry is not None
    return entry.config | changes


def folder_with(path: Path, config: object) -> str:
    path.mkdir()
    path.joinpath("config.json").write_text(json.dumps(config))
    return str(path)


def tree_of_tiny() -> ModuleTree:
    tree = find_tree("tiny-qwen2").tree
    assert tree is not None
    return tree


@pytest.mark.parametrize("model_id", ["tiny-qwen2", "deepseek-ai/DeepSeek-V3", "gpt2", "google/gemma-3-4b-it"])
def test_a_collapsed_tree_expands_to_itself(model_id: str) -> None:
    tree = find_tree(model_id).tree
    assert tree is not None
    assert expand(json.loads(json.dumps(collapse(tree)))) == tree


def test_another_format_is_not_read() -> None:
    with pytest.raises(ValueError, match="a tree of format 99"):
        expand(collapse(tree_of_tiny()) | {"format": 99})


def test_a_folder_of_a_known_model_needs_no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_transformers_version", lambda: None)
    assert find_tree(folder_with(tmp_path / "m", config_of("Qwen/Qwen3-8B"))).source == "catalogue"


def test_an_unknown_structure_without_torch_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_transformers_version", lambda: None)
    found = find_tree(folder_with(tmp_path / "m", config_of(num_hidden_layers=3)))
    assert (found.tree, found.source) == (None, "unavailable")
    assert "lora-spec[train]" in found.remedy


def test_an_unknown_structure_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    folder = folder_with(tmp_path / "m", config_of(num_hidden_layers=3))
    built = find_tree(folder)
    assert built.source == "built"
    monkeypatch.setattr(sources, "_run_child", lambda request: pytest.fail(str(request)))
    again = find_tree(folder)
    assert (again.source, again.tree) == ("cache", built.tree)


@pytest.mark.parametrize("rubbish", [b"", b"rubbish", b"\x78\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_broken_cache_entry_is_built_again(rubbish: bytes, own_cache: Path) -> None:
    key = disk_cache.cache_key(config_of(), None, "5.24.0")
    disk_cache.write_tree(key, collapse(tree_of_tiny()))
    assert disk_cache.read_tree(key) == tree_of_tiny()
    (own_cache / "lora-spec" / "trees" / key).write_bytes(rubbish)
    assert disk_cache.read_tree(key) is None


def test_a_foreign_entry_is_not_taken(own_cache: Path) -> None:
    disk_cache.write_tree("a", collapse(tree_of_tiny()))
    folder = own_cache / "lora-spec" / "trees"
    (folder / "a").rename(folder / "b")
    assert disk_cache.read_tree("b") is None


def test_a_cache_that_cannot_be_written_stops_nothing(own_cache: Path) -> None:
    own_cache.write_text("a file where the folder should be")
    disk_cache.write_tree("a", collapse(tree_of_tiny()))
    assert disk_cache.read_tree("a") is None


def _write_often(_: int) -> bool:
    tree = tree_of_tiny()
    for _ in range(20):
        disk_cache.write_tree("a", collapse(tree))
        if disk_cache.read_tree("a") != tree:
            return False
    return True


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_two_processes_may_write_at_once() -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_write_often, range(2)) == [True, True]


def test_the_key_is_of_config_class_and_version() -> None:
    keys = {
        disk_cache.cache_key(config, model_class, version)
        for config in (config_of(), config_of(num_hidden_layers=3))
        for model_class in (None, "Qwen2Model")
        for version in ("5.24.0", "5.25.0")
    }
    assert len(keys) == 8


def test_what_does_not_change_the_structure_does_not_change_the_key() -> None:
    assert config_key(config_of()) == config_key(config_of(torch_dtype="float16", eos_token_id=[1, 2], use_cache=False))


def test_the_hub_s_cache_is_read(tmp_path: Path) -> None:
    base = tmp_path / "hub" / "hub" / "models--some--model"
    snapshot = base / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (base / "refs").mkdir()
    (base / "refs" / "main").write_text("abc")
    (snapshot / "config.json").write_text(json.dumps(config_of("Qwen/Qwen3-8B")))
    assert cached_config("some/model") == config_of("Qwen/Qwen3-8B")
    assert find_tree("some/model").source == "catalogue"
    assert cached_config("some/model", "other-branch") is None


def test_a_name_that_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = find_tree("nobody/has-this")
    assert found.source == "unavailable"
    assert "--online" in found.remedy


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Qwen2.5-7B", "did you mean Qwen/Qwen2.5-7B?"),
        ("Qwen/Qwen2.5-7B-Instrct", "did you mean Qwen/Qwen2.5-7B-Instruct?"),
        ("someone/Qwen2.5-7B", "pass --online"),
    ],
)
def test_a_name_that_is_nearly_one(name: str, meant: str) -> None:
    assert find_tree(name).remedy.startswith(meant)


def test_a_folder_without_a_config(tmp_path: Path) -> None:
    assert find_tree(str(tmp_path)).problem == f"{tmp_path} has no config.json"


@pytest.mark.parametrize("content", ["{", "[]", ""])
def test_a_config_that_cannot_be_read(tmp_path: Path, content: str) -> None:
    tmp_path.joinpath("config.json").write_text(content)
    found = find_tree(str(tmp_path))
    assert (found.tree, found.source) == (None, "unavailable")
    assert "config.json" in found.problem


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model_type": 5}, "its model_type is 5, not a name"),
        ({"hidden_size": 10**12}, "its hidden_size is 1000000000000"),
        ({"text_config": {"num_hidden_layers": 10**6}}, "its num_hidden_layers is 1000000"),
        ({"vocab_size": -1}, "its vocab_size is -1"),
    ],
    ids=str,
)
def test_a_config_that_no_model_can_have_is_not_built(tmp_path: Path, changes: dict, problem: str) -> None:
    found = find_tree(folder_with(tmp_path / "odd", config_of(**changes)))
    assert found.tree is None
    assert found.problem.endswith(f"is no config of a model: {problem}")


def test_a_type_that_transformers_does_not_know_uses_the_class_that_it_names(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    changes = {"model_type": "kimi_k9", "auto_map": {"AutoConfig": "configuration_kimi.KimiConfig"}}
    found = find_tree(folder_with(tmp_path / "m", config_of(**changes)))
    assert found.tree is not None
    assert found.tree.model_class == "Qwen2ForCausalLM"
    assert found.tree.note == "kimi_k9 is not a type of transformers: structure of its own Qwen2ForCausalLM"


def test_a_config_that_transformers_cannot_build_says_why(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = find_tree(folder_with(tmp_path / "m", {"model_type": "nonesuch", "architectures": ["Nonesuch"]}))
    assert found.source == "unavailable"
    assert found.problem.startswith("transformers cannot build the model: ")


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        ("LocalEntryNotFoundError", "the hub cannot be reached"),
        ("GatedRepoError", "it is gated on the hub"),
        ("RepositoryNotFoundError", "not found on the hub"),
        ("HFValidationError", "not found on the hub"),
    ],
)
def test_why_the_hub_has_no_config(monkeypatch: pytest.MonkeyPatch, error: str, problem: str) -> None:
    hub = pytest.importorskip("huggingface_hub")
    kind = getattr(pytest.importorskip("huggingface_hub.errors"), error)

    def refuse(*_: object, **__: object) -> None:
        raise kind.__new__(kind)

    monkeypatch.setattr(hub, "hf_hub_download", refuse)
    found = find_tree("nobody/has-this", online=True)
    assert found.tree is None
    assert problem in found.problem
    assert found.remedy
