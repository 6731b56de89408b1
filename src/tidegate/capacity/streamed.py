"""The first stage of provisioning over pairs on disk, of which there are never more in memory than a batch has.

Pairs come grouped by subscriber. What is chosen depends on the pairs alone, so it can be gone over again: to say on
which machine every pair is, the second time.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tidegate.capacity.demand import Mended, check_threshold
from tidegate.capacity.fewest import MOST_SUMS, Sums, best_of, fewest_row, no_sums
from tidegate.capacity.packing import Parts
from tidegate.capacity.pair_files import PairFiles
from tidegate.capacity.pairs import greedy_row, key_of, random_row
from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.errors import ConfigError
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit

_REPEATED, _SILENT, _IDLE, _SUBSCRIBERS, _PAIRS, _LEAST, _BACK = range(7)
_FIRST_ROOM: Final = 1 << 16
_GREEDY, _LEAST_EVENTS, _RANDOM = range(3)
_ID_BITS: Final = 31
_ID: Final = (1 << _ID_BITS) - 1
_AHEAD: Final = 32
"""So many pairs before its turn, what is known of a topic is asked for: with millions of them it is far away."""


@dataclass(frozen=True)
class Chosen:
    """What the first stage comes to."""

    events: Int64
    """By topic."""
    counts: Int64
    """By topic: its chosen pairs."""
    subscribers: int
    pairs: int
    """That there are to choose from."""
    least_events: int
    """That must come in and go out, whatever is chosen."""
    mended: Mended


class Stage:
    """Chooses pairs so that everybody gets `satisfied_by` events, or all: greedily, or at random by a seed.

    Subscribers of whom the files tell a threshold of their own get that instead. If `least`, what is chosen brings as
    few events as can be.
    """

    def __init__(self, files: PairFiles, satisfied_by: int, seed: int | None = None, *, least: bool = False) -> None:
        """Choose from these pairs."""
        check_threshold(satisfied_by)
        self._files = files
        self._satisfied_by = satisfied_by
        self._seed = seed
        self._how = _RANDOM if seed is not None else _LEAST_EVENTS if least else _GREEDY
        self._counts = np.zeros(len(files.events), np.int64)
        self._needed = np.zeros(len(files.events), np.bool_)
        self._tally = np.zeros(_BACK + 1, np.int64)
        self._silent_topics = 0

    def run(self) -> Iterator[tuple[Int32, Int32]]:
        """Yield chosen pairs, subscribers and topics, as batches come."""
        events, own = self._files.events, self._files.own_thresholds
        self._counts[:], self._needed[:], self._tally[:] = 0, False, 0
        # A topic's events and who had it last, in one number: most of the time is spent on waiting for memory.
        known = events << _ID_BITS
        met = np.zeros(_FIRST_ROOM, np.bool_)
        state = np.array([0 if self._seed is None else self._seed], np.uint64)
        sums = no_sums(max(self._satisfied_by, int(own.max(initial=0))))
        for who, what in _ahead(_whole_rows(self._files.batches())):
            if what.max() >= len(events):
                raise self._files.without_rate()
            if who.max() >= len(met):
                met = np.concatenate((met, np.zeros(max(len(met), int(who.max()) + 1 - len(met)), np.bool_)))
            chosen_who, chosen_what = np.empty_like(who), np.empty_like(what)
            n = _chosen(
                who, what, events, self._satisfied_by, own, self._how, state, sums, known, met, self._counts,
                self._needed, self._tally, chosen_who, chosen_what,
            )  # fmt: skip
            if n < 0:
                raise ConfigError(
                    f"subscriber {self._tally[_BACK]:,} comes back after others: sort the pairs by subscriber"
                )
            yield chosen_who[:n], chosen_what[:n]
        self._silent_topics = int(np.count_nonzero((events == 0) & (known > 0)))

    def chosen(self) -> Chosen:
        """Return what was chosen, after `run` is at its end."""
        events, tally = self._files.events, self._tally
        mended = Mended(int(tally[_REPEATED]), self._silent_topics, int(tally[_SILENT]), int(tally[_IDLE]))
        least = int(tally[_LEAST]) + int(events[self._needed].sum())
        return Chosen(events, self._counts, int(tally[_SUBSCRIBERS]), int(tally[_PAIRS]), least, mended)


def chosen_pairs(files: PairFiles, satisfied_by: int, *, least: bool = False) -> Chosen:
    """Choose greedily or, if `least`, the fewest events, and keep how many pairs of each topic are chosen."""
    stage = Stage(files, satisfied_by, least=least)
    for _ in stage.run():
        pass
    return stage.chosen()


def kept_in_memory(stage: Stage) -> Csr:
    """Choose, and return by subscriber, in the order they have on disk, the chosen topics."""
    none = np.empty(0, np.int32)
    who, what = (np.concatenate(column) for column in zip((none, none), *stage.run(), strict=True))
    starts = np.flatnonzero(np.append(True, who[1:] != who[:-1])) if len(who) else np.empty(0, np.int64)
    return Csr(np.append(starts, len(who)).astype(np.int64), what)


def placed_pairs(stage: Stage, parts: Parts, topics: int) -> Iterator[tuple[Int32, Int32, Int32]]:
    """Choose again, and yield machines, topics and subscribers: the pairs of a topic fill its parts as they come.

    Parts are filled by the numbers of their machines, in whatever order they were packed: the same pairs and parts give
    the same places.
    """
    order = np.lexsort((parts.machine, parts.topic))
    machines, left = parts.machine[order], parts.pairs[order].copy()
    following = offsets_of(np.bincount(parts.topic, minlength=topics))[:-1].copy()
    for who, what in stage.run():
        yield _placed(what, machines, left, following), what, who


def _ahead(batches: Iterator[tuple[Int32, Int32]]) -> Iterator[tuple[Int32, Int32]]:
    """Read the next batch while one is worked on."""
    with ThreadPoolExecutor(1, "pairs") as reader:
        following = reader.submit(next, batches, None)
        while (batch := following.result()) is not None:
            following = reader.submit(next, batches, None)
            yield batch


def _whole_rows(batches: Iterator[tuple[Int32, Int32]]) -> Iterator[tuple[Int32, Int32]]:
    """Cut batches where one subscriber ends and the next begins."""
    kept: list[tuple[Int32, Int32]] = []
    for who, what in batches:
        if not len(who):
            continue
        begins = len(who) - int(np.argmax(who[::-1] != who[-1])) if who[0] != who[-1] else 0
        if kept and kept[0][0][-1] != who[0]:
            yield _joined(kept)
            kept = []
        if begins:
            yield _joined([*kept, (who[:begins], what[:begins])])
            kept = []
        kept.append((who[begins:], what[begins:]))
    if kept:
        yield _joined(kept)


def _joined(pieces: list[tuple[Int32, Int32]]) -> Any:
    return pieces[0] if len(pieces) == 1 else tuple(np.concatenate(column) for column in zip(*pieces, strict=True))


@njit(cache=True, nogil=True)
def _chosen(
    who: Int32,
    what: Int32,
    events: Int64,
    satisfied_by: int,
    own: Int64,
    how: int,
    state: Any,
    sums: Sums,
    known: Int64,
    met: Any,
    counts: Int64,
    needed: Any,
    tally: Int64,
    chosen_who: Int32,
    chosen_what: Int32,
) -> int:
    """Choose from whole rows; -1 if a subscriber has been there before."""
    row = np.empty(_FIRST_ROOM, np.int32)
    rates, keys = np.empty(_FIRST_ROOM, np.int64), np.empty(_FIRST_ROOM, np.int64)
    at, n = 0, 0
    while at < len(who):
        one = who[at]
        if met[one]:
            tally[_BACK] = one
            return -1
        met[one] = True
        size, wanted, least = 0, 0, np.iinfo(np.int64).max
        while at < len(who) and who[at] == one:
            if at + _AHEAD < len(who):
                prefetch(known, what[at + _AHEAD])
            topic = what[at]
            at += 1
            rate = known[topic] >> _ID_BITS
            if known[topic] & _ID == one + 1:
                tally[_REPEATED] += 1
                continue
            known[topic] = rate << _ID_BITS | (one + 1)
            if rate == 0:
                tally[_SILENT] += 1
                continue
            if size == len(row):
                row = np.concatenate((row, np.empty(size, np.int32)))
                rates = np.concatenate((rates, np.empty(size, np.int64)))
                keys = np.empty(2 * size, np.int64)
            row[size], rates[size] = topic, rate
            size += 1
            wanted += rate
            least = min(least, rate)
        if size == 0:
            tally[_IDLE] += 1
            continue
        threshold = min(wanted, own[one] if one < len(own) and own[one] > 0 else satisfied_by)
        tally[_SUBSCRIBERS] += 1
        tally[_PAIRS] += size
        begin = n
        if threshold == wanted:
            least = wanted
            chosen_what[n : n + size] = row[:size]
            n += size
        elif threshold <= MOST_SUMS:
            best = best_of(rates[:size], threshold, sums)
            least = best.events
            if how == _LEAST_EVENTS:
                n = fewest_row(row, rates, best, sums, chosen_what, n)
        else:
            least = max(threshold, least)
        tally[_LEAST] += least
        for i in range(size):
            if wanted - rates[i] < threshold:
                needed[row[i]] = True
        if n == begin and how == _RANDOM:
            n = random_row(row[:size], events, threshold, state, chosen_what, n)
        elif n == begin:
            for i in range(size):
                keys[i] = key_of(row[i], rates[i])
            n = greedy_row(keys[:size], threshold, chosen_what, n)
        for i in range(begin, n):
            chosen_who[i] = one
            counts[chosen_what[i]] += 1
    return n


@njit(cache=True, nogil=True)
def _placed(what: Int32, machines: Int32, left: Int64, following: Int64) -> Int32:
    placed = np.empty(len(what), np.int32)
    for i in range(len(what)):
        part = following[what[i]]
        if left[part] == 0:
            part += 1
            following[what[i]] = part
        left[part] -= 1
        placed[i] = machines[part]
    return placed
