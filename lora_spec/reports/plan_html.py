"""`plan` as one page that needs nothing else: no scripts, no fonts, no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from lora_spec.inventory.layout import LANGUAGE
from lora_spec.planning.values import Cell, Plan
from lora_spec.reports.plan_json import PARTS
from lora_spec.reports.plan_text import size_of
from lora_spec.spec.wording import counted

STYLE = """
:root { color-scheme: light dark; --line: #8884; --none: #8882; --some: #2b6cb0; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .6rem; text-align: right; }
th { font-weight: 600; border-bottom: 1px solid var(--line); }
td:first-child, th:first-child { text-align: left; font-family: ui-monospace, monospace; }
.map td, .map th { padding: 0; border: 1px solid var(--line); min-width: 2.6rem; height: 1.35rem; text-align: center;
  font-size: .75rem; } .map th { writing-mode: vertical-rl; transform: rotate(180deg); padding: .3rem 0;
  font-weight: 400; height: auto; white-space: nowrap; text-align: left; }
.map td:first-child, .map th:first-child { text-align: right; padding-right: .4rem; border: 0; }
.absent { background: none; border-color: transparent !important; } .left { background: var(--none); }
.scroll { overflow-x: auto; } .error { color: #c53030; } .warning { color: #b7791f; } .quiet { opacity: .7; }
"""


def plan_as_html(plan: Plan) -> str:
    """The whole page; the same plan gives the same bytes."""
    parts = [_head(plan), *_map(plan), *_tables(plan), *_memory(plan), *_diagnostics(plan)]
    title = escape(f"LoRA plan: {plan.base_model}")
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>\n'
        f"<style>{STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _head(plan: Plan) -> str:
    lines = [f"<h1>{escape(plan.base_model)}</h1>"]
    lines.append(f'<p class="quiet">{escape(plan.model_class or "structure not available")}, {plan.model_source}</p>')
    if plan.trainable_parameters is not None and plan.all_parameters:
        percent = 100 * plan.trainable_parameters / plan.all_parameters
        lines.append(
            f"<p><b>{plan.trainable_parameters:,d}</b> of {plan.all_parameters:,d} parameters train ({percent:.4f} %), "
            f"{counted(plan.adapted_modules or 0, 'module')} and {counted(plan.adapted_parameters or 0, 'parameter')} "
            "are adapted, the adapter file "
            f"has {size_of(plan.adapter_bytes)}.</p>"
        )
    lines += [f"<p>{escape(note)}</p>" for note in plan.notes]
    return "\n".join(lines)


def _map(plan: Plan) -> Iterator[str]:
    """Layers down, module kinds across; a cell says how many of its modules are adapted, its shade the rank."""
    if plan.cells:
        yield '<p class="quiet">A number is how many modules of that name the layer adapts; grey is not adapted.</p>'
    for tower in sorted(dict.fromkeys(cell.tower for cell in plan.cells), key=lambda tower: tower != LANGUAGE):
        cells = [cell for cell in plan.cells if cell.tower == tower]
        names = list(dict.fromkeys(cell.name for cell in cells))
        layers = sorted({cell.layer for cell in cells if cell.layer is not None})
        by_place = {(cell.layer, cell.name): cell for cell in cells}
        highest = max((cell.rank or 0 for cell in plan.cells), default=0) or 1
        rows = [_row(layer, names, by_place, highest) for layer in (*layers, *([None] if _outside(cells) else []))]
        heads = "".join(f"<th scope=col>{escape(name)}</th>" for name in names)
        yield f"<h2>Layers and modules: {escape(tower)}</h2>"
        yield f'<div class="scroll"><table class="map"><tr><th></th>{heads}</tr>{"".join(rows)}</table></div>'


def _outside(cells: Iterable[Cell]) -> bool:
    return any(cell.layer is None for cell in cells)


def _row(layer: int | None, names: list[str], cells: dict[tuple[int | None, str], Cell], highest: int) -> str:
    columns = "".join(_cell(cells.get((layer, name)), highest) for name in names)
    return f"<tr><td>{'outside' if layer is None else layer}</td>{columns}</tr>"


def _cell(cell: Cell | None, highest: int) -> str:
    if cell is None:
        return '<td class="absent"></td>'
    place = f"{cell.name}, {'outside the layers' if cell.layer is None else f'layer {cell.layer}'}"
    if not cell.adapted:
        return f'<td class="left" title="{escape(place)}: {cell.present} not adapted"></td>'
    shade = 25 + round(65 * (cell.rank or 0) / highest)
    title = f"{place}: {cell.adapted} of {cell.present} adapted, rank {cell.rank}"
    colour = f"background: color-mix(in srgb, var(--some) {shade}%, transparent)"
    return f'<td style="{colour}" title="{escape(title)}">{cell.adapted}</td>'


def _tables(plan: Plan) -> Iterator[str]:
    if plan.entries:
        rows = (
            (f"{e.field}: {e.entry}", f"{e.matched:,d}", e.layers, ", ".join(e.towers), f"{e.trainable_parameters:,d}")
            for e in plan.entries
        )
        yield "<h2>Entries</h2>" + _table(("entry", "matched", "layers", "in", "trainable"), rows)
    if plan.groups:
        groups = (
            (g.name, " x ".join(map(str, g.shape)), str(g.rank), f"{g.scale:g}", str(g.modules), g.layers)
            for g in plan.groups
        )
        yield "<h2>Adapted</h2>" + _table(("name", "shape", "rank", "scale", "count", "layers"), groups)
    if plan.left_out:
        left = ((x.name, f"{x.modules:,d}", x.layers, x.tower, x.reason) for x in plan.left_out)
        yield "<h2>Not adapted</h2>" + _table(("name", "count", "layers", "in", "why"), left)


def _memory(plan: Plan) -> Iterator[str]:
    if plan.memory is None:
        return
    rows = ((part, size_of(getattr(plan.memory, part))) for part in PARTS)
    span = f"{size_of(plan.memory.lower)} to {size_of(plan.memory.upper)}"
    yield f"<h2>Memory on one of {plan.memory.devices}</h2>" + _table(("part", "size"), rows) + f"<p>{span}</p>"
    for note in plan.memory.notes:
        yield f'<p class="quiet">{escape(note)}</p>'


def _diagnostics(plan: Plan) -> Iterator[str]:
    if plan.diagnostics:
        yield "<h2>Diagnostics</h2>"
    for d in plan.diagnostics:
        yield f'<p><b class="{d.severity}">{d.severity} {d.code}</b> {escape(d.message)}<br>{escape(d.help)}</p>'


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>'
