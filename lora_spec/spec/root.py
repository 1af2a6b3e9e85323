"""The whole native document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationError, model_validator

from lora_spec.base import StrictModel
from lora_spec.diagnostics import SpecError
from lora_spec.spec.lora import Lora
from lora_spec.spec.prepare import Prepare
from lora_spec.spec.quantization import Quantization
from lora_spec.spec.serve import Serve
from lora_spec.spec.train import Train

if TYPE_CHECKING:
    from peft import LoraConfig


class LoraSpec(StrictModel):
    """A LoRA fine-tuning setup: the base model, the adapter, and how the model is prepared.

    The constructor raises ``SpecError`` with every fault that the document alone can show; ``check`` adds the rules.
    Lists, sets and dicts are taken as they come and become tuples and models.
    """

    base_model: Annotated[str, Field(min_length=1)]
    """The model to adapt: a hub id or a local folder. `tiny-qwen2` ships with the package."""
    revision: Annotated[str, Field(min_length=1)] | None = None
    """Branch, tag or commit of the base model on the hub."""
    model_class: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")] | None = None
    """The transformers class. Absent: AutoModelForCausalLM where it maps the config, else
    AutoModelForImageTextToText."""
    lora: Lora | None = None
    """The adapter. Absent: LoRA is off and all parameters train."""
    prepare: Prepare = Prepare()
    """How the model is made ready to train."""
    quantization: Quantization | None = None
    """Load the base model in 4 or 8 bit."""
    train: Train | None = None
    """The run's shape, for the memory estimate alone."""
    serve: Serve | None = None
    """What the adapter must fit when it is served."""

    def __init__(self, /, **data: Any) -> None:
        """Validate ``data``; raises ``SpecError`` with all faults at once."""
        from lora_spec.source.python_values import plain_value  # reading a file needs none of these
        from lora_spec.spec.combinations import violations
        from lora_spec.spec.parsing import parse_values

        data = plain_value(data)
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self)
        except ValidationError:
            raise SpecError(parse_values(data).diagnostics) from None
        if any(True for _ in violations(self)):
            raise SpecError(parse_values(data).diagnostics)

    @model_validator(mode="before")
    @classmethod
    def _without_notes(cls, data: Any) -> Any:
        """Leave out what is for people and editors: `$schema` and `x-…`."""
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if key != "$schema" and not str(key).startswith("x-")}
        return data

    @property
    def lora_on(self) -> bool:
        """Whether an adapter trains: a new one with a rank above 0, or one from a path."""
        return self.lora is not None and (bool(self.lora.rank) or self.lora.adapter_path is not None)

    @classmethod
    def from_file(cls, path: str | Path) -> LoraSpec:
        """Read a YAML or JSON file of any known dialect; raises ``SpecError`` with its faults, OSError without it."""
        from lora_spec.dialects.parsing import parse
        from lora_spec.source.reading import read_path

        return _spec_of(parse(read_path(path)))

    @classmethod
    def from_any(cls, source: Any) -> LoraSpec:
        """From a path, a dict or an OmegaConf object of any known dialect; raises ``SpecError`` with its faults."""
        from lora_spec.dialects.parsing import parse
        from lora_spec.source.reading import read_value

        if isinstance(source, (str, Path)):
            return cls.from_file(source)
        return _spec_of(parse(read_value(source)))

    def to_peft(self) -> LoraConfig:
        """The real ``peft.LoraConfig``; raises ``SpecError`` where the installed PEFT cannot say it, ValueError when
        LoRA is off or an adapter is continued (its config comes with it).
        """
        from lora_spec.preparation.peft_config import peft_config

        return peft_config(self)


def _spec_of(parsed: Any) -> LoraSpec:
    if parsed.spec is None:
        from lora_spec.spec.parsing import left_open

        raise SpecError((*parsed.diagnostics, *left_open(parsed)))
    spec: LoraSpec = parsed.spec
    return spec
