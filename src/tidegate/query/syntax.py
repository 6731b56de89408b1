"""From the text of a subscription to its syntax tree, or to an error that says where the text breaks off.

Only the shape is looked at here; what the leaves mean is read in `condition`.
"""

from functools import cache
from itertools import takewhile
from typing import Literal, NamedTuple, TypeAlias

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from tidegate.errors import QueryError


class Group(NamedTuple):
    """An inner node, never directly inside another one of its kind."""

    kind: Literal["and", "or", "not"]
    children: "tuple[Node, ...]"
    start_pos: int
    depth: int


Node: TypeAlias = Group | Token
"""A leaf is the token itself: its text, `type` (WORD, PHRASE, PLACE or FIELD) and `start_pos`."""

_OPERATORS = ("_OR", "_AND", "NOT")


def syntax_tree(text: str) -> Node:
    """Return the tree of a query, in linear time and without recursion; raise `QueryError` if it has none."""
    try:
        # Lark's stubs know nothing of a transformer that runs while parsing.
        tree: Node = _grammar().parse(text)  # type: ignore[assignment]
    except UnexpectedCharacters as error:
        problem = "the quotation mark is not closed"
        raise QueryError(problem, text, error.pos_in_stream or 0, "add a closing quotation mark") from None
    except UnexpectedToken as error:
        raise _broken_off(text, error.token) from None
    return tree


def depth_of(node: Node) -> int:
    """Return the number of groups on the longest way from the node to a leaf.

    >>> depth_of(syntax_tree("a OR (b -c)")), depth_of(syntax_tree("((((a))))"))
    (3, 0)
    """
    return node.depth if isinstance(node, Group) else 0


def position_of(node: Node) -> int:
    """Return where in the query the node begins."""
    return node.start_pos or 0


class _Grower(Transformer[Token, Node]):
    """Builds the tree while lark reduces, so that depth of nesting costs no recursion."""

    def alternatives(self, children: list[Node]) -> Node:
        return _flat("or", children)

    def conditions(self, children: list[Node]) -> Node:
        return _flat("and", children)

    def exclusion(self, children: list[Node]) -> Node:
        operator, child = children
        if isinstance(child, Group) and child.kind == "not":
            return child.children[0]
        return Group("not", (child,), position_of(operator), depth_of(child) + 1)


def _flat(kind: Literal["and", "or"], children: list[Node]) -> Group:
    members: list[Node] = []
    for child in children:
        if isinstance(child, Group) and child.kind == kind:
            members.extend(child.children)
        else:
            members.append(child)
    return Group(kind, tuple(members), position_of(members[0]), max(map(depth_of, members)) + 1)


@cache
def _grammar() -> Lark:
    # Built at the first query: it takes some 20 ms that an import should not.
    return Lark.open("grammar.lark", rel_to=__file__, parser="lalr", lexer="basic", transformer=_Grower())


def _broken_off(text: str, unexpected: Token) -> QueryError:
    """Return the error that says why the parser could not go on at this token."""
    at_end = unexpected.type == "$END"
    # Lazily: what follows may not even be tokens.
    read = [*takewhile(lambda token: at_end or token.start_pos != unexpected.start_pos, _grammar().lex(text))]
    last = read[-1] if read else None
    if last is None and at_end:
        return QueryError("the query is empty", text, 0, "write a word, for example: storm")
    if last is not None and last.type in _OPERATORS:
        hint = f"add a word after '{last}', or leave it out"
        return QueryError(f"'{last}' has nothing after it", text, position_of(last), hint)
    if unexpected.type in _OPERATORS:
        hint = f"add a word before '{unexpected}'; to search for the word itself, quote it"
        return QueryError(f"'{unexpected}' has nothing before it", text, position_of(unexpected), hint)
    if last is not None and last.type == "LPAR" and not at_end:
        return QueryError("the parentheses are empty", text, position_of(last), "write a word in them")
    if unexpected.type == "RPAR":
        return QueryError("there is no '(' to this ')'", text, position_of(unexpected), "remove it")
    return QueryError("a closing parenthesis is missing", text, _innermost_open(read), "add ')'")


def _innermost_open(tokens: list[Token]) -> int:
    """Return the position of the last opening parenthesis that is never closed."""
    open_at: list[int] = []
    for token in tokens:
        if token.type == "LPAR":
            open_at.append(position_of(token))
        elif token.type == "RPAR":
            open_at.pop()
    return open_at[-1]
