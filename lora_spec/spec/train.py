"""The `train` section: what the memory estimate needs to know, and nothing else reads."""

from typing import Annotated, Literal

from pydantic import Field

from lora_spec.base import StrictModel


class Train(StrictModel):
    """The run's shape, for the memory estimate alone."""

    world_size: Annotated[int, Field(ge=1)] | None = None
    """Processes, one device each."""
    batch_size: Annotated[int, Field(ge=1)] | None = None
    """Sequences in a micro-batch on one device."""
    sequence_length: Annotated[int, Field(ge=1)] | None = None
    """Tokens in a sequence."""
    optimizer: Literal["adamw", "adamw_8bit", "sgd", "adafactor"] | None = None
    """The optimizer, for the bytes of its state."""
