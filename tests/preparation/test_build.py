"""A base model that cannot be had: what is wrong, in words that lead on, and never a guess in its place."""

import json

import pytest
from safetensors.torch import load_file, save_file

from lora_spec.diagnostics import SpecError
from lora_spec.preparation.recipe import load
from lora_spec.spec.root import LoraSpec

# PEFT 0.21.2 asks transformers 5.24.0 by a deprecated name
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")


@pytest.fixture
def folder(base, tmp_path):
    base().save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def settings(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def refusal(folder, *, tiny=False, root=None, **lora):
    lora = {"rank": 4, "alpha": 8, "target_modules": ["q_proj"]} | lora
    spec = LoraSpec(base_model=str(folder), lora=lora, prepare={"device": "cpu"}, **(root or {}))
    with pytest.raises(SpecError) as caught:
        load(spec, tiny=tiny)
    (found,) = caught.value.diagnostics
    return found.code, found.message.replace(str(folder), "BASE"), found.help


CODE = {"model_type": "wumpus", "auto_map": {"AutoConfig": "made.Config", "AutoModelForCausalLM": "made.Model"}}


@pytest.mark.parametrize("tiny", [False, True])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (CODE, "'BASE' needs code of its own, which is never run"),
        ({"model_type": "wumpus"}, "does not know the model type of 'BASE': wumpus"),
        ({"hidden_size": "32"}, "cannot build 'BASE': StrictDataclassFieldValidationError: Validation error for"),
        ({"model_type": "t5"}, "'BASE' is a t5, which is no causal or image-text-to-text model"),
    ],
)
def test_a_config_that_cannot_be_used(folder, changes, message, tiny):
    (folder / "made.py").write_text("raise SystemExit('run')")
    settings(folder, **changes)
    code, words, _ = refusal(folder, tiny=tiny)
    assert code == "LS306"
    assert message in words


def test_a_class_is_suggested_where_none_follows_from_the_config(folder):
    settings(folder, model_type="t5", architectures=["T5ForConditionalGeneration"])
    assert refusal(folder)[2] == "name its class: model_class: T5ForConditionalGeneration"


@pytest.mark.parametrize("text", ["{not json", "", "\x00\x01"])
def test_a_config_that_is_not_json(folder, text):
    (folder / "config.json").write_text(text)
    assert refusal(folder)[:2] == ("LS306", "the config.json of 'BASE' is not valid JSON")


@pytest.mark.parametrize("content", [b"garbage", b"version https://git-lfs.github.com/spec/v1\n", None])
def test_weights_that_cannot_be_read(folder, content):
    weights = folder / "model.safetensors"
    weights.write_bytes(content or weights.read_bytes()[:2000])
    code, message, help_ = refusal(folder)
    assert (code, help_) == ("LS306", "check that they were downloaded to their end")
    assert message.startswith("cannot read the weights of 'BASE': ")


def test_no_weights(folder):
    (folder / "model.safetensors").unlink()
    assert refusal(folder) == (
        "LS306", "there are no weights in 'BASE'", "add them, or rehearse without weights: prepare --tiny",
    )  # fmt: skip


def test_weights_of_other_sizes(folder):
    settings(folder, intermediate_size=32)
    assert refusal(folder)[:2] == ("LS306", "the weights of 'BASE' do not have the sizes of its config.json")


def test_a_hub_id_that_is_not_here_is_not_blamed_on_the_network():
    assert refusal("nobody/nothing")[1:] == (
        "cannot find 'BASE': it is neither a local folder nor in the hub's local cache",
        "correct base_model, download it first, or pass --online",
    )


@pytest.mark.parametrize("tiny", [False, True])
@pytest.mark.parametrize("name", ["NoSuchModel", "Qwen2Config", "AutoTokenizer", "pipeline", "__name__"])
def test_a_model_class_that_is_none(folder, name, tiny):
    code, message, _ = refusal(folder, tiny=tiny, root={"model_class": name})
    assert code == "LS306"
    assert message.endswith(f"has no model class '{name}'")


def test_a_model_class_for_another_architecture(folder):
    message = refusal(folder, root={"model_class": "BertForSequenceClassification"})[1]
    assert message.startswith("cannot build 'BASE' as BertForSequenceClassification: AttributeError: 'Qwen2Config' obj")


def without(folder, name):
    weights = load_file(folder / "model.safetensors")
    del weights[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def test_frozen_weights_that_the_checkpoint_lacks_are_not_made_up(folder):
    without(folder, "model.layers.1.mlp.up_proj.weight")
    assert refusal(folder) == (
        "LS310",
        "the weights of 'BASE' lack model.layers.1.mlp.up_proj.weight, which would stay as drawn at random",
        "take the model's own weights and class, or train a new head in full: modules_to_save",
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"lora": {"modules_to_save": ["up_proj"]}},
        {"model_class": "Qwen2ForSequenceClassification", "lora": {}},
    ],
)
def test_new_weights_that_train_are_in_order(folder, spec, capfd):
    if "model_class" not in spec:
        without(folder, "model.layers.1.mlp.up_proj.weight")
    lora = {"rank": 4, "alpha": 8, "target_modules": ["q_proj"]} | spec["lora"]
    prepared = load(LoraSpec(base_model=str(folder), prepare={"device": "cpu"}, **spec | {"lora": lora}))
    assert prepared.passed
    assert capfd.readouterr().err == ""  # no progress bars, no reports of transformers
