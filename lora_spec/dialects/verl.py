"""verl's trainers on FSDP: flat LoRA keys in the `model` section.

Read from verl's `trainer/fsdp_sft_trainer.py` (the trainer with `model.partial_pretrain`) and
`workers/engine/fsdp/transformer_impl.py` (the engine with `model.path`). Scalars are read as OmegaConf reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from lora_spec.diagnostics import Diagnostic, DocumentPath, Fix, Rule, Severity, closest, dotted
from lora_spec.dialects.open_values import open_paths
from lora_spec.inventory.adapter_folder import read_adapter_folder
from lora_spec.source.document import Document, Mapping
from lora_spec.source.scalars import resolve_omegaconf, to_plain
from lora_spec.spec import faults
from lora_spec.spec.foreign_names import native_name
from lora_spec.spec.parsing import Parsed, parse_values
from lora_spec.spec.places import Places, at_key, at_value

NAME = "verl"

RANK_DIFFERS = Rule(
    "LS801",
    "verl-rank-differs-from-adapter",
    Severity.ERROR,
    "With lora_adapter_path verl trains the adapter at its own rank and ignores lora_rank, but lora_rank still sizes "
    "the LoRA slots of the rollout engine: the two must be equal.",
    "model: {lora_rank: 8, lora_adapter_path: ./rank-16-adapter}",
    "model: {lora_rank: 16, lora_adapter_path: ./rank-16-adapter}",
)
PATH_IGNORED = Rule(
    "LS802",
    "verl-adapter-path-ignored",
    Severity.ERROR,
    "verl's FSDP engine turns LoRA on by lora_rank > 0 alone. With rank 0 it never looks at lora_adapter_path and "
    "trains all parameters of the base model.",
    "model: {path: Qwen/Qwen3-8B, lora_adapter_path: ./adapter}",
    "model: {path: Qwen/Qwen3-8B, lora_adapter_path: ./adapter, lora_rank: 16}",
)
OTHER_BACKEND = Rule(
    "LS803",
    "verl-other-backend",
    Severity.ERROR,
    "verl's FSDP backend reads the flat keys model.lora_rank and so on; the nested block model.lora is Megatron's. "
    "The backend that runs ignores the other's, so LoRA can be off without a word.",
    "model: {path: Qwen/Qwen3-8B, lora: {rank: 32, alpha: 32}}",
    "model: {path: Qwen/Qwen3-8B, lora_rank: 32, lora_alpha: 32}",
)
RULES = (RANK_DIFFERS, PATH_IGNORED, OTHER_BACKEND)

KEYS = {
    "lora_rank": "rank",
    "lora_alpha": "alpha",
    "target_modules": "target_modules",
    "exclude_modules": "exclude_modules",
    "target_parameters": "target_parameters",
    "lora_adapter_path": "adapter_path",
}
"""verl's LoRA keys and the native fields of the `lora` section."""

NATIVE_ONLY = {
    "rank",
    "alpha",
    "adapter_path",
    "bias",
    "modules_to_save",
    "use_rslora",
    "use_dora",
    "rank_pattern",
    "alpha_pattern",
    "layers_to_transform",
    "layers_pattern",
    "trainable_token_indices",
}
"""Settings of LoRA that verl has under another name or not at all; its other keys are none of our business."""

DEFAULTS = {"lora_rank": 0, "lora_alpha": 16, "target_modules": "all-linear"}

DTYPES = {"fp32": "float32", "32": "float32", "bf16": "bfloat16", "fp16": "float16", "16": "float16", "half": "float16"}
"""verl's words for dtypes (`utils/torch_dtypes.py`) that differ from PyTorch's."""

DTYPE_PATHS: tuple[DocumentPath, ...] = (
    ("model", "fsdp_config", "model_dtype"),
    ("engine", "model_dtype"),
    ("actor_rollout_ref", "actor", "fsdp_config", "model_dtype"),
)


def recognise(document: Document) -> bool:
    """A base model under `model.partial_pretrain`, a LoRA key beside `model.path`, or a section of an RL trainer."""
    root = document.root
    if not isinstance(root, Mapping):
        return False
    if root.get("actor_rollout_ref") is not None or document.node(("critic", "model")) is not None:
        return True
    model = root.get("model")
    if not isinstance(model, Mapping):
        return False
    keys = set(model.keys())
    return "partial_pretrain" in keys or ("path" in keys and bool(_lora_like(keys)))


def _lora_like(keys: set[str]) -> set[str]:
    return {k for k in keys if k in KEYS or k == "lora" or (k.lower().startswith("lora") and closest(k, KEYS))}


