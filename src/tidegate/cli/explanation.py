"""`tidegate explain`: a subscription as Tidegate understands it, and why a post satisfies it."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidegate.query.conjunction import Conjunction, phrase_text
from tidegate.query.parse import parse
from tidegate.query.reason import Reason, explain
from tidegate.query.semantics import PostView
from tidegate.text.analyzer import Analyzer


def explain_query(console: Console, text: str, post: PostView | None) -> None:
    """Print the canonical form and the conjunctions of a query, and whether a post satisfies it."""
    analyzer = Analyzer()
    query = parse(text, analyzer)
    console.print(Text.assemble(("means  ", "bold"), query.canonical), soft_wrap=True)
    console.print(Text.assemble(("id     ", "bold"), query.id))
    table = Table("", "has all of", "has none of", title="Any one of these conjunctions", title_justify="left")
    for number, conjunction in enumerate(query.conjunctions, 1):
        table.add_row(str(number), Text(_wanted(conjunction)), Text(_excluded(conjunction)))
    console.print(table)
    if post is None:
        return
    reason = explain(query, post, analyzer)
    if reason is None:
        console.print(Text("the post does not match", "red"))
        return
    console.print(
        Text.assemble((f"the post matches conjunction {reason.conjunction + 1}: ", "green"), reason.canonical)
    )
    console.print(marked(post.text, reason), soft_wrap=True)


def marked(text: str, reason: Reason) -> Text:
    """Return a post's text with the spans that satisfied a query highlighted, and its other reasons behind it."""
    shown = Text(text)
    for start, end, _ in reason.spans:
        shown.stylize("bold black on yellow", start, end)
    return shown.append(f"  ({', '.join(reason.others)})", "cyan") if reason.others else shown


def _wanted(conjunction: Conjunction) -> str:
    return "  ".join([*conjunction.positive, *map(phrase_text, conjunction.phrases), *map(str, conjunction.regions)])


def _excluded(conjunction: Conjunction) -> str:
    return "  ".join(
        [*conjunction.negative, *map(phrase_text, conjunction.without_phrases), *map(str, conjunction.outside)]
    )
