"""The command `tidegate`: parse, call, format. What the commands do lives in the rooms they call."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from tidegate.cli import capacities, jobs
from tidegate.cli import overlay as overlay_commands
from tidegate.cli import rules as rule_commands
from tidegate.cli import subscriptions as subscription_commands
from tidegate.cli import workload as workload_commands
from tidegate.cli.options import StoreOption
from tidegate.errors import TidegateError

app = typer.Typer(
    name="tidegate",
    help="Standing queries over social streams: match every post against millions of subscriptions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(subscription_commands.app, name="subscriptions")
app.add_typer(rule_commands.app, name="rules")
app.add_typer(workload_commands.app, name="workload")
app.add_typer(overlay_commands.app, name="overlay")

_KEEP_DAYS = typer.Option(min=0, help="Forget so many days later what came into inboxes; 0: never.")


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
    posts_per_second: Annotated[
        int | None, typer.Option(min=1, help="How fast the synthetic microblog writes: 2,000; with --serve 50.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=5, help="How long the stream runs: 45; with --serve until Ctrl-C.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same posts and subscriptions.")] = 1,
    into: Annotated[Path, typer.Option(help="Where the store and the matches go.")] = Path("tidegate-demo"),
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page beside it: posts, live feed, inbox and operator's view.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port of the page, with --serve; 0: any that is free.")
    ] = 8080,
) -> None:
    """Run the main job for a minute: a synthetic microblog on local Spark, and subscribers who come and go."""
    from tidegate.cli.demonstration import Demo, demonstrate
    from tidegate.cli.served_demonstration import demonstrate_served

    if serve:
        demonstrate_served(Console(), Demo(into, subscriptions, posts_per_second or 50, seconds, seed), port)
    else:
        demonstrate(Console(), Demo(into, subscriptions, posts_per_second or 2_000, seconds or 45.0, seed))


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
        str,
        typer.Argument(
            help="One of text, index, pipeline, route, drift, shed, spatial, adjust, rank, delivery, workload, "
            "satisfaction, provision and overlay."
        ),
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
        Path | None,
        typer.Option(
            help="A real follow graph (rank, overlay; Parquet: src follows dst), a part of which is run besides."
        ),
    ] = None,
    mutual: Annotated[
        bool, typer.Option("--mutual", help="Follows of the graph go both ways: it has each friendship once (overlay).")
    ] = False,
    churn: Annotated[
        Path | None, typer.Option(help="A trace of sessions (overlay; Parquet: node, start_s, end_s), tiled.")
    ] = None,
    latency: Annotated[
        Path | None, typer.Option(help="Round trips between places (overlay; Parquet: src, dst, rtt_ms).")
    ] = None,
) -> None:
    """Run a benchmark: the papers' figures beside ours, answers checked while they are timed."""
    from tidegate.bench.registry import run_bench

    # Tables have many columns: only a terminal is a reason to squeeze them.
    console = Console(width=None if sys.stdout.isatty() else 160)
    plans = () if plan is None else tuple(kind.strip() for kind in plan.split(","))
    run_bench(
        console,
        name,
        scale,
        seed,
        json_path=json,
        plot_path=plot,
        posts=posts,
        plans=plans,
        graph=graph,
        churn=churn,
        latency=latency,
        mutual=mutual,
    )


app.command()(jobs.run)
app.command()(jobs.rank)
app.command()(jobs.learn)
app.command()(capacities.satisfy)
app.command()(capacities.provision)


@app.command()
def deliver(
    database: Annotated[
        str, typer.Option(envvar="TIDEGATE_DATABASE", help="Where the inbox is, as in: sqlite:///inbox.db.")
    ],
    rules: Annotated[
        Path | None,
        typer.Option(envvar="TIDEGATE_RULES", help="Rules in JSON, read anew when they change; else the database's."),
    ] = None,
    store: Annotated[
        str | None, typer.Option(envvar="TIDEGATE_STORE", help="The subscriptions, for who restricts them by tags.")
    ] = None,
    smtp: Annotated[
        str | None,
        typer.Option(help="Where letters are handed in: smtp://USER@HOST:PORT, smtps://…. Else none are sent."),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", help="Whom letters are from, as in: 'Tidegate <news@example.org>'.")
    ] = None,
    links: Annotated[
        str | None,
        typer.Option(help="Where readers of letters unsubscribe: https://HOST/unsubscribe/ (and confirm: …/confirm/)."),
    ] = None,
    contact: Annotated[
        str | None, typer.Option(help="Whom push services may ask: mailto:ops@example.org. Else none are sent.")
    ] = None,
    allow: Annotated[
        list[str] | None, typer.Option(help="A network that may be called though it is not public; any number.")
    ] = None,
    skip: Annotated[
        bool, typer.Option("--skip", help="Send nothing of what is in the inbox by now, begin with what comes.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Do what can be done now, and end.")] = False,
    keep_days: Annotated[float, _KEEP_DAYS] = 90,
) -> None:
    """Send what is in the inbox by webhook, e-mail and push, as rules and subscribers want it, until it is stopped."""
    from os import environ

    from tidegate.cli.delivering import Delivery
    from tidegate.cli.delivering import deliver as start

    opened = None if store is None else subscription_commands.existing_store(store)
    password = environ.get("TIDEGATE_SMTP_PASSWORD")
    start(
        Console(),
        Delivery(
            database, rules, opened, smtp, password, from_, links, contact, tuple(allow or ()), once, skip, keep_days
        ),
    )


