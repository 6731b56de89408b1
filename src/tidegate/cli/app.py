"""The command `tidegate`: parse, call, format. What the commands do lives in the rooms they call."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from tidegate.cli import subscriptions as subscription_commands
from tidegate.errors import TidegateError

app = typer.Typer(
    name="tidegate",
    help="Standing queries over social streams: match every post against millions of subscriptions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(subscription_commands.app, name="subscriptions")

_STORE = typer.Option(envvar="TIDEGATE_STORE", help="The folder or address of the subscriptions.")


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
    subscriptions: Annotated[int, typer.Option(min=1, help="Generated subscriptions to make.")] = 100_000,
    posts_per_second: Annotated[int, typer.Option(min=1, help="How fast the synthetic microblog writes.")] = 2_000,
    seconds: Annotated[float, typer.Option(min=5, max=600, help="How long the stream runs.")] = 45.0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same posts and subscriptions.")] = 1,
    into: Annotated[Path, typer.Option(help="Where the store and the matches go.")] = Path("tidegate-demo"),
) -> None:
    """Run the main job for a minute: a synthetic microblog on local Spark, and subscribers who come and go."""
    from tidegate.cli.demonstration import Demo, demonstrate

    demonstrate(Console(), Demo(into, subscriptions, posts_per_second, seconds, seed))


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
    name: Annotated[
        str, typer.Argument(help="Which benchmark: text, index, pipeline, route, drift, shed, spatial, adjust or rank.")
    ],
    scale: Annotated[str, typer.Option(help="small (within a minute), paper or max.")] = "small",
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything generated.")] = 1,
    json: Annotated[Path | None, typer.Option(help="Write the figures to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the figures to this file.")] = None,
    posts: Annotated[
        Path | None,
        typer.Option("--posts", "--objects", help="Real posts (Parquet with a column text; spatial: lat and lon too)."),
    ] = None,
    plan: Annotated[
        str | None, typer.Option(help="Kinds of plans to run on Spark (pipeline), as in: hash,salb,headtail.")
    ] = None,
    graph: Annotated[
        Path | None, typer.Option(help="A real follow graph (rank; Parquet: src follows dst), thinned and run besides.")
    ] = None,
) -> None:
    """Run a benchmark: the papers' figures beside ours, answers checked while they are timed."""
    from tidegate.bench.registry import run_bench

    # Tables have many columns: only a terminal is a reason to squeeze them.
    console = Console(width=None if sys.stdout.isatty() else 160)
    plans = () if plan is None else tuple(kind.strip() for kind in plan.split(","))
    run_bench(console, name, scale, seed, json_path=json, plot_path=plot, posts=posts, plans=plans, graph=graph)


@app.command()
def run(
    posts: Annotated[str, typer.Option(help="Where posts come from, as in: parquet:posts/, kafka://HOST:PORT/TOPIC.")],
    matches: Annotated[str, typer.Option(help="Where matches go, as in: delta:matches/, json:matches/, console:.")],
    store: Annotated[str, _STORE] = "subscriptions",
    checkpoint: Annotated[str | None, typer.Option(help="Where to keep how far the job is; beside the store.")] = None,
    trigger: Annotated[str, typer.Option(help="How often a batch starts, as in 500ms; 0: without a pause.")] = "1s",
    once: Annotated[bool, typer.Option("--once", help="Take the posts that are there, and end.")] = False,
    plan: Annotated[
        str | None,
        typer.Option(help="How matching is spread: replicate, hash:N, or learned: headtail:N, hybrid:N, …."),
    ] = None,
    train: Annotated[
        int, typer.Option(min=100, help="A plan that is learned is learned from so many posts.")
    ] = 100_000,
    relearn_every: Annotated[str | None, typer.Option(help="Learn the plan anew so often, as in 12h; never.")] = None,
    relearn_decay: Annotated[
        float | None,
        typer.Option(min=0.01, help="Learn it anew when spread times imbalance has grown by this share, as in 0.2."),
    ] = None,
    per_host: Annotated[int, typer.Option(min=1, help="The matchers of one host, which share its memory.")] = 8,
    host_memory: Annotated[
        float | None, typer.Option(min=0.001, help="Memory of a host for subscriptions, in GB; without it, any.")
    ] = None,
    shed_beyond: Annotated[
        int | None, typer.Option(min=1, help="Give up the least promising visits when more posts (or files) wait.")
    ] = None,
    shed_from: Annotated[
        float,
        typer.Option(min=1, help="Matchers a post may visit at the first of eight levels; one at the last."),
    ] = 7.0,
    shed_by: Annotated[str, typer.Option(help="What promises: subscriptions, or consensus.")] = "subscriptions",
    id: Annotated[str, typer.Option(help="The column with a post's id.")] = "id",  # noqa: A002
    text: Annotated[str, typer.Option(help="The column with its text.")] = "text",
    author: Annotated[str | None, typer.Option(help="The column with its author.")] = None,
    lang: Annotated[str | None, typer.Option(help="The column with its language.")] = None,
    lat: Annotated[str | None, typer.Option(help="The column with its degrees north.")] = None,
    lon: Annotated[str | None, typer.Option(help="The column with its degrees east.")] = None,
    carry: Annotated[str | None, typer.Option(help="The columns that matches keep, as in: id,text (all).")] = None,
    schema: Annotated[str | None, typer.Option(help="The columns of posts, as in: 'id string, text string'.")] = None,
    metrics_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Serve Prometheus metrics on this port of loopback; 0: do not.")
    ] = 0,
    master: Annotated[str, typer.Option(help="Where Spark runs, as in: local[4], spark://HOST:PORT.")] = "local[*]",
    conf: Annotated[list[str] | None, typer.Option(help="A setting of Spark, name=value; any number.")] = None,
    for_: Annotated[float | None, typer.Option("--for", min=0, help="Stop after so many seconds.")] = None,
) -> None:
    """Match posts as they come, until it is stopped: by Ctrl-C, a signal, or its own time."""
    from tidegate.cli import running
    from tidegate.route.plan import Plan
    from tidegate.spark.columns import Columns
    from tidegate.spark.job import Job, usual_checkpoint
    from tidegate.spark.relearning import Schedule
    from tidegate.spark.run import Settings

    opened = subscription_commands.existing_store(store)
    settings = Settings(
        checkpoint or usual_checkpoint(opened, posts, matches),
        running.seconds(trigger),
        once,
        Columns(id, text, author, lang, lat, lon),
        None if carry is None else tuple(name.strip() for name in carry.split(",")),
        shed_beyond=shed_beyond,
        shed_from=shed_from,
        shed_by=running.shedding(shed_by),
    )
    wanted = None if plan is None else Plan.parse(plan)
    job = Job(
        posts,
        matches,
        opened,
        settings,
        schema,
        wanted,
        Schedule(train, None if relearn_every is None else running.seconds(relearn_every), relearn_decay),
        None if wanted is None else running.cluster(wanted.matchers, per_host, host_memory),
        {"spark.master": master, **running.settings(conf or ())},
        metrics_port or None,
        for_,
    )
    running.run(Console(), job)


