"""Holds `match` against PEFT itself: `python tests/inventory/differential.py` prints what agrees, exits 1 where not.

(a) every config of the shared models, whole with the smaller set of specs, and with few layers with the broad set;
(b) every type of model that transformers can generate text with, with few layers, with the smaller set;
(c) specs drawn by Hypothesis, on small models that together have everything that LoRA treats in its own way.

Words on the command line choose parts: `a b c`; `--only NAME` models whose name has it.
"""

import argparse
import logging
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from drawn_specs import specs
from hypothesis import HealthCheck, given, settings
from peft_truth import by_match, by_peft, differences
from small_models import build, classifier, model_types, named_class, of_config, plain
from specs_on_models import few_specs, many_specs

from lora_spec.inventory.live import tree_of
from lora_spec.inventory.matching import Match, Reason, match

SHARED = Path(__file__).parents[2].parent / "shared" / "models"

FEW_LAYERS = 6
DRAWS = 400

EXCEPTIONS = {
    Reason.INDEX_OUT_OF_RANGE: "the meta device looks up no rows; test_against_peft.py shows it with weights",
}
"""Refusals that PEFT does not show here, with the reason. Besides them, what differs must say that it is inexact."""

Make = Callable[[], Any]


class Case(NamedTuple):
    """A model and how it is tried."""

    part: str
    name: str
    make: Make
    how: str


class Result(NamedTuple):
    """What came of it."""

    case: str
    agreed: int = 0
    refused: int = 0
    unsure: int = 0
    faults: tuple[str, ...] = ()
    not_built: str = ""


def cases() -> Iterator[Case]:
    """All of them, those that take long first."""
    for folder in sorted(SHARED.glob("*/")) if SHARED.is_dir() else ():
        yield Case("a", folder.name, partial(of_config, folder), "few")
        yield Case("a", f"{folder.name}, few layers", partial(of_config, folder, FEW_LAYERS), "many")
        yield Case("a", f"{folder.name}, class named in it", partial(named_class, folder, FEW_LAYERS), "few")
    for kind, model_type in model_types():
        yield Case("b", f"{model_type} ({kind})", partial(build, kind, model_type), "few")
    for name, make in small_models():
        yield Case("c", name, make, "drawn")


def small_models() -> Iterator[tuple[str, Make]]:
    """Small models that together have all that LoRA treats in its own way."""
    for model_type in (
        "qwen2",
        "llama",
        "gpt2",
        "mixtral",
        "deepseek_v2",
        "qwen3_moe",
        "gpt_oss",
        "mamba",
        "opt",
        "bloom",
    ):
        yield model_type, partial(build, "causal-lm", model_type)
    for model_type in ("gemma3", "qwen2_5_vl", "llava"):
        yield model_type, partial(build, "image-text", model_type)
    yield "qwen2 tied", partial(build_tied)
    yield "sequence classifier", partial(classifier, "SequenceClassification")
    yield "token classifier", partial(classifier, "TokenClassification")
    yield "question answering", partial(classifier, "QuestionAnswering")
    yield "no transformer", plain


def build_tied() -> Any:
    """A causal model whose head is its embedding."""
    return classifier("CausalLM", tie_word_embeddings=True)


def run(case: Case) -> Result:
    """Tries one case."""
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    try:
        model = case.make()
    except Exception as error:  # noqa: BLE001 - what transformers cannot build is listed
        return Result(case.name, not_built=f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90]}")
    tree = tree_of(model)
    if case.how == "drawn":
        return _tried(case, model, tree, _drawn(tree, int(os.environ.get("DRAWS", DRAWS))))
    return _tried(case, model, tree, few_specs(tree) if case.how == "few" else many_specs(tree))


def _drawn(tree: Any, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    @settings(max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(specs(tree))
    def collect(spec: dict[str, Any]) -> None:
        found.append(spec)

    collect()
    return found


def _tried(case: Case, model: Any, tree: Any, arguments: Iterable[dict[str, Any]]) -> Result:
    agreed = refused = unsure = 0
    faults = []
    for spec in arguments:
        said = match(tree, spec)
        different = differences(by_match(said), by_peft(model, spec))
        if not different:
            agreed += 1
            refused += said.refusal is not None
        elif excused(said):
            unsure += 1
        else:
            faults.append(f"{case.name}: {_cut(spec)}\n    " + "\n    ".join(different))
    return Result(case.name, agreed, refused, unsure, tuple(faults))


def excused(said: Match) -> bool:
    """Whether a difference is listed, or the match says itself that it is not exact."""
    return not said.exact or (said.refusal is not None and said.refusal.reason in EXCEPTIONS)


def _cut(spec: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}"[:300] for key, value in spec.items())


def main() -> int:
    """Runs the cases on all processors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", default=["a", "b", "c"])
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    said = parser.parse_args()
    chosen = [case for case in cases() if case.part in said.parts and said.only in case.name]
    start = time.monotonic()
    with multiprocessing.get_context("fork").Pool(said.jobs, maxtasksperchild=20) as pool:
        results = []
        for result in pool.imap(run, chosen, chunksize=1):
            results.append(result)
            for fault in result.faults:
                print(fault, flush=True)
    _report(chosen, results, time.monotonic() - start)
    return 1 if any(result.faults for result in results) else 0


def _report(chosen: list[Case], results: list[Result], seconds: float) -> None:
    for part in "abc":
        of_part = [result for case, result in zip(chosen, results, strict=True) if case.part == part]
        built = [result for result in of_part if not result.not_built]
        agreed, unsure = sum(r.agreed for r in built), sum(r.unsure for r in built)
        refused, faults = sum(r.refused for r in built), sum(len(r.faults) for r in built)
        print(
            f"({part}) {len(built)} models, {agreed + unsure + faults} wraps: {agreed} agree "
            f"({refused} of them that PEFT refuses), {unsure} excused, {faults} differ"
        )
    for result in results:
        if result.not_built:
            print(f"not built: {result.case}: {result.not_built}")
    print(f"{seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