class _Section(NamedTuple):
    """The `model` section of a document: its path, its values, and how the base model is called there."""

    path: DocumentPath
    values: dict[str, Any]

    @property
    def base_key(self) -> str:
        return "partial_pretrain" if "partial_pretrain" in self.values else "path"

    @property
    def is_engine(self) -> bool:
        """Whether the newer engine reads it, which needs a rank to look at an adapter path."""
        return self.base_key == "path"

    def get(self, key: str) -> Any:
        value = self.values.get(key)
        return DEFAULTS.get(key) if value is None else value

    def place(self, key: str) -> DocumentPath:
        return (*self.path, key)


def _section(document: Document) -> _Section:
    paths: tuple[DocumentPath, ...] = (("actor_rollout_ref", "model"), ("model",), ("critic", "model"))
    path = next((path for path in paths if isinstance(document.node(path), Mapping)), paths[0])
    node = document.node(path)
    values = to_plain(node, resolve_omegaconf) if isinstance(node, Mapping) else {}
    assert isinstance(values, dict)
    return _Section(path, values)


def parse(document: Document) -> Parsed:
    """What verl's FSDP trainer makes of the document, as a spec.

    An adapter path wins over the rank, alpha and targets beside it. `bias` is "none" and the task type CAUSAL_LM; the
    whole model is cast to one dtype.
    """
    section = _section(document)
    moved: dict[DocumentPath, DocumentPath] = {
        ("base_model",): section.place(section.base_key),
        ("lora",): section.path,
        ("lora", "target_modules", "regex"): section.place("target_modules"),
        ("lora", "exclude_modules", "regex"): section.place("exclude_modules"),
        **{("lora", field): section.place(key) for key, field in KEYS.items()},
    }
    places = Places(document, moved, core=False)
    misplaced = (*_misplaced(document, section, places), *_null_rank(section, places))
    suspects = frozenset(("lora", KEYS[key]) for _, key in misplaced if key is not None)
    values: dict[str, Any] = {"lora": _lora(section, suspects), "prepare": _prepare(document, section, moved)}
    if (base := section.values.get(section.base_key)) is not None:
        values["base_model"] = base
    left_open = _natively(moved, frozenset(open_paths(document.root)))
    if "base_model" not in values and document.node(("defaults",)) is not None:  # Hydra composes the rest
        left_open |= {("base_model",)}
    return parse_values(
        values,
        places,
        open_paths=left_open,
        dialect=NAME,
        already=(*document.diagnostics, *(diagnostic for diagnostic, _ in misplaced)),
        suspects=suspects,
    )


def _lora(section: _Section, suspects: frozenset[DocumentPath]) -> dict[str, Any]:
    """The adapter; where the rank is in doubt, what else is said of it is looked at as well."""
    path, rank = section.get("lora_adapter_path"), section.get("lora_rank")
    if isinstance(path, str):
        return {"adapter_path": path}
    if rank == 0 and not isinstance(rank, bool) and ("lora", "rank") not in suspects:
        return {"rank": 0} if path is None else {"adapter_path": path}
    lora = {field: section.get(key) for key, field in KEYS.items() if section.get(key) is not None}
    for field in ("target_modules", "exclude_modules"):
        value = lora.get(field)
        if isinstance(value, str) and (field, value.lower()) != ("target_modules", "all-linear"):
            lora[field] = {"regex": value}  # PEFT takes any other text for a regex
        elif isinstance(value, dict):
            lora[field] = {}  # the native form {regex: …}, which verl hands on to PEFT as it is
    return {**lora, "bias": "none", "task_type": "CAUSAL_LM"}


def _prepare(document: Document, section: _Section, moved: dict[DocumentPath, DocumentPath]) -> dict[str, Any]:
    """The dtype is cast as `model.to(dtype)` does; verl checkpoints gradients by default, never reentrant."""
    checkpoint = section.get("enable_gradient_checkpointing")
    prepare: dict[str, Any] = {
        "dtype": "auto",
        "adapter_dtype": "auto",
        "cast_buffers": True,
        "gradient_checkpointing": True if checkpoint is None else checkpoint,
    }
    moved["prepare", "gradient_checkpointing"] = section.place("enable_gradient_checkpointing")
    for path in DTYPE_PATHS:
        node = document.node(path)
        if node is not None and (dtype := to_plain(node, resolve_omegaconf)) is not None:
            prepare["dtype"] = DTYPES.get(str(dtype), dtype)
            moved["prepare", "dtype"] = path
    return prepare


def _natively(moved: dict[DocumentPath, DocumentPath], left_open: frozenset[DocumentPath]) -> frozenset[DocumentPath]:
    """The native paths whose values are left open."""
    return frozenset(
        (*native, *path[len(users) :])
        for native, users in moved.items()
        for path in left_open
        if native != ("lora",) and path[: len(users)] == users
    )


# --- what the schema of the native document cannot see -----------------------------------------------------------------


_Misplaced: TypeAlias = tuple[Diagnostic, str | None]
"""A diagnostic, and verl's key that was probably meant."""


