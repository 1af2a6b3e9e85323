"""The shape of the code: who may import whom, what stays light, and how long a function may be."""

import ast
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "lora_spec"
FILES = sorted(PACKAGE.rglob("*.py"))

LEVELS = {
    "base": 0,
    "diagnostics": 0,
    "source": 1,
    "inventory": 1,
    "spec": 2,
    "planning": 3,
    "dialects": 4,
    "rules": 5,
    "reports": 5,
    "pipeline": 6,
    "preparation": 7,
    "lsp": 8,
    "__init__": 8,
    "cli": 9,
    "__main__": 10,
}
"""A room imports rooms of a lower level; only within a room do files import sideways."""

THIN_METHODS = {
    ("spec/root.py", "dialects"): "LoraSpec.from_file and from_any are methods that import what they need",
    ("spec/root.py", "preparation"): "LoraSpec.to_peft is a method that imports what it needs",
}

HEAVY = {"torch", "transformers", "peft", "safetensors", "accelerate", "huggingface_hub"}
MAY_BE_HEAVY = {
    "preparation": "the room that changes models",
    "inventory/meta_build.py": "the script of the child process",
    "inventory/catalogue_build.py": "the script that makes the catalogue",
    "inventory/sources.py": "asks the hub, with --online alone",
}

LONG_FUNCTIONS: dict[str, str] = {}
LONG_FILES: dict[str, str] = {}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def at_runtime(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node but those under `if TYPE_CHECKING`."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            pending += node.orelse
            continue
        yield node
        pending += ast.iter_child_nodes(node)


def imports(path: Path) -> set[str]:
    found = set()
    for node in at_runtime(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_go_downwards(path: Path) -> None:
    here = room(path)
    for imported in imports(path):
        head, _, rest = imported.partition(".")
        there = rest.split(".")[0]
        if head != "lora_spec" or there == here or there not in LEVELS or (name_of(path), there) in THIN_METHODS:
            continue
        assert LEVELS[there] < LEVELS[here], f"{name_of(path)} imports {imported}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_heavy_packages_stay_in_their_room(path: Path) -> None:
    if room(path) not in MAY_BE_HEAVY and name_of(path) not in MAY_BE_HEAVY:
        assert not {name.split(".")[0] for name in imports(path)} & HEAVY


def module_imports(path: Path) -> set[str]:
    """What is imported when the file is: function bodies not counted."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = []
    found = set()
    for node in at_runtime(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lora_spec"):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_there_are_no_import_cycles() -> None:
    names = {
        "lora_spec." + name_of(p).removesuffix(".py").replace("/", ".").removesuffix(".__init__"): p for p in FILES
    }
    graph = {name: module_imports(path) & names.keys() for name, path in names.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


LIGHT_RUN = """
import io, json, sys
from contextlib import redirect_stdout
import lora_spec
from lora_spec.cli.main import main
with redirect_stdout(io.StringIO()):
    codes = [main(argv) for argv in (
        ["check", "examples/quickstart.yaml", "examples/verl_sft.yaml", "--format", "json"],
        ["check", "examples/broken.yaml"],
        ["compile", "examples/quickstart.yaml", "--to", "peft"],
        ["schema"], ["rules"], ["explain", "LS011"], ["plan", "examples/quickstart.yaml"],
    )]
    spec = lora_spec.LoraSpec.from_file("examples/verl_sft.yaml")
    lora_spec.check(spec)
    lora_spec.compile(spec)
    lora_spec.plan(spec)
print(json.dumps({"codes": codes, "modules": sorted(sys.modules)}))
"""


def run_python(code: str) -> str:
    root = PACKAGE.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_light_half_imports_nothing_heavy() -> None:
    result = json.loads(run_python(LIGHT_RUN))
    assert result["codes"] == [0, 1, 0, 0, 0, 0, 0]
    assert not {name.split(".")[0] for name in result["modules"]} & {*HEAVY, "numpy", "rich", "jsonschema"}


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_do_not_import_pydantic(flag: str) -> None:
    code = (
        "import io, sys\nfrom contextlib import redirect_stdout, suppress\nfrom lora_spec.cli.main import main\n"
        f"with redirect_stdout(io.StringIO()), suppress(SystemExit): main(['{flag}'])\n"
        "print('pydantic' in sys.modules or 'yaml' in sys.modules)"
    )
    assert run_python(code).strip() == "False"


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            yield f"{name_of(path)}:{node.name}", node.end_lineno - node.lineno + 1


def test_functions_are_short() -> None:
    lengths = {name: length for path in FILES for name, length in functions(path)}
    ordered = sorted(lengths.values())
    assert statistics.median(ordered) <= 10
    assert ordered[int(len(ordered) * 0.9)] <= 30
    assert {name for name, length in lengths.items() if length > 60} == set(LONG_FUNCTIONS)


def test_files_hold_one_concept() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name for name, length in lengths.items() if length > 400} == set(LONG_FILES)


def test_every_public_name_is_documented_and_annotated() -> None:
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{name_of(path)}: {node.name}"
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                assert node.returns is not None, f"{name_of(path)}: {node.name}"
