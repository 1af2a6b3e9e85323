"""save_adapter: the same files as PEFT's, and the old adapter or the new one whatever happens."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file

from lora_spec.diagnostics import SpecError
from lora_spec.preparation import exchange as exchange_module
from lora_spec.preparation.adapter_state import iter_adapter_state
from lora_spec.preparation.recipe import load
from lora_spec.preparation.save import save_adapter

# PEFT 0.21.2 asks transformers 5.24.0 by a deprecated name
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")


@pytest.fixture
def model(base):
    def make(**config):
        wanted = {"target_modules": ["v_proj", "q_proj", "k_proj"], "task_type": "CAUSAL_LM"} | config
        return get_peft_model(base(), LoraConfig(**wanted))

    return make


def scaled(model, factor):
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.fill_(factor)
    return model


def value(folder):
    (single,) = {
        float(v) for tensor in load_file(folder / "adapter_model.safetensors").values() for v in tensor.unique()
    }
    return single


@pytest.mark.filterwarnings("ignore:Setting `save_embedding_layers` to `True`:UserWarning")
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"use_dora": True},
        {"modules_to_save": ["lm_head"]},
        {"bias": "all"},
        {"trainable_token_indices": [3]},
        {"target_modules": ["embed_tokens"]},
        {"task_type": None},
    ],
)
def test_the_files_are_what_peft_writes(model, config, tmp_path):
    one = model(**config)
    save_adapter(one, tmp_path / "ours")
    one.save_pretrained(tmp_path / "theirs")
    ours, theirs = (load_file(tmp_path / who / "adapter_model.safetensors") for who in ("ours", "theirs"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())
    ours, theirs = (json.loads((tmp_path / who / "adapter_config.json").read_text()) for who in ("ours", "theirs"))
    if isinstance(theirs["target_modules"], list):
        theirs["target_modules"].sort()
    assert ours == theirs
    assert sorted(path.name for path in (tmp_path / "ours").iterdir()) == [
        "adapter_config.json", "adapter_model.safetensors",
    ]  # fmt: skip


def test_the_config_is_the_same_text_in_each_process(tmp_path):
    script = (
        "import sys; from lora_spec.spec.root import LoraSpec; from lora_spec.preparation.recipe import load; "
        "from lora_spec.preparation.save import save_adapter; "
        "targets = ['q_proj', 'v_proj', 'k_proj', 'o_proj', 'up_proj']; "
        "lora = {'rank': 4, 'alpha': 8, 'target_modules': targets}; "
        "save_adapter(load(LoraSpec(base_model='tiny-qwen2', lora=lora)), sys.argv[1])"
    )
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", script, tmp_path / seed], check=True, env=environment)
    texts = [(tmp_path / seed / "adapter_config.json").read_bytes() for seed in ("1", "2")]
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["base_model_name_or_path"] == "tiny-qwen2"
    assert json.loads(texts[0])["task_type"] == "CAUSAL_LM"


def test_peft_loads_what_was_saved(base, model, tmp_path):
    one = scaled(model(), 0.5)
    save_adapter(one, tmp_path / "new" / "adapter")
    two = PeftModel.from_pretrained(base(), tmp_path / "new" / "adapter")
    assert dict(iter_adapter_state(one)).keys() == dict(iter_adapter_state(two)).keys()
    assert all(torch.equal(tensor, dict(iter_adapter_state(two))[name]) for name, tensor in iter_adapter_state(one))


def test_a_prepared_model_is_saved_as_well(spec, tmp_path):
    save_adapter(load(spec()), tmp_path / "adapter")
    assert (tmp_path / "adapter" / "adapter_model.safetensors").stat().st_mode & 0o044


def test_a_model_without_an_adapter_is_misuse(base, tmp_path):
    with pytest.raises(TypeError, match="Qwen2ForCausalLM has no adapter"):
        save_adapter(base(), tmp_path / "adapter")
    assert list(tmp_path.iterdir()) == []


def test_an_adapter_is_not_overwritten_unasked(model, tmp_path):
    save_adapter(scaled(model(), 1), tmp_path / "adapter")
    with pytest.raises(SpecError, match=r"LS303 '.*adapter' already holds adapter_config.json"):
        save_adapter(scaled(model(), 2), tmp_path / "adapter")
    assert value(tmp_path / "adapter") == 1
    save_adapter(scaled(model(), 2), tmp_path / "adapter", overwrite=True)
    assert value(tmp_path / "adapter") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["adapter"]


def test_a_file_in_the_way_is_refused_even_with_overwrite(model, tmp_path):
    (tmp_path / "adapter").write_text("mine")
    with pytest.raises(SpecError, match=r"LS303 .* is a file"):
        save_adapter(model(), tmp_path / "adapter", overwrite=True)
    assert (tmp_path / "adapter").read_text() == "mine"


@pytest.mark.parametrize("folder", [".", "..", "../inside"])
def test_the_folder_that_the_process_is_in_is_not_exchanged(model, tmp_path, monkeypatch, folder):
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    with pytest.raises(SpecError, match=r"LS303 .* is the folder you are in"):
        save_adapter(model(), folder, overwrite=True)
    assert Path.cwd() == tmp_path / "inside"


@pytest.mark.parametrize("possible", [True, False], ids=["exchange", "two renames"])
def test_other_files_in_the_folder_stay(model, tmp_path, monkeypatch, possible):
    if not possible:
        monkeypatch.setattr(exchange_module, "_system_call", lambda *_: None)
    folder = tmp_path / "adapter"
    (folder / "runs").mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (folder / "runs" / "log").write_text("mine too")
    (folder / "link").symlink_to("notes.txt")
    save_adapter(scaled(model(), 1), folder)
    (folder / "adapter_model.bin").write_text("an old pickle")
    save_adapter(scaled(model(), 2), folder, overwrite=True)
    assert value(folder) == 2
    assert sorted(path.name for path in folder.iterdir()) == [
        "adapter_config.json", "adapter_model.safetensors", "link", "notes.txt", "runs",
    ]  # fmt: skip
    assert (folder / "runs" / "log").read_text() == "mine too"
    assert (folder / "link").readlink() == Path("notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["adapter"]


def test_a_link_to_a_folder_stays_a_link(model, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    save_adapter(scaled(model(), 1), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert value(tmp_path / "real") == 1


def test_a_failure_leaves_the_old_adapter_and_nothing_beside_it(model, tmp_path, monkeypatch):
    folder = tmp_path / "adapter"
    save_adapter(scaled(model(), 1), folder)
    monkeypatch.setattr(
        "lora_spec.preparation.save.save_file", lambda *_a, **_k: (_ for _ in ()).throw(OSError("full"))
    )
    with pytest.raises(OSError, match="full"):
        save_adapter(scaled(model(), 2), folder, overwrite=True)
    assert value(folder) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["adapter"]


CRASHING = """
import os, sys
import torch
from lora_spec.preparation import exchange, save
from lora_spec.spec.root import LoraSpec
from lora_spec.preparation.recipe import load

