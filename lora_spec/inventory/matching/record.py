"""What is known while a match is made, kept for the report even where PEFT refuses half way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from lora_spec.inventory.matching.adapting import Values
from lora_spec.inventory.matching.names import Matcher, matcher
from lora_spec.inventory.matching.result import Adapted, Biases, RefusedError, Saved, Tokens
from lora_spec.inventory.matching.selection import Selection, written_matcher
from lora_spec.inventory.matching.settings import Settings
from lora_spec.inventory.matching.shapes import NEED_WEIGHT
from lora_spec.inventory.matching.ties import is_ambiguous
from lora_spec.inventory.tree import Kind, ModuleTree


class Record:
    """Filled step by step: ``written`` are the settings as given, ``settings`` what PEFT has made of them so far."""

    def __init__(self, tree: ModuleTree, written: Settings) -> None:
        """Start with nothing matched."""
        self.tree = tree
        self.written = written
        self.settings = written
        self.origins: dict[str, tuple[str, ...]] = {}
        self.selection = Selection((), (), {}, {}, {}, {})
        self.ranks = Values((), written.r)
        self.alphas = Values((), written.lora_alpha)
        self.modules: list[Adapted] = []
        self.parameters: list[Adapted] = []
        self.parameter_hits: dict[str, list[int]] = {}
        self.saved: list[Saved] = []
        self.tokens: list[tuple[Tokens, str]] = []
        self.biases = Biases()
        self.places = {entry: place for place, entry in reversed(list(enumerate(written.modules_to_save or ())))}

    @cached_property
    def matched(self) -> dict[str, list[int]]:
        """What target_modules matches as it is written: places by name. Nothing where it is not a regex."""
        try:
            hits = written_matcher(self.written.target_modules, self.tree, self.written)
        except RefusedError:
            return {}
        return {m.name: places for m in self.tree.modules if m.name and (places := hits(m.name))}

    def is_target(self) -> Matcher:
        """The matcher for target_modules as PEFT has settled it."""
        if self.settings.target_modules != self.written.target_modules:
            return matcher(self.settings.target_modules)
        matched = self.matched if self.settings.target_modules else {}
        return lambda name: matched.get(name, [])

    def entry(self, name: str) -> int | None:
        """The place of the entry of target_modules that brought a module."""
        if isinstance(self.written.target_modules, str):
            return None
        return next(iter(self.matched.get(name, ())), None)

    def inexact(self) -> tuple[str, ...]:
        """What of the settings is not counted here, and why."""
        return tuple(self._reasons())

    def _reasons(self) -> Iterator[str]:
        written = self.written
        init = str(written.init_lora_weights)
        for option in written.uncounted:
            yield f"{option}: its own tensors are not counted"
        if init == "mica":
            yield "init mica: it freezes half of the adapter"
        if init == "eva":
            yield "init eva: it sets the ranks when it sees the data"
        if init.startswith("pissa_niter") and any(m.rank > min(m.in_out) for m in self.modules):
            yield "init pissa: a rank above the smaller side of a layer is cut"
        if init.startswith(NEED_WEIGHT) and written.target_parameters:
            yield f"init {init}: it reads weights in a way of its own where parameters are adapted"
        names = {saved.name for saved in self.saved} | {tokens.name for tokens, _ in self.tokens}
        if written.trainable_token_indices is not None and any(_inside(name, names) for name in names):
            yield "a saved module inside a saved module, with trainable tokens: which copy of the embedding a model finds"
        attention = {module.name for module in self.modules if module.kind is Kind.ATTENTION}
        if attention and (written.target_parameters or any(_inside(name, attention) for name in names)):
            yield "multi-head attention that is adapted as a whole and wrapped inside as well"
        if is_ambiguous(self.tree, written, self.settings):
            yield "ensure_weight_tying: PEFT drops one of several targets, not the same in every run"
        odd = [entry for entry in written.modules_to_save or () if "base_model".endswith(entry)]
        odd += [entry for entry in written.modules_to_save or () if "base_model.model".endswith(entry)]
        if odd:
            yield "modules_to_save: an entry that is the end of PEFT's own base_model.model"


def _inside(name: str, names: set[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:end]) in names for end in range(1, len(parts)))
