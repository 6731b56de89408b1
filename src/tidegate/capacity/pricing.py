"""What machines and their traffic cost: prices as data."""

import json
import math
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from tidegate.errors import ConfigError

_HOUR_S: Final = 3600.0


@dataclass(frozen=True)
class Machine:
    """A kind of machine that can be rented."""

    name: str
    per_hour: float
    """Its price."""
    mbit_per_s: float
    """What it can take in and send out, together."""
    cores: int | None = None
    memory_gb: float | None = None
    """In 10⁹ bytes; lists that do without cores and memory are for traffic alone."""


@dataclass(frozen=True)
class Pricing:
    """A price list, in one currency."""

    name: str
    currency: str
    per_gb: float
    """Of traffic, in or out, in 10⁹ bytes."""
    machines: tuple[Machine, ...]

    def machine(self, name: str) -> Machine:
        """Return a kind of machine by its name."""
        for one in self.machines:
            if one.name == name:
                return one
        raise ConfigError(f"{self.name} has no machine {name!r}: it has {', '.join(m.name for m in self.machines)}")

    @classmethod
    def read(cls, where: str) -> "Pricing":
        """Read a price list: a file, or the name of one that comes along."""
        path = Path(where)
        if path.suffix == ".json" or path.exists():
            try:
                text = path.read_text()
            except OSError as error:
                raise ConfigError(f"prices cannot be read from {where}: {error.strerror}") from error
        else:
            known = sorted(one.name.removesuffix(".json") for one in _LISTS.iterdir() if one.name.endswith(".json"))
            if where not in known:
                raise ConfigError(f"there are no prices {where!r}: name a JSON file, or one of {', '.join(known)}")
            text = (_LISTS / f"{where}.json").read_text()
        try:
            return cls.from_json(json.loads(text))
        except json.JSONDecodeError as error:
            raise ConfigError(f"{where} is not JSON: {error}") from error

    @classmethod
    def from_json(cls, value: Any) -> "Pricing":
        """Read what a file says; `ConfigError` names what is wrong with it."""
        if not isinstance(value, dict) or not isinstance(value.get("machines"), list) or not value["machines"]:
            raise ConfigError("prices are an object with name, currency, per_gb and machines, at least one")
        machines = tuple(
            Machine(
                _text(one, "name", "a machine"),
                _number(one, "per_hour", f"machine {one.get('name')!r}", 0.0),
                _number(one, "mbit_per_s", f"machine {one.get('name')!r}", math.ulp(0.0)),
                _cores(one),
                _number(one, "memory_gb", f"machine {one.get('name')!r}", math.ulp(0.0))
                if "memory_gb" in one
                else None,
            )
            for one in value["machines"]
        )
        names = [one.name for one in machines]
        if len(set(names)) < len(names):
            raise ConfigError(f"two machines have the name {max(names, key=names.count)!r}")
        name = _text(value, "name", "the price list")
        return cls(name, _text(value, "currency", name), _number(value, "per_gb", name, 0.0), machines)


@dataclass(frozen=True)
class Terms:
    """What one kind of machine comes to for some demand: events are what it is told in, money what it costs."""

    machine: Machine
    pricing: Pricing
    period_s: float
    """In which the events of the demand come."""
    message_bytes: int
    billed_s: float
    """How long machines are paid for."""
    traffic_s: float | None = None
    """For how long the demand's traffic is paid: as long as the machines, unless it is known to be something else."""

    def __post_init__(self) -> None:
        """Refuse what is no time and no message."""
        for what, value in (
            ("period", self.period_s),
            ("billed time", self.billed_s),
            ("message", self.message_bytes),
            ("time of traffic", self.billed_s if self.traffic_s is None else self.traffic_s),
        ):
            if not (value > 0 and math.isfinite(value)):
                raise ConfigError(f"a {what} of {value}: it is above 0")

    @property
    def capacity(self) -> int:
        """How many events a machine can take in and send out, together, in a period."""
        return int(self.machine.mbit_per_s * 1e6 / 8 * self.period_s / self.message_bytes)

    @property
    def per_machine(self) -> float:
        """What a machine costs for the billed time."""
        return self.rent(self.machine.per_hour)

    def rent(self, per_hour: float) -> float:
        """Return what machines at this price together cost for the billed time."""
        return per_hour * self.billed_s / _HOUR_S

    @property
    def per_event(self) -> float:
        """What an event costs that comes in or goes out once a period, for the billed time."""
        paid_s = self.billed_s if self.traffic_s is None else self.traffic_s
        return self.pricing.per_gb * self.message_bytes / 1e9 * paid_s / self.period_s

    def cost(self, machines: int, events: int) -> float:
        """Return what so many machines and so many events a period cost for the billed time."""
        return self.per_machine * machines + self.per_event * events


_LISTS = files("tidegate.capacity") / "prices"


def _text(value: Any, key: str, where: str) -> str:
    if not isinstance(value, dict) or not isinstance(value.get(key), str) or not value[key]:
        raise ConfigError(f"{where} has no {key}")
    return str(value[key])


def _cores(machine: Any) -> int | None:
    cores = machine.get("cores")
    if cores is not None and (isinstance(cores, bool) or not isinstance(cores, int) or cores < 1):
        raise ConfigError(f"cores of machine {machine.get('name')!r} is {cores!r}: a whole number above 0")
    return cores


def _number(value: Any, key: str, where: str, least: float) -> float:
    number = value.get(key)
    if isinstance(number, bool) or not isinstance(number, int | float) or not least <= number < math.inf:
        raise ConfigError(f"{key} of {where} is {number!r}: a number {'above' if least else 'not below'} 0")
    return float(number)
