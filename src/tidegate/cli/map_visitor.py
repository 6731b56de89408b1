"""The visitor of the demonstration who draws a rectangle on a map while the stream runs, and what comes of it."""

import time
from collections import Counter
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from tidegate.query.region import Rectangle
from tidegate.store.match_table import MatchTable
from tidegate.store.store import Store
from tidegate.workload import words

_PLACE: Final = next(place for place in words.PLACES if place.name == "Paris")
_QUERY: Final = "storm OR concert OR election OR pizza OR train"
# Degrees from the middle of the town to the sides: half of its posts are beyond them.
_REACH: Final = 0.12
_COLUMNS, _ROWS = 48, 12
_MARKS: Final = " ·∘○●"


class MapVisitor:
    """Draws one rectangle around a town, asks for some topics within it, and looks at what was found."""

    def __init__(self, store: Store) -> None:
        """Do nothing yet."""
        self._store = store
        south, north = _PLACE.lat - _REACH, _PLACE.lat + _REACH
        west, east = _PLACE.lon - 1.5 * _REACH, _PLACE.lon + 1.5 * _REACH
        self.rectangle = Rectangle(round(west, 3), round(south, 3), round(east, 3), round(north, 3))
        self.subscription: str | None = None
        self._drawn = 0.0

    def draw(self) -> None:
        """Subscribe to the rectangle, the first time."""
        if self.subscription is None:
            self.subscription = self._store.subscribe("map visitor", _QUERY, region=self.rectangle)
            self._drawn = time.time()

    def show(self, console: Console, matches: MatchTable) -> None:
        """Print the map with what was found in the rectangle."""
        if self.subscription is None:
            return
        found = matches.of_subscription(self.subscription, ["ts", "text", "lat", "lon"])
        w, s, e, n = self.rectangle.west, self.rectangle.south, self.rectangle.east, self.rectangle.north
        console.print(
            f"[bold]A rectangle drawn on the map[/] around {_PLACE.name} while posts went by: ({_QUERY}) "
            f"in:({w},{s},{e},{n}): [bold]{found.num_rows:,}[/] matches since",
            highlight=False,
        )
        if found.num_rows:
            console.print(self._map(found), highlight=False)
            first = found.sort_by("ts").slice(0, 1).to_pylist()[0]
            waited = (first["ts"] - datetime.fromtimestamp(self._drawn, UTC)).total_seconds()
            where = f"{first['lat']:.3f}, {first['lon']:.3f}"
            console.print(Text(f"the first, written {max(waited, 0):.1f} s later at {where}: {first['text']}"))

    def _map(self, found: pa.Table) -> Text:
        """A character for every part of the rectangle: the more posts are from there, the larger."""
        box = self.rectangle
        counted: Counter[tuple[int, int]] = Counter()
        for lat, lon in zip(found.column("lat").to_pylist(), found.column("lon").to_pylist(), strict=True):
            column = min(int((lon - box.west) / (box.east - box.west) * _COLUMNS), _COLUMNS - 1)
            row = min(int((box.north - lat) / (box.north - box.south) * _ROWS), _ROWS - 1)
            counted[row, column] += 1
        inside = (
            "".join(_MARKS[min(counted[row, column], len(_MARKS) - 1)] for column in range(_COLUMNS))
            for row in range(_ROWS)
        )
        line = "─" * _COLUMNS
        return Text("\n".join([f"┌{line}┐", *(f"│{row}│" for row in inside), f"└{line}┘"]))
