"""Writes lora_spec/inventory/peft_tables.json from the installed PEFT: `python tests/inventory/make_peft_tables.py`."""

import ast
import inspect
import json
import sys
from importlib.metadata import version

from peft import peft_model
from peft.tuners import tuners_utils
from peft.utils import constants
from peft.utils import transformers_weight_conversion as conversion
from transformers import CONFIG_MAPPING
from transformers.conversion_mapping import get_checkpoint_conversion_mapping

from lora_spec.inventory.matching.tables import TABLES


def tables() -> dict[str, object]:
    patterns = conversion._MOE_TARGET_MODULE_MAPPING.keys() & conversion._MOE_FUSED_TARGETS.keys()
    mamba = local_sets(tuners_utils._check_lora_target_modules_mamba)
    return {
        "peft": version("peft"),
        "default_targets": constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING,
        "expert_patterns": {
            name: {
                "renamed": conversion._MOE_TARGET_MODULE_MAPPING[name],
                "fused": {new: list(old) for new, old in conversion._MOE_FUSED_TARGETS[name].items()},
            }
            for name in sorted(patterns)
        },
        "expert_model_types": {
            model_type: pattern
            for model_type, pattern in sorted(conversion._MODEL_TO_CONVERSION_PATTERN.items())
            if pattern in patterns and get_checkpoint_conversion_mapping(model_type) is not None
        },
        "converted_model_types": sorted(
            model_type for model_type in CONFIG_MAPPING if get_checkpoint_conversion_mapping(model_type) is not None
        ),
        "mamba_model_types": sorted(mamba["mamba_model_types"]),
        "mamba_modules": sorted(mamba["incompatible_modules"]),
        "embedding_names": constants.EMBEDDING_LAYER_NAMES,
        "classifier_names": constants.SEQ_CLS_HEAD_NAMES,
        "heads": {
            "SEQ_CLS": head_names(peft_model.PeftModelForSequenceClassification),
            "TOKEN_CLS": head_names(peft_model.PeftModelForTokenClassification),
            "QUESTION_ANS": head_names(peft_model.PeftModelForQuestionAnswering),
        },
    }


def local_sets(function: object) -> dict[str, set[str]]:
    """The literals that a function assigns to its local names."""
    assigned = {}
    for node in ast.walk(ast.parse(inspect.getsource(function))):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                assigned[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return assigned


def head_names(task: type) -> list[str]:
    """The names that a task's class adds to modules_to_save."""
    lines = [line for line in inspect.getsource(task.__init__).splitlines() if "_module_names = [" in line]
    return ast.literal_eval(lines[0].partition(" = ")[2])


def text() -> str:
    return json.dumps(tables(), indent=1) + "\n"


if __name__ == "__main__":
    TABLES.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"{TABLES}\n")
