"""The shipped trees: enough of them, small, found by id and by content, and what transformers builds now."""

import json
from pathlib import Path

import pytest

from lora_spec.inventory.catalogue import FOLDER, entry_by_config, entry_by_id, model_ids, read_entry
from lora_spec.inventory.catalogue_build import SUFFIX, read_index

ENTRIES = sorted(FOLDER.glob(f"*{SUFFIX}"))
SHARED = Path(__file__).parents[2].parent / "shared" / "models"


def test_how_many_and_how_large() -> None:
    assert len(ENTRIES) >= 60
    assert sum(path.stat().st_size for path in ENTRIES) < 1536 * len(ENTRIES)


def test_the_index_is_of_the_files() -> None:
    index = read_index()
    assert {path.name for path in ENTRIES} == set(index["ids"].values()) == set(index["configs"].values())


def test_an_entry_is_found_by_id_in_any_case_and_by_content() -> None:
    by_id = entry_by_id("qwen/QWEN2.5-0.5b")
    assert by_id is not None
    noisy = by_id.config | {"transformers_version": "9.9", "torch_dtype": "float16", "_name_or_path": "elsewhere"}
    assert entry_by_config(noisy) == by_id
    assert entry_by_config(noisy | {"num_hidden_layers": 3}) is None


def test_the_default_class_comes_first_and_the_named_one_is_there_too() -> None:
    entry = entry_by_id("meta-llama/Llama-4-Scout-17B-16E-Instruct")
    assert entry is not None
    assert list(entry.trees) == ["Llama4ForCausalLM", "Llama4ForConditionalGeneration"]
    full = entry.tree("Llama4ForConditionalGeneration")
    assert full is not None
    assert full.by_name["language_model.model.layers.0.self_attn.q_proj"].in_out == (5120, 5120)
    assert entry.tree("Llama4ForSequenceClassification") is None


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no {SHARED}")
def test_the_models_beside_the_project_are_in_it() -> None:
    for path in sorted(SHARED.glob("*/config.json")):
        assert entry_by_config(json.loads(path.read_text())) is not None, path.parent.name


def test_ids_name_models() -> None:
    assert {"meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B", "mistralai/Mistral-7B-v0.1", "tiny-qwen2"} <= set(
        model_ids()
    )


@pytest.mark.filterwarnings("ignore")  # transformers' own, about the configs
@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: path.stem)
def test_no_entry_is_stale(path: Path) -> None:
    pytest.importorskip("torch")
    from lora_spec.inventory.catalogue_build import build_entry

    entry = read_entry(path)
    built = json.loads(json.dumps(build_entry(entry.config).trees))
    assert built == entry.trees, "python -m lora_spec.inventory.catalogue_build rebuild"
