"""The `serve` section: what the adapter must fit when it is served."""

from typing import Annotated, Literal

from pydantic import Field

from lora_spec.base import StrictModel


class Serve(StrictModel):
    """Where the adapter will be served."""

    engine: Literal["vllm", "sglang", "llama.cpp"]
    """The engine."""
    max_lora_rank: Annotated[int, Field(ge=1)] | None = None
    """The largest rank that the engine is started for."""
