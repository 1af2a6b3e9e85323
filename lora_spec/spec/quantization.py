"""The `quantization` section: the base model in 4 or 8 bit."""

from typing import Literal

from lora_spec.base import StrictModel
from lora_spec.spec.prepare import Dtype


class Quantization(StrictModel):
    """Load the base model quantised by bitsandbytes."""

    bits: Literal[4, 8]
    """Bits of the base weights."""
    quant_type: Literal["nf4", "fp4"] = "nf4"
    """4-bit data type."""
    double_quant: bool = True
    """Quantise the 4-bit scales as well."""
    compute_dtype: Dtype | None = None
    """Dtype that 4-bit layers compute in. Absent: `prepare.dtype`."""
