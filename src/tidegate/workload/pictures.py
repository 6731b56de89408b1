"""Figures drawn, and a report of them that is one file: the pictures are inside it."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import Any, Final

from tidegate.workload.figures import Figure

_ACROSS: Final = 3
_STYLE: Final = """
body {font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222}
table {border-collapse: collapse; margin: 1rem 0}
td, th {padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: left}
td.n {text-align: right; font-variant-numeric: tabular-nums}
figure {display: inline-block; margin: .5rem}
img {width: 34rem; max-width: 100%}
"""

Table = tuple[str, Sequence[dict[str, str]]]
"""A title, and rows with the same names."""


def page(title: str, tables: Sequence[Table], figures: Sequence[Figure]) -> str:
    """Return a report as HTML."""
    body = [f"<h1>{escape(title)}</h1>"]
    for name, rows in tables:
        if rows:
            heads = "".join(f"<th>{escape(head)}</th>" for head in rows[0])
            lines = "".join(f"<tr>{''.join(_cell(value) for value in row.values())}</tr>" for row in rows)
            body.append(f"<h2>{escape(name)}</h2><table><tr>{heads}</tr>{lines}</table>")
    body.append("<h2>Figures</h2>")
    body += [
        f'<figure><img alt="{escape(figure.title)}" src="data:image/png;base64,{_encoded(figure)}"></figure>'
        for figure in figures
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def draw(figures: Sequence[Figure], path: Path) -> None:
    """Draw all figures into one picture."""
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 - it takes a second to import

    rows = ceil(len(figures) / _ACROSS)
    canvas = Canvas(figsize=(6 * _ACROSS, 4.2 * rows), layout="constrained")
    for place, figure in enumerate(figures, 1):
        _draw(canvas.add_subplot(rows, _ACROSS, place), figure)
    canvas.savefig(path, dpi=110)


def _encoded(figure: Figure) -> str:
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    canvas = Canvas(figsize=(6.2, 4.2), layout="constrained")
    _draw(canvas.add_subplot(), figure)
    picture = BytesIO()
    canvas.savefig(picture, format="png", dpi=110)
    return b64encode(picture.getvalue()).decode()


def _draw(axes: Any, figure: Figure) -> None:
    if figure.points is not None:
        axes.plot(*figure.points, ".", markersize=2, alpha=0.3, color="tab:gray", label="some of them")
    for name, (x, y) in figure.lines.items():
        axes.plot(x, y, label=name)
    if "x" in figure.log:
        axes.set_xscale("log")
    if "y" in figure.log:
        axes.set_yscale("log")
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    axes.set_title(figure.title, fontsize=10)
    axes.grid(alpha=0.3)
    if len(figure.lines) + (figure.points is not None) > 1:
        axes.legend(fontsize=8)


def _cell(value: str) -> str:
    numeric = value[:1].isdigit() or value[:1] in "-−"
    return f"<td{' class=n' if numeric else ''}>{escape(value)}</td>"
