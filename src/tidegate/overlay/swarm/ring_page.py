"""The ring of one topic as it forms, cycle by cycle, as a page of its own that fetches nothing."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any, Final

import numpy as np

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.overlay.poldercast.entries import peer_in
from tidegate.overlay.poldercast.ringcast import pair_of
from tidegate.overlay.swarm.swarm import Swarm

SEEN_WELL: Final = 48
"""Peers of the topic that is drawn if none is named, as nearly as there is one."""


@dataclass
class RingPage:
    """Pictures of a ring in a swarm, one for every time that it is looked at."""

    swarm: Swarm
    topic: int
    frames: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, swarm: Swarm, topic: int | None = None) -> "RingPage":
        """Draw the ring of this topic, or of one that can be seen well."""
        sizes = np.diff(swarm.subscribers.offsets)
        if topic is None:
            topic = int(np.abs(sizes - SEEN_WELL).argmin())
        if not 0 <= topic < len(sizes) or sizes[topic] == 0:
            raise ConfigError(f"nobody follows topic {topic}: give one of 0 to {len(sizes) - 1} that somebody follows")
        return cls(swarm, topic)

    @cached_property
    def peers(self) -> Int64:
        """Who follows the topic, in the order of ids."""
        return self.swarm.subscribers.row(self.topic).astype(np.int64)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {peer: place for place, peer in enumerate(self.peers.tolist())}

    def look(self, cycle: int) -> None:
        """Take a picture."""
        rings, half = self.swarm.nodes.rings, self.swarm.settings.rings.view // 2
        pairs = [pair_of(self.swarm.nodes, peer, self.topic) for peer in self.peers.tolist()]
        self.frames.append(
            {
                "cycle": cycle,
                "up": "".join(str(int(here)) for here in self.swarm.up[self.peers]),
                "after": [self._placed(int(rings[pair, 0])) for pair in pairs],
                "before": [self._placed(int(rings[pair, half])) for pair in pairs],
            }
        )

    def html(self) -> str:
        """Return the page."""
        angles = self.swarm.nodes.ids[self.peers] / 2.0**64 * 2 * np.pi
        data = {
            "title": f"Topic {self.topic}: {len(self.peers)} peers find their ring",
            "peers": self.peers.tolist(),
            "angles": [round(angle, 4) for angle in angles.tolist()],
            "frames": self.frames,
        }
        page = files("tidegate.overlay.swarm").joinpath("ring_page.html").read_text("utf-8")
        # A closing tag in the data would end it.
        return page.replace("__DATA__", json.dumps(data, separators=(",", ":")).replace("</", "<\\/"))

    def _placed(self, entry: int) -> int:
        return self._place.get(int(peer_in(entry)), -1) if entry >= 0 else -1
