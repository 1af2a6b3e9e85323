"""Settings that do nothing, or something other than they seem to say."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import DocumentPath, Rule, Severity
from lora_spec.inventory.local_paths import is_folder, local_path
from lora_spec.rules.inspection import Finding, Inspection, drafted, new_adapter
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value

NO_EFFECT = Rule(
    "LS141",
    "no-effect",
    Severity.WARNING,
    "The setting is read by nothing while another one is as it is. Either the other was forgotten, or this can go.",
    "lora: {rank: 16, alpha: 32, qalora_group_size: 32}",
    "lora: {rank: 16, alpha: 32, use_qalora: true, qalora_group_size: 32}",
)
LAYERS_WITHOUT_EFFECT = Rule(
    "LS142",
    "layers-without-effect",
    Severity.ERROR,
    "PEFT takes an empty layer list for all layers, and it applies layer selections and exclusions to modules alone, "
    "never to target_parameters. More layers would train than the file says.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], layers_to_transform: []}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], layers_to_transform: [0, 1]}",
)


def inspect_layers(parsed: Parsed) -> Iterator[Finding]:
    """Selections that select nothing."""
    lora = new_adapter(parsed)
    if lora is None:
        return
    places = parsed.places
    if lora.layers_to_transform == () and parsed.knows(("lora", "layers_to_transform")):
        message = "layers_to_transform is empty, which PEFT takes for all layers"
        path: DocumentPath = ("lora", "layers_to_transform")
        yield at_value(places, path, LAYERS_WITHOUT_EFFECT, message, "name the layers, or remove it to adapt them all")
    if not lora.target_parameters or lora.target_modules:
        return
    for field, what in (("layers_to_transform", "a layer selection"), ("exclude_modules", "an exclusion")):
        if getattr(lora, field):
            message = f"{field} has no effect: PEFT does not apply {what} to target_parameters"
            remedy = "name the parameters with their layers: model.layers.0.mlp.experts.down_proj"
            yield at_value(places, ("lora", field), LAYERS_WITHOUT_EFFECT, message, remedy)


_LORA_NEEDS = (
    ("megatron_core", "megatron_config", "megatron_core is used with megatron_config alone"),
    ("qalora_group_size", "use_qalora", "qalora_group_size is used with use_qalora: true alone"),
)
_DDP_IGNORES = (
    "wrap_classes",
    "replicate",
    "shard",
    "reshard_after_forward",
    "cpu_offload",
    "param_dtype",
    "reduce_dtype",
)
_FOUR_BIT = ("quant_type", "double_quant", "compute_dtype")


def inspect_options(parsed: Parsed) -> Iterator[Finding]:
    """Options of something that is not switched on."""
    spec, places = drafted(parsed), parsed.places
    lora = new_adapter(parsed)
    for field, switch, why in _LORA_NEEDS:
        if lora is not None and field in lora.model_fields_set and not getattr(lora, switch):
            yield at_value(
                places, ("lora", field), NO_EFFECT, f"{field} has no effect: {why}", f"set {switch}, or remove it"
            )
    if spec.revision is not None and parsed.knows(("base_model",)) and is_folder(local_path(spec.base_model)):
        message = "revision has no effect: base_model is a local folder, which is read as it is"
        yield at_value(places, ("revision",), NO_EFFECT, message, "remove it, or name the hub id")
    fsdp = spec.prepare.fsdp
    for field in _DDP_IGNORES if fsdp and fsdp.strategy == "ddp" else ():
        if fsdp and field in fsdp.model_fields_set:
            message = f"{field} has no effect with strategy: ddp, which keeps whole copies"
            yield at_value(
                places, ("prepare", "fsdp", field), NO_EFFECT, message, "write strategy: fsdp2, or remove it"
            )
    quantization = spec.quantization
    for field in _FOUR_BIT if quantization and quantization.bits == 8 else ():
        if quantization and field in quantization.model_fields_set:
            message = f"{field} has no effect with bits: 8"
            yield at_value(places, ("quantization", field), NO_EFFECT, message, "write bits: 4, or remove it")


RULES = (NO_EFFECT, LAYERS_WITHOUT_EFFECT)
INSPECTIONS = (
    Inspection((LAYERS_WITHOUT_EFFECT,), (("lora", "target_modules"), ("lora", "target_parameters")), inspect_layers),
    Inspection((NO_EFFECT,), (), inspect_options),
)
