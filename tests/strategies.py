"""Hypothesis strategies over a small world, in which matches are frequent: queries, their trees, and posts.

A tree is evaluated here by hand-written tables (stems, places), independent of what the package computes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st

from tidegate.errors import QueryError
from tidegate.query.conjunction import Query
from tidegate.query.parse import parse
from tidegate.query.semantics import PostView
from tidegate.text.analyzer import Analyzer

STEMS = {
    "storm": "storm",
    "storms": "storm",
    "stormy": "stormi",
    "flood": "flood",
    "flooding": "flood",
    "rain": "rain",
    "rains": "rain",
    "warning": "warn",
}
"""The words of the world, with their English stems."""

STOP_WORDS = ("the", "of")
SIGNS = ("#storm", "#rain", "@esa")
UNKNOWN = ("kiel", "42", "don't", "#none")

PLACES = {
    "in:(0,0,10,10)": {(5.0, 5.0), (10.0, 0.0), (0.0, 0.0)},
    "in:(170,-20,-170,20)": {(0.0, 180.0), (0.0, -175.0)},
    "in:(-180,-20,-170,20)": {(0.0, 180.0), (0.0, -175.0)},
    "near:(0,0,800)": {(5.0, 5.0), (0.0, 0.0)},
    "within:(-2 -3,9 3,3 9)": {(5.0, 5.0), (0.0, 0.0)},
}
"""Regions, and which of `POINTS` are in them."""

POINTS = ((5.0, 5.0), (10.0, 0.0), (0.0, 0.0), (0.0, 180.0), (0.0, -175.0), (-60.0, 60.0))
NO_POINTS = ((None, None), (5.0, None), (200.0, 5.0), (float("nan"), 5.0))


@dataclass(frozen=True)
class Leaf:
    """One condition: the texts that all spell it, and whether a post meets it."""

    spellings: tuple[str, ...]
    is_met_by: Callable[[PostView], bool]


@dataclass(frozen=True)
class Branch:
    """`kind` is "and", "or" or "not"."""

    kind: str
    children: "tuple[Tree, ...]"


Tree: TypeAlias = Leaf | Branch


def holds(tree: Tree, post: PostView) -> bool:
    """Evaluate a tree as it stands, without any normal form."""
    if isinstance(tree, Leaf):
        return tree.is_met_by(post)
    values = [holds(child, post) for child in tree.children]
    return not values[0] if tree.kind == "not" else all(values) if tree.kind == "and" else any(values)


def text_of(tree: Tree) -> str:
    """Write a tree in the subscription language, in its first spelling."""
    if isinstance(tree, Leaf):
        return tree.spellings[0]
    if tree.kind == "not":
        return f"-({text_of(tree.children[0])})"
    return "(" + {"and": " ", "or": " OR "}[tree.kind].join(map(text_of, tree.children)) + ")"


def respellings(tree: Tree) -> st.SearchStrategy[str]:
    """Other texts that mean the same by order, repetition, case or stem."""
    if isinstance(tree, Leaf):
        texts = st.sampled_from(tree.spellings)
        return texts | texts.map(str.upper) | texts.map(str.title)
    if tree.kind == "not":
        inner = respellings(tree.children[0])
        return st.builds("{}({})".format, st.sampled_from(["-", "NOT "]), inner)
    joint = st.sampled_from([" ", " AND "] if tree.kind == "and" else [" OR "])
    order = st.permutations(tree.children)
    repeated = st.lists(st.sampled_from(tree.children), max_size=2)
    return st.tuples(order, repeated, joint).flatmap(
        lambda drawn: st.tuples(*map(respellings, [*drawn[0], *drawn[1]])).map(
            lambda texts: f"({drawn[2].join(texts)})"
        )
    )


def trees() -> st.SearchStrategy[Tree]:
    """Alternatives that each ask for something; most are accepted, a few contradict themselves."""
    anything = st.recursive(leaves(), _branches, max_leaves=5)
    alternative = st.builds(
        lambda wanted, more: Branch("and", (wanted, *more)), leaves(), st.lists(anything, max_size=2)
    )
    return st.lists(alternative, min_size=1, max_size=3).map(lambda several: Branch("or", tuple(several)))


def query_texts() -> st.SearchStrategy[str]:
    """Texts of trees; a few of them are refused."""
    return trees().flatmap(respellings)


def queries(analyzer: Analyzer) -> st.SearchStrategy[Query]:
    """Queries of the default English profile that were accepted."""

    def parsed(text: str) -> Query | None:
        try:
            return parse(text, analyzer)
        except QueryError:
            return None

    return query_texts().map(parsed).filter(lambda query: query is not None)  # type: ignore[return-value]


def posts() -> st.SearchStrategy[PostView]:
    """Posts of the same world, with repeated, unknown and no words, with and without a place."""
    words = st.sampled_from([*STEMS, *STOP_WORDS, *SIGNS, *UNKNOWN])
    cased = words | words.map(str.upper)
    text = st.tuples(st.sampled_from([" ", "\n", ", ", " - "]), st.lists(cased, max_size=9)).map(
        lambda drawn: drawn[0].join(drawn[1])
    )
    return st.builds(
        lambda text, author, lang, point: PostView(text, author, lang, *point),
        text,
        st.sampled_from([None, "nasa", "@NASA", "esa", "someone"]),
        st.sampled_from([None, "en", "en-GB", "DE"]),
        st.sampled_from([*POINTS, *NO_POINTS]),
    )


def leaves() -> st.SearchStrategy[Leaf]:
    """Every kind of leaf, plain words most often."""
    return st.one_of(
        st.sampled_from(sorted(set(STEMS.values()) - {"stormi"})).map(_word),
        st.sampled_from(sorted(set(STEMS.values()) - {"stormi"})).map(_word),
        st.sampled_from([*STEMS, *STOP_WORDS]).map(_exact_word),
        st.lists(st.sampled_from([*STEMS, *STOP_WORDS]), min_size=2, max_size=3).map(_phrase),
        st.sampled_from(["sto*", "storms*", "fl*", "#st*", "th*"]).map(_prefix),
        st.sampled_from(SIGNS).map(_sign),
        st.sampled_from(["nasa", "esa"]).map(_account),
        st.sampled_from(["en", "de"]).map(_language),
        st.sampled_from(list(PLACES)).map(_place),
    )


def _branches(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    several = st.lists(children, min_size=2, max_size=3).map(tuple)
    return st.builds(Branch, st.sampled_from(["and", "or"]), several) | children.map(
        lambda child: Branch("not", (child,))
    )


def _words(post: PostView) -> list[str]:
    return re.findall(r"[#@]?[\w']+", post.text.lower())


def _word(stem: str) -> Leaf:
    spellings = tuple(word for word, its_stem in STEMS.items() if its_stem == stem)
    return Leaf(spellings, lambda post: any(STEMS.get(word) == stem for word in _words(post)))


def _exact_word(word: str) -> Leaf:
    return Leaf((f'"{word}"',), lambda post: word in _words(post))


def _phrase(words: list[str]) -> Leaf:
    # Between bars, a phrase is a substring.
    bars = "|{}|".format
    spellings = (f'"{" ".join(words)}"', f'"{", ".join(words)}"', "-".join(words))
    return Leaf(spellings, lambda post: bars("|".join(words)) in bars("|".join(_words(post))))


def _prefix(text: str) -> Leaf:
    return Leaf((text,), lambda post: any(word.startswith(text[:-1]) for word in _words(post)))


def _sign(text: str) -> Leaf:
    return Leaf((text, f'"{text}"'), lambda post: text in _words(post))


def _account(name: str) -> Leaf:
    return Leaf((f"from:{name}", f"from:@{name}"), lambda post: (post.author or "").lower().strip("@") == name)


def _language(code: str) -> Leaf:
    return Leaf((f"lang:{code}", f"lang:{code}-AT"), lambda post: (post.lang or "").lower()[:2] == code)


def _place(text: str) -> Leaf:
    return Leaf((text, text.replace(",", " , ")), lambda post: (post.lat, post.lon) in PLACES[text])
