"""What every benchmark returns, prints and writes: rows with the paper's figure beside ours, and a summary."""

import json
import os
import platform
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from rich.console import Console
from rich.table import Table

from tidegate.errors import ConfigError

Scale = Literal["small", "paper", "max"]
Row = dict[str, Any]


def scale_named(name: str) -> Scale:
    """Return `name` if it is a scale, or say which there are."""
    for scale in get_args(Scale):
        if name == scale:
            return scale  # type: ignore[no-any-return]
    raise ConfigError(f"no scale is called {name!r}: choose one of {', '.join(get_args(Scale))}")


@dataclass
class Section:
    """One table or figure: a title that names the paper's, and its rows (all with the same keys)."""

    title: str
    rows: list[Row] = field(default_factory=list)
    note: str = ""


@dataclass
class Report:
    """The result of one benchmark run."""

    bench: str
    scale: Scale
    params: dict[str, Any]
    sections: list[Section] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)

    def section(self, title: str, rows: list[Row], note: str = "") -> Section:
        """Add a section and return it."""
        self.sections.append(Section(title, rows, note))
        return self.sections[-1]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; every row names its section."""
        return {
            "bench": self.bench,
            "scale": self.scale,
            "commit": _commit(),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "params": self.params,
            "rows": [{"section": s.title, **row} for s in self.sections for row in s.rows],
            "summary": self.summary,
            "notes": {s.title: s.note for s in self.sections if s.note},
        }

    def write_json(self, path: Path) -> None:
        """Write `as_json()` to `path`."""
        path.write_text(json.dumps(self.as_json(), indent=1) + "\n")

    def show(self, console: Console) -> None:
        """Print every section as a table, then the summary."""
        for section in self.sections:
            _show_rows(console, section)
        for key, value in self.summary.items():
            console.print(f"[bold]{key}[/] = {cell(value)}")


def cell(value: Any) -> str:
    """Format one value for a table: four significant digits, thousands separated, None as a dash.

    >>> [cell(v) for v in (None, 0.012345, 1234567, 98765.4321)]
    ['–', '0.01235', '1,234,567', '98,765']
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _show_rows(console: Console, section: Section) -> None:
    table = Table(title=section.title, title_justify="left", caption=section.note or None, caption_justify="left")
    for name in section.rows[0] if section.rows else ():
        numeric = any(isinstance(row[name], int | float) for row in section.rows)
        table.add_column(name, justify="right" if numeric else "left")
    for row in section.rows:
        table.add_row(*(cell(value) for value in row.values()))
    console.print(table)


def _commit() -> str | None:
    """The commit the figures belong to, where the package runs from a checkout."""
    try:
        out = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"],
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except OSError:
        return None
    return out.stdout.strip() or None
