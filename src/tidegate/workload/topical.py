"""Subscriptions to topics (S³-TM §6.1): each asks for some words of one topic: they are short, and many are alike."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from tidegate.csr import Csr, Int32, from_rows, offsets_of
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.workload.alias import State, next_word, random_state, sample
from tidegate.workload.terms import uniform, zipf

_LONGEST: Final = 5
_LENGTH_SKEW: Final = 0.5


def topic_subscriptions(topics: Sequence[Sequence[str]], n: int, seed: int) -> tuple[Csr, list[str]]:
    """Draw `n` sets of distinct words; return them as places in the list of all topics' words, and that list.

    A set is of one topic, any as likely as the others. It has 1 to 5 words, by a Zipf law of exponent 0.5, or all of
    its topic where that has fewer. The same arguments give the same sets.

    >>> sets, words = topic_subscriptions([["rain", "storm"], ["goal"]], 4, seed=2)
    >>> [[words[place] for place in sets.row(i)] for i in range(4)]
    [['goal'], ['goal'], ['goal'], ['storm', 'rain']]
    """
    if not topics:
        raise ConfigError("subscriptions to no topics: at least 1 topic is needed")
    for number, topic in enumerate(topics):
        if not topic:
            raise ConfigError(f"topic {number} has no words: each of the {len(topics)} topics needs at least 1")
    words = list(dict.fromkeys(word for topic in topics for word in topic))
    places = {word: place for place, word in enumerate(words)}
    decks = from_rows([dict.fromkeys(places[word] for word in topic) for topic in topics])
    state = random_state(seed)
    topic_of = sample(uniform(decks.rows), n, state)
    lengths = np.minimum(sample(zipf(_LONGEST, _LENGTH_SKEW), n, state) + 1, np.diff(decks.offsets)[topic_of])
    offsets = offsets_of(lengths)
    sets = Csr(offsets, np.empty(offsets[-1], np.int32))
    _deal(decks, topic_of, state, sets)
    return sets, words


@njit(cache=True)
def _deal(decks: Csr, deck_of: Int32, state: State, hands: Csr) -> None:
    """Fill every hand from its deck, which is shuffled only as far as a hand goes, from where the last one left it."""
    cards = decks.values
    for i in range(len(deck_of)):
        top, bottom = decks.offsets[deck_of[i]], decks.offsets[deck_of[i] + 1]
        for k in range(hands.offsets[i], hands.offsets[i + 1]):
            other = top + np.int64(next_word(state) % np.uint64(bottom - top))
            cards[top], cards[other] = cards[other], cards[top]
            hands.values[k] = cards[top]
            top += 1
