"""Cyclon swaps links: what it names comes from the view, and nobody is lost or doubled."""

import numpy as np
import pytest

from tests.overlay.poldercast.twins import entries, fill, listed, timed
from tidegate.overlay.poldercast.cyclon import answer_swap, close_swap, open_swap
from tidegate.overlay.poldercast.state import BEGINNING
from tidegate.workload.alias import random_state

NOBODY = np.full(4, -1, np.int32)


@pytest.mark.parametrize("seed", range(5))
def test_the_oldest_is_written_to_and_taken_out_and_some_others_are_named_with_their_ages(seed: int) -> None:
    view, out, sent = entries([], 6), entries([], 4), NOBODY.copy()
    fill(view, [3, 9, 5, 7], [4, 1, 2, 6])
    assert open_swap(view, BEGINNING + 10, sent, random_state(seed), out) == 9
    assert sorted(listed(view)) == [3, 5, 7]
    # One place of four is the sender's own.
    assert timed(out) == {3: 6, 5: 8, 7: 4}
    assert sorted(sent.tolist()) == [-1, 3, 5, 7]


def test_who_knows_nobody_writes_to_nobody() -> None:
    assert open_swap(entries([], 6), BEGINNING, NOBODY.copy(), random_state(0), entries([], 4)) == -1


def test_all_of_the_same_age_are_chosen_sooner_or_later() -> None:
    state, chosen = random_state(1), set()
    for _ in range(60):
        view = entries([], 6)
        fill(view, [1, 2, 3])
        chosen.add(int(open_swap(view, BEGINNING, NOBODY.copy(), state, entries([], 4))))
    assert chosen == {1, 2, 3}


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_takes_in_the_sender_and_those_it_named_in_place_of_those_it_names(seed: int) -> None:
    view, out = entries([], 6), entries([], 4)
    before = [1, 2, 3, 4, 5, 6]
    fill(view, before)
    answer_swap(view, 0, BEGINNING, NOBODY, 10, entries([11, 12, 0, 3], 4, [5, 5, 5, 5]), random_state(seed), out)
    named, after = set(listed(out)), set(listed(view))
    assert len(named) == 4
    assert named <= set(before)
    assert {10, 11, 12} <= after
    assert 0 not in after
    assert len(after) == 6
    assert set(before) - named <= after


def test_a_closed_swap_keeps_what_it_did_not_send_and_knows_nobody_twice() -> None:
    view, sent = entries([], 6), np.array([1, 2, -1, -1], np.int32)
    fill(view, [1, 2, 3, 4, 5, 6], [0, 0, 7, 0, 0, 0])
    close_swap(view, 0, BEGINNING + 9, sent, entries([20, 3, 21, 22], 4, [1, 1, 1, 1]))
    # There were two to make room, and one entry was known: as of the later time.
    assert set(listed(view)) == {20, 21, 3, 4, 5, 6}
    assert timed(view)[3] == BEGINNING + 8
    assert sent.tolist() == [-1] * 4
