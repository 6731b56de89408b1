"""The normal form: exclusions pushed down to the leaves and OR unfolded, within bounds checked beforehand."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

from lark import Token

from tidegate.errors import QueryError
from tidegate.query.condition import Condition, Reader
from tidegate.query.syntax import Group, Node, depth_of, position_of

Conditions: TypeAlias = frozenset[Condition]
"""A conjunction in the making."""

Alternatives: TypeAlias = frozenset[Conditions]

_ONE_PER_POST = {"from:": "author", "lang:": "language"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one subscription may cost: its text, and the conjunctions it unfolds to."""

    max_length: int = 4096
    """Characters of a query."""
    max_conjunctions: int = 64
    """Alternatives after OR is unfolded."""
    max_terms: int = 64
    """Terms, phrases and places of one conjunction together."""
    max_depth: int = 64
    """AND, OR and NOT inside each other; parentheses around nothing new do not count."""


def normal_form(tree: Node, query: str, reader: Reader, limits: Limits) -> list[Conditions]:
    """Return the conjunctions of a query, none of which implies another, or raise `QueryError`."""
    if depth_of(tree) > limits.max_depth:
        problem = f"the query is nested more than {limits.max_depth} deep"
        raise QueryError(problem, query, position_of(tree), "write it with fewer parentheses")
    return _Unfolding(query, reader, limits).run(tree)


def weakest(alternatives: Iterable[Conditions]) -> list[Conditions]:
    """Return the alternatives without those that ask for all that another one asks for, and more.

    >>> a, b = Condition("a", True), Condition("b", True)
    >>> weakest([frozenset([a, b]), frozenset([a])]) == [frozenset([a])]
    True
    """
    kept: list[Conditions] = []
    for conditions in sorted(alternatives, key=len):
        if not any(weaker <= conditions for weaker in kept):
            kept.append(conditions)
    return kept


class _Unfolding:
    """One query on its way to the normal form.

    Sets have no order, so of several problems the one that comes first in the text is reported.
    """

    def __init__(self, query: str, reader: Reader, limits: Limits) -> None:
        self.query = query
        self.reader = reader
        self.limits = limits
        self.positions: dict[Condition, int] = {}
        self.contradictions: list[tuple[int, str, str]] = []

    def run(self, tree: Node) -> list[Conditions]:
        alternatives = self.unfold(tree, True, 0)
        if alternatives is None:
            raise self.stop_word(tree)
        if not alternatives:
            position, problem, hint = min(self.contradictions)
            raise QueryError(problem, self.query, position, hint)
        exclusions = [each for each in alternatives if not any(condition.wanted for condition in each)]
        if exclusions:
            problem = "there is nothing but exclusions" + " in an alternative" * (len(alternatives) > 1)
            position = min(self.positions[condition] for each in exclusions for condition in each)
            raise QueryError(problem, self.query, position, "add a word that posts must have")
        return weakest(alternatives)

    def unfold(self, node: Node, wanted: bool, position: int) -> Alternatives | None:
        """Return the alternatives of a node (if not `wanted`: of its negation, begun at `position`).

        None is a node of stop words only: an AND does without it, anything else refuses it.
        """
        if isinstance(node, Token):
            return self.unfold_leaf(node, wanted, position)
        if node.kind == "not":
            inner = self.unfold(node.children[0], not wanted, node.start_pos)
            if inner is None:
                hint = 'quote it to exclude exactly this word, for example -"the"'
                raise QueryError("a stop word cannot be excluded", self.query, node.start_pos, hint)
            return inner
        members: list[Alternatives] = []
        for child in node.children:
            alternatives = self.unfold(child, wanted, position)
            if alternatives is not None:
                members.append(alternatives)
            elif node.kind == "or":
                raise self.stop_word(child)
        if not members:
            return None
        # De Morgan: under a negation, "and" and "or" change places.
        return self.all_of(members, node) if (node.kind == "and") is wanted else self.any_of(members, node)

    def unfold_leaf(self, leaf: Token, wanted: bool, position: int) -> Alternatives | None:
        reading = self.reader.read(leaf, self.query)
        if not reading:
            return None
        if wanted:
            position = position_of(leaf)
        else:
            # To be without a phrase is not to be without its words.
            reading = reading[:1]
        conditions = frozenset([Condition(what, wanted) for what in reading])
        for condition in conditions:
            self.positions.setdefault(condition, position)
        self.check_terms([conditions])
        return frozenset([conditions])

    def any_of(self, members: list[Alternatives], node: Group) -> Alternatives:
        alternatives: Alternatives = frozenset().union(*members)
        self.check_conjunctions(len(alternatives), node)
        return alternatives

    def all_of(self, members: list[Alternatives], node: Group) -> Alternatives:
        distinct = set(members)
        self.check_conjunctions(prod(map(len, distinct)), node)
        unfolded: set[Conditions] = {frozenset().union(*choice) for choice in product(*distinct)}
        self.check_terms(unfolded)
        return frozenset([conditions for conditions in unfolded if not self.contradicts_itself(conditions)])

    def contradicts_itself(self, conditions: Conditions) -> bool:
        """Tell whether plainly no post can meet the conditions, and keep the reason."""
        before = len(self.contradictions)
        wanted = [condition for condition in conditions if condition.wanted]
        for excluded in conditions.difference(wanted):
            if any(self.reader.entails(condition.what, excluded.what) for condition in wanted):
                problem = "no post can match: what is excluded here is also asked for"
                self.contradictions.append((self.positions[excluded], problem, "remove one of the two"))
        for field, name in _ONE_PER_POST.items():
            rivals = [each for each in wanted if isinstance(each.what, str) and each.what.startswith(field)]
            if len(rivals) > 1:
                problem = f"no post can match: it has only one {name}"
                position = max(self.positions[condition] for condition in rivals)
                self.contradictions.append((position, problem, "put OR between them, in parentheses"))
        return len(self.contradictions) > before

    def check_conjunctions(self, count: int, node: Group) -> None:
        allowed = self.limits.max_conjunctions
        if count > allowed:
            problem = f"the query unfolds to more than {allowed} alternatives"
            raise QueryError(problem, self.query, node.start_pos, "use fewer ORs, or several subscriptions")

    def check_terms(self, unfolded: Iterable[Conditions]) -> None:
        allowed = self.limits.max_terms
        too_long = [sorted(map(self.positions.__getitem__, each)) for each in unfolded if len(each) > allowed]
        if too_long:
            problem = f"more than {allowed} terms are to be met at once"
            position = min(positions[allowed] for positions in too_long)
            raise QueryError(problem, self.query, position, "use fewer words")

    def stop_word(self, node: Node) -> QueryError:
        hint = 'add another word, or quote it, for example "the"'
        return QueryError("a stop word cannot stand alone", self.query, position_of(node), hint)
