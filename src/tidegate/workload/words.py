"""The words that generated posts and searches share: topics, places, turns of phrase, and invented words.

A few hundred words are written down here; the long tail (names, products, slang) is made of syllables.
"""

from functools import cache
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Each topic's words from common to rare; all topics have the same number, so that they tile one table.
TOPICS: Final = {
    "weather": (
        "storm rain flood wind snow thunder forecast heatwave hurricane drought fog lightning frost "
        "hail blizzard drizzle monsoon cyclone humidity sunshine rainbow tornado avalanche barometer"
    ),
    "sport": (
        "match goal team coach league final penalty striker keeper stadium marathon sprint relay "
        "trophy derby tennis cricket rugby hockey cyclist swimmer wrestling offside hattrick"
    ),
    "science": (
        "telescope comet eclipse vaccine genome galaxy rocket asteroid quantum fossil laser enzyme "
        "neutrino satellite orbit microscope bacteria supernova chemistry physics biology crater "
        "isotope plankton"
    ),
    "music": (
        "album concert guitar singer festival band vinyl remix drummer chorus melody encore playlist "
        "violin trumpet jazz techno opera ballad saxophone lyric cello soprano banjo"
    ),
    "politics": (
        "election senate minister budget vote parliament treaty mayor tax protest coalition "
        "referendum campaign ballot governor embassy sanction lobby manifesto deficit amendment veto "
        "census tariff"
    ),
    "food": (
        "pizza coffee recipe bakery noodle cheese curry chocolate tomato garlic pancake barbecue "
        "sushi bread pepper mushroom avocado dumpling cinnamon espresso lasagne paprika sourdough "
        "saffron"
    ),
    "travel": (
        "train airport flight beach hotel passport ferry island hostel luggage museum harbour cruise "
        "platform ticket backpack safari castle volcano lighthouse canyon glacier lagoon caravan"
    ),
    "technology": (
        "phone battery update server browser robot chip laptop keyboard password router drone cloud "
        "startup compiler database firewall pixel modem sensor firmware semiconductor antenna webcam"
    ),
    "nature": (
        "forest river whale eagle wolf garden meadow otter salmon beetle orchid coral squirrel falcon "
        "badger heron fern dolphin hedgehog sparrow lichen kestrel dragonfly nettle"
    ),
    "cinema": (
        "movie trailer actor director sequel premiere screenplay script comedy thriller documentary "
        "cartoon villain soundtrack casting western costume cameo animation remake cliffhanger "
        "stuntman montage prequel"
    ),
}
QUALITIES: Final = (
    "amazing huge strange quiet wild record local brilliant awful sudden perfect noisy famous tiny "
    "golden cheap broken ancient frozen gentle secret bitter electric massive lovely fragile giant "
    "rusty modern dusty"
)
ACTIONS: Final = (
    "wins closes returns breaks arrives opens disappears surprises collapses grows shines fails "
    "vanishes rises explodes freezes sells travels begins improves stalls wakes crashes survives"
)


class Place(NamedTuple):
    """A town and where it is."""

    name: str
    lat: float
    lon: float


PLACES: Final = (
    Place("London", 51.51, -0.13),
    Place("Tokyo", 35.68, 139.69),
    Place("Paris", 48.86, 2.35),
    Place("Mumbai", 19.08, 72.88),
    Place("Chicago", 41.88, -87.63),
    Place("Lagos", 6.52, 3.38),
    Place("Berlin", 52.52, 13.40),
    Place("Sydney", -33.87, 151.21),
    Place("Zürich", 47.37, 8.54),
    Place("Toronto", 43.65, -79.38),
    Place("Nairobi", -1.29, 36.82),
    Place("Kraków", 50.06, 19.94),
    Place("Lima", -12.05, -77.04),
    Place("Seoul", 37.57, 126.98),
    Place("Cairo", 30.04, 31.24),
    Place("Málaga", 36.72, -4.42),
    Place("Boston", 42.36, -71.06),
    Place("Reykjavík", 64.15, -21.94),
    Place("Suva", -18.14, 178.44),
    Place("Honolulu", 21.31, -157.86),
)

SENTENCES: Final = (
    "{quality} {topic} in {place} tonight, and the {topic} {action} again. ",
    "Breaking: {topic} {action} near {place} {tag} {link} ",
    "Did anyone else see the {quality} {topic} by {name}? ",
    "Thanks {account} for the {topic} and the {quality} {topic}! {tag} ",
    "My {topic} {action} every time {name} talks about {topic}. ",
    "No {topic}, no {topic}, only {quality} {topic} from {name} to {name}. ",
    "{name} {name} {action}: {topic} and {topic} before the {quality} {topic} ",
    "Still waiting in {place} for that {quality} {topic}... {tag} {tag} ",
    "{account} you were right about {name}, what a {topic} 🎉 ",
    "Five reasons why {quality} {topic} {action} {link} ",
    "It's the {topic} of the year: {name} meets {quality} {topic} in {place} ",
    "I can't stop thinking about that {topic}. {name}, {name} and {name} all agree. ",
)
"""Sentences with slots; each fills its topic slots from the topic of its post."""

TOPIC_SIZE: Final = 24
_CONSONANTS: Final = "bdfghjklmnprstvwz"
_VOWELS: Final = "aeiou"
_ENDINGS: Final = ("", "n", "l", "x", "rk")


def topic_words() -> list[str]:
    """All topics' words, topic after topic, `TOPIC_SIZE` each."""
    return [word for words in TOPICS.values() for word in words.split()]


@cache
def invented_words(n: int) -> pa.Array:
    """`n` pronounceable words, all different, in no order of length or letter.

    >>> invented_words(3).to_pylist()
    ['kufuwal', 'tojutark', 'gimuren']
    """
    syllables = pa.array([c + v for c in _CONSONANTS for v in _VOWELS])
    base = len(syllables)
    space = base**3 * len(_ENDINGS)
    # Multiplying by a number prime to the size of the space scatters the index and loses nothing.
    code = np.arange(1, n + 1, dtype=np.int64) * 1_234_577 % space
    code, ending = np.divmod(code, len(_ENDINGS))
    code, third = np.divmod(code, base)
    first, second = np.divmod(code, base)
    parts = [syllables.take(pa.array(part)) for part in (first, second, third)]
    return pc.binary_join_element_wise(*parts, pa.array(_ENDINGS).take(pa.array(ending)), "")


@cache
def account_names(n: int) -> pa.Array:
    """`n` account names, all different."""
    suffixes = pa.array(["", "_news", "daily", "42", "_hq"])
    return pc.binary_join_element_wise(invented_words(n), suffixes.take(pa.array(np.arange(n) % len(suffixes))), "")