folder, exists = sys.argv[1], sys.argv[2] == "True"
model = load(LoraSpec(base_model="tiny-qwen2", lora={"rank": 4, "alpha": 8, "target_modules": ["q_proj"]})).model

def fill(value):
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.fill_(value)

CALLS = ["write_text", "chmod", "save_file", "_force_to_disk", "_carry_over", "exchange", "rename", "rmtree"]
seen = 0

def crash(function):
    # dies before and, at the next number, after each operation on the disk
    def step(*args, **kwargs):
        global seen
        for after in (False, True):
            if after:
                result = function(*args, **kwargs)
            if seen == point:
                os._exit(17)
            seen += 1
        return result
    return step

for point in range(200):
    child = os.fork()
    if child == 0:
        if exists:
            fill(1)
            save.save_adapter(model, f"{folder}/{point}")
        fill(2)
        from pathlib import Path
        import shutil
        save.save_file = crash(save.save_file)
        save._force_to_disk = crash(save._force_to_disk)
        save._carry_over = crash(save._carry_over)
        save.exchange = crash(save.exchange)
        Path.write_text = crash(Path.write_text)
        Path.rename = crash(Path.rename)
        shutil.rmtree = crash(shutil.rmtree)
        save.save_adapter(model, f"{folder}/{point}", overwrite=True)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
print(point)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("exists", [False, True])
def test_a_crash_at_any_moment_leaves_the_old_one_or_the_new_one(tmp_path, exists):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", CRASHING, str(tmp_path), str(exists)]
    points = int(subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout)
    assert points >= 14
    found = []
    for point in range(points):
        folder = tmp_path / str(point)
        if not exists and not folder.exists():
            found.append(None)
            continue
        assert sorted(path.name for path in folder.iterdir()) == ["adapter_config.json", "adapter_model.safetensors"]
        assert json.loads((folder / "adapter_config.json").read_text())["r"] == 4
        found.append(value(folder))
    first_new = found.index(2)
    assert found == [1 if exists else None] * first_new + [2] * (points - first_new)
