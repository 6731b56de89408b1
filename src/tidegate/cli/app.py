"""The command `tidegate`: parse, call, format. What the commands do lives in the rooms they call."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from tidegate.errors import TidegateError

app = typer.Typer(
    name="tidegate",
    help="Standing queries over social streams: match every post against millions of subscriptions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tidegate {version('tidegate')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None: ...


@app.command()
def demo(
    subscriptions: Annotated[int, typer.Option(min=1, help="Generated subscriptions to register.")] = 100_000,
    posts: Annotated[int, typer.Option(min=1, help="Generated posts to match.")] = 200_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same demonstration.")] = 1,
) -> None:
    """Match a stream of generated posts against generated subscriptions, and show what matched and why."""
    from tidegate.cli.demonstration import demonstrate

    demonstrate(Console(), subscriptions, posts, seed)


@app.command()
def explain(
    query: Annotated[str, typer.Argument(help="A subscription, as in: 'storm (coast OR harbour) -film'.")],
    post: Annotated[str | None, typer.Option(help="A post to test it on.")] = None,
    author: Annotated[str | None, typer.Option(help="The account that wrote the post.")] = None,
    lang: Annotated[str | None, typer.Option(help="The post's language, as in: en.")] = None,
    lat: Annotated[float | None, typer.Option(min=-90, max=90, help="Where the post is from: degrees north.")] = None,
    lon: Annotated[float | None, typer.Option(min=-180, max=180, help="Where the post is from: degrees east.")] = None,
) -> None:
    """Show what a subscription means, and why a post satisfies it or does not."""
    from tidegate.cli.explanation import explain_query
    from tidegate.query.semantics import PostView

    explain_query(Console(), query, None if post is None else PostView(post, author, lang, lat, lon))


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark: text or index.")],
    scale: Annotated[str, typer.Option(help="small (within a minute), paper or max.")] = "small",
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything generated.")] = 1,
    json: Annotated[Path | None, typer.Option(help="Write the figures to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the figures to this file.")] = None,
    posts: Annotated[Path | None, typer.Option(help="Real posts (Parquet with a column text).")] = None,
) -> None:
    """Run a benchmark: the papers' figures beside ours, answers checked while they are timed."""
    from tidegate.bench.registry import run_bench

    # Tables have many columns: only a terminal is a reason to squeeze them.
    console = Console(width=None if sys.stdout.isatty() else 160)
    run_bench(console, name, scale, seed, json_path=json, plot_path=plot, posts=posts)


def main() -> None:
    """Run the command line; what Tidegate refuses is one line and exit code 2, never a traceback."""
    try:
        app()
    except TidegateError as error:
        Console(stderr=True).print(f"[bold red]tidegate:[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(2)
