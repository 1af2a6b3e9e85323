"""How much processor time a match takes on 50,000 modules, with a floor beside it: `python tests/benchmarks/matching.py`.

The floor is one look at every name: `name.endswith(suffixes)` for the names, one `re.match` for the regexes.
"""

import re
import sys
import time
from collections.abc import Callable
from typing import Any

from lora_spec.inventory.matching import match
from lora_spec.inventory.tree import Kind, Module, ModuleTree

LEAVES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
LAYERS = 5560  # with nine modules each: 50,000
LIMITS = {"100 names": 0.5, "100 regexes": 3.0, "all-linear": 3.0}


def big_tree() -> ModuleTree:
    modules = [Module("", "Big", Kind.OTHER), Module("model", "Model", Kind.OTHER)]
    modules.append(Module("model.layers", "ModuleList", Kind.CONTAINER))
    for layer in range(LAYERS):
        block = f"model.layers.{layer}"
        modules += [Module(block, "Block", Kind.OTHER), Module(f"{block}.mixer", "Mixer", Kind.OTHER)]
        modules += [Module(f"{block}.mixer.{leaf}", "Linear", Kind.LINEAR, (("weight", (64, 64)),)) for leaf in LEAVES]
    return ModuleTree(modules=tuple(modules), model_type="big", model_class="Big")


def cases() -> dict[str, dict[str, Any]]:
    names = [f"layers.{layer}.mixer.{leaf}" for layer in range(14) for leaf in LEAVES] + ["q_proj", "v_proj"]
    keys = {rf"layers\.{layer}\d*\.mixer\.{leaf}": 4 for layer in range(14) for leaf in LEAVES}
    keys |= {r".*\.5\..*": 5, r"model\.layers\.(1|2)\d\..*": 6}
    return {
        "100 names": {"target_modules": names},
        "100 regexes": {"target_modules": list(LEAVES), "rank_pattern": keys},
        "all-linear": {"target_modules": "all-linear"},
    }


def best(call: Callable[[], Any], times: int = 3) -> float:
    taken = []
    for _ in range(times):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)


def floors(tree: ModuleTree) -> dict[str, float]:
    names = [module.name for module in tree.modules]
    ends = tuple(f".{leaf}" for leaf in LEAVES)
    pattern = re.compile(r"(.*\.)?(layers\.1\d*\.mixer\.q_proj)$")
    named = best(lambda: [name for name in names if name.endswith(ends)])
    return {
        "100 names": named,
        "100 regexes": best(lambda: [n for n in names if pattern.match(n)]),
        "all-linear": named,
    }


def main() -> int:
    tree = big_tree()
    floor = floors(tree)
    late = False
    print(f"{len(tree.modules)} modules")
    for name, arguments in cases().items():
        taken = best(lambda: match(tree, arguments))  # noqa: B023 - called at once
        late |= taken > LIMITS[name]
        print(f"{name:12} {taken:6.2f} s  limit {LIMITS[name]:.1f} s  floor {floor[name]:.3f} s")
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