def _misplaced(document: Document, section: _Section, places: Places) -> Iterator[_Misplaced]:
    """LoRA settings under a name or at a place where verl does not look; other keys are none of our business."""
    for key in section.values:
        foreign = ("lora", key) if key in NATIVE_ONLY else native_name(key)
        is_lora = foreign is not None and foreign[0] == "lora" and foreign != ("lora",)
        near = closest(key, KEYS) if key.lower().startswith(("lora", "target", "exclude")) else None
        if key in KEYS or key == "lora" or not (is_lora or near):
            continue
        theirs = near or next((k for k, field in KEYS.items() if foreign and field == foreign[-1]), None)
        yield _unknown(section.place(key), key, theirs, section, places), theirs
    for key in set(KEYS) - {"target_modules", "exclude_modules"} if isinstance(document.root, Mapping) else ():
        if document.node((key,)) is not None:
            message = f"verl does not read {key} at the top"
            yield at_key(places, (key,), faults.UNKNOWN_KEY, message, f"move it to {dotted(section.place(key))}"), key


def _unknown(path: DocumentPath, key: str, theirs: str | None, section: _Section, places: Places) -> Diagnostic:
    message = f"unknown key {key} in {dotted(path[:-1])}"
    fixes: tuple[Fix, ...] = ()
    if theirs is None:
        remedy = "verl has no such setting for LoRA: remove it"
    elif theirs in section.values:
        remedy = f"{theirs} is set already: remove {key}"
    else:
        remedy, fixes = f"did you mean {theirs}?", places.renaming(path, theirs)
    return at_key(places, path, faults.UNKNOWN_KEY, message, remedy, fixes)


def _null_rank(section: _Section, places: Places) -> Iterator[_Misplaced]:
    if "lora_rank" in section.values and section.values["lora_rank"] is None:
        message = "lora_rank must be a whole number, not null: verl compares it with 0 and stops"
        yield at_value(places, ("lora", "rank"), faults.WRONG_TYPE, message, "write 0 to turn LoRA off"), "lora_rank"


def traps(parsed: Parsed) -> Iterator[Diagnostic]:
    """What verl itself does otherwise than the document says."""
    document = parsed.places.document
    if document is None:
        return
    section = _section(document)
    yield from _other_backend(document, section, parsed)
    if section.get("lora_adapter_path") is not None and parsed.knows(("lora", "rank")):
        yield from _adapter_rank(section, parsed)


def _adapter_rank(section: _Section, parsed: Parsed) -> Iterator[Diagnostic]:
    """The rank beside an adapter path: ignored by the legacy trainer, needed by the engine, and equal to the
    adapter's where it is given.
    """
    rank, at = section.get("lora_rank"), ("lora", "adapter_path")
    adapter = read_adapter_folder(str(section.get("lora_adapter_path")))
    theirs = adapter.rank if adapter else None
    if rank == 0 and section.is_engine:
        remedy = (
            f"add lora_rank: {theirs}"
            if theirs
            else "add lora_rank with the adapter's rank (r in its adapter_config.json)"
        )
        message = "lora_adapter_path is ignored while lora_rank is 0: verl trains all parameters of the base model"
        yield at_value(parsed.places, at, PATH_IGNORED, message, remedy)
    elif isinstance(rank, int) and rank > 0 and theirs is not None and rank != theirs:
        message = f"lora_rank is {rank} but the adapter's rank is {theirs}"
        fixes = parsed.places.replacement(("lora", "rank"), theirs)
        yield at_value(parsed.places, ("lora", "rank"), RANK_DIFFERS, message, f"write lora_rank: {theirs}", fixes)


def _other_backend(document: Document, section: _Section, parsed: Parsed) -> Iterator[Diagnostic]:
    block = section.values.get("lora")
    if not isinstance(block, dict) or _is_megatron(document):
        return
    rank = block.get("rank")
    if (
        isinstance(rank, int)
        and rank > 0
        and section.get("lora_rank") == 0
        and section.get("lora_adapter_path") is None
    ):
        message = f"lora.rank: {rank} is Megatron's; verl's FSDP backend does not read it and trains all parameters"
        remedy = f"write lora_rank: {rank} in {dotted(section.path)}"
        yield at_value(parsed.places, (*section.path, "lora", "rank"), OTHER_BACKEND, message, remedy)


def _is_megatron(document: Document) -> bool:
    """Whether the document says that Megatron runs it."""
    for path in (("actor_rollout_ref", "actor", "strategy"), ("engine", "strategy"), ("model", "strategy")):
        node = document.node(path)
        if node is not None and to_plain(node, resolve_omegaconf) == "megatron":
            return True
    return any(
        document.node(path)
        for path in (("actor_rollout_ref", "actor", "megatron"), ("engine", "tensor_model_parallel_size"))
    )