@app.command()
def learn(
    posts: Annotated[
        str, typer.Option(help="The history of the stream, as in: parquet:posts/, kafka://HOST:PORT/TOPIC.")
    ],
    store: Annotated[str, _STORE] = "subscriptions",
    matchers: Annotated[int, typer.Option(min=1, max=4096, help="The matchers (cores) that the plan is for.")] = 8,
    plan: Annotated[
        str, typer.Option(help="What to learn: replicate, hash, salb, headtail, hybrid, …; auto: the best of them.")
    ] = "auto",
    sample: Annotated[int, typer.Option(min=10, help="So many posts are drawn from the history.")] = 1_000_000,
    per_host: Annotated[int, typer.Option(min=1, help="The matchers of one host, which share its memory.")] = 8,
    host_memory: Annotated[
        float | None, typer.Option(min=0.001, help="Memory of a host for subscriptions, in GB; without it, any.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what was chosen, from what, and why.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Learn, but do not publish the plan.")] = False,
    id: Annotated[str, typer.Option(help="The column with a post's id.")] = "id",  # noqa: A002
    text: Annotated[str, typer.Option(help="The column with its text.")] = "text",
    author: Annotated[str | None, typer.Option(help="The column with its author.")] = None,
    lang: Annotated[str | None, typer.Option(help="The column with its language.")] = None,
    lat: Annotated[str | None, typer.Option(help="The column with its degrees north.")] = None,
    lon: Annotated[str | None, typer.Option(help="The column with its degrees east.")] = None,
    schema: Annotated[str | None, typer.Option(help="The columns of posts, as in: 'id string, text string'.")] = None,
    master: Annotated[str, typer.Option(help="Where Spark runs, as in: local[4], spark://HOST:PORT.")] = "local[*]",
    conf: Annotated[list[str] | None, typer.Option(help="A setting of Spark, name=value; any number.")] = None,
) -> None:
    """Learn from posts where words and subscriptions should live, and let jobs follow that plan."""
    from tidegate.cli import learning, running
    from tidegate.spark.columns import Columns
    from tidegate.spark.learning import Lesson

    cluster = running.cluster(matchers, per_host, host_memory)
    learning.learn(
        Console(width=None if sys.stdout.isatty() else 160),
        learning.Learning(
            posts,
            schema,
            Columns(id, text, author, lang, lat, lon),
            subscription_commands.existing_store(store),
            Lesson(cluster, learning.wanted_plan(plan, matchers), sample),
            {"spark.master": master, **running.settings(conf or ())},
            not dry_run,
            explain,
        ),
    )


@app.command()
def status(
    store: Annotated[str, _STORE] = "subscriptions",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    letters: Annotated[int, typer.Option(min=0, help="So many of the last dead letters are shown.")] = 3,
    feeds: Annotated[Path | None, typer.Option(help="The state folder of feeds: show how each fares.")] = None,
) -> None:
    """Show a store: its subscriptions, plan and segments, the jobs on it, and what was set aside."""
    from json import dumps

    from tidegate.cli.status import show_status, status_of

    about = status_of(subscription_commands.existing_store(store), letters, feeds)
    if json:
        typer.echo(dumps(about, indent=2))
    else:
        show_status(Console(width=None if sys.stdout.isatty() else 160), about)


def main() -> None:
    """Run the command line; what Tidegate refuses is one line and exit code 2, never a traceback."""
    try:
        app()
    except TidegateError as error:
        Console(stderr=True).print(f"[bold red]tidegate:[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(2)