@app.command()
def status(
    store: StoreOption = "subscriptions",
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


@app.command()
def serve(
    store: StoreOption = "subscriptions",
    database: Annotated[
        str, typer.Option(envvar="TIDEGATE_DATABASE", help="Where inboxes are, as in: postgresql://USER@HOST/NAME.")
    ] = "sqlite:///tidegate.db",
    posts: Annotated[Path, typer.Option(help="The folder that posts handed in here go to, for run --posts json:.")] = (
        Path("posts")
    ),
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8080,
    operator_key_file: Annotated[
        Path | None, typer.Option(help="Keep an operator's key in this file; else the first one is shown once.")
    ] = None,
    requests_per_second: Annotated[float, typer.Option(min=0.1, help="How often one key may ask.")] = 50.0,
    matches_per_day: Annotated[
        float, typer.Option(min=1, help="Refuse subscriptions that are likely to match more posts a day.")
    ] = 20_000.0,
    public_address: Annotated[
        str | None,
        typer.Option(
            envvar="TIDEGATE_PUBLIC_ADDRESS",
            help="Where it is reached from outside, for links in letters: https://HOST.",
        ),
    ] = None,
    keep_days: Annotated[float, _KEEP_DAYS] = 90,
    connections: Annotated[int, typer.Option(min=8, help="Connections to the database that are kept open.")] = 16,
    site: Annotated[str, typer.Option(help="The name of this site among those that are linked.")] = "here",
    broker: Annotated[
        list[str] | None, typer.Option(help="A broker that topics live on, by hashing; the same at all sites.")
    ] = None,
    link_at: Annotated[
        list[str] | None, typer.Option(help="Wait here for another site: HOST:PORT; any number.")
    ] = None,
    link_to: Annotated[
        list[str] | None, typer.Option(help="Call another site that waits there: HOST:PORT; any number.")
    ] = None,
    link_key_file: Annotated[
        Path | None, typer.Option(help="The key that linked sites share; beyond this machine there has to be one.")
    ] = None,
    link_certificate: Annotated[
        Path | None, typer.Option(help="Links are by TLS, and this is what this site shows: certificate and key, PEM.")
    ] = None,
    link_authority: Annotated[
        Path | None, typer.Option(help="Links are by TLS, and these certificates vouch for the other site, PEM.")
    ] = None,
) -> None:
    """Serve the HTTP API: subscriptions, posts, inboxes and live feeds, until it is stopped."""
    from tidegate.cli.serving import run_service
    from tidegate.deliver.ends import Address
    from tidegate.serve.link_security import LinkSecurity
    from tidegate.serve.settings import Limits, Settings, SiteSettings

    limits = Limits(requests_per_s=requests_per_second, matches_per_day=matches_per_day)
    settings = Settings(
        store,
        database,
        posts,
        public_address=public_address,
        keep_days=keep_days,
        connections=connections,
        limits=limits,
        site=SiteSettings(
            site,
            tuple(broker or ("broker",)),
            links_at=tuple(map(Address.parse, link_at or ())),
            links_to=tuple(map(Address.parse, link_to or ())),
            security=LinkSecurity(link_key_file, link_certificate, link_authority),
        ),
    )
    run_service(Console(), settings, host, port, operator_key_file)


def main() -> None:
    """Run the command line; what Tidegate refuses is one line and exit code 2, never a traceback."""
    try:
        app()
    except TidegateError as error:
        Console(stderr=True).print(f"[bold red]tidegate:[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(2)
