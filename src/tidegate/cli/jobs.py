"""The commands that run on Spark: `run`, `rank` and `learn`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tidegate.cli.options import (
    AuthorOption,
    CheckpointOption,
    ConfOption,
    ForOption,
    HostMemoryOption,
    IdOption,
    LangOption,
    LatOption,
    LonOption,
    MasterOption,
    MetricsPortOption,
    OnceOption,
    PerHostOption,
    PostsOption,
    SchemaOption,
    StoreOption,
    TextOption,
    TriggerOption,
    seconds,
)
from tidegate.cli.subscriptions import existing_store


def run(
    posts: PostsOption,
    matches: Annotated[
        str, typer.Option(help="Where matches go, as in: delta:matches/, inbox:sqlite:///inbox.db, console:.")
    ],
    store: StoreOption = "subscriptions",
    checkpoint: CheckpointOption = None,
    trigger: TriggerOption = "1s",
    once: OnceOption = False,
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
    per_host: PerHostOption = 8,
    host_memory: HostMemoryOption = None,
    shed_beyond: Annotated[
        int | None, typer.Option(min=1, help="Give up the least promising visits when more posts (or files) wait.")
    ] = None,
    shed_from: Annotated[
        float,
        typer.Option(min=1, help="Matchers a post may visit at the first of eight levels; one at the last."),
    ] = 7.0,
    shed_by: Annotated[str, typer.Option(help="What promises: subscriptions, or consensus.")] = "subscriptions",
    offload: Annotated[
        str | None,
        typer.Option(help="Under overload, tell chosen topics live and hand the others to: inbox, or overlay: peers."),
    ] = None,
    live_capacity: Annotated[
        int | None, typer.Option(min=0, help="With --offload: how many notifications can be told live in a window.")
    ] = None,
    offload_window: Annotated[str, typer.Option(help="How often topics are chosen anew, by what the last one had.")] = (
        "1h"
    ),
    satisfied_by: Annotated[
        int, typer.Option(min=1, help="Live notifications in a window that satisfy a subscriber (τ).")
    ] = 20,
    offload_goal: Annotated[
        str, typer.Option(help="b3m: as many satisfied subscribers as can be; fb3m: shares of thresholds, added up.")
    ] = "fb3m",
    offload_by: Annotated[
        str | None, typer.Option(help="The column of posts that says their topic, as in author; usual: topic.")
    ] = None,
    overlay_join: Annotated[
        list[str] | None, typer.Option(help="With --offload overlay: a peer that is there, HOST:PORT; any number.")
    ] = None,
    overlay_key_file: Annotated[
        Path | None, typer.Option(help="The key that all peers share; beyond this machine there has to be one.")
    ] = None,
    overlay_listen: Annotated[
        str, typer.Option(help="Where the job's own peer listens: HOST:PORT; port 0: any that is free.")
    ] = "127.0.0.1:0",
    overlay_advertise: Annotated[
        str | None, typer.Option(help="Where other peers reach it, if that is not where it listens: HOST:PORT.")
    ] = None,
    overlay_only: Annotated[
        bool, typer.Option("--overlay-only", help="What peers have taken does not wait in the inbox besides.")
    ] = False,
    id: IdOption = "id",  # noqa: A002
    text: TextOption = "text",
    author: AuthorOption = None,
    lang: LangOption = None,
    lat: LatOption = None,
    lon: LonOption = None,
    carry: Annotated[str | None, typer.Option(help="The columns that matches keep, as in: id,text (all).")] = None,
    schema: SchemaOption = None,
    recent: Annotated[
        int,
        typer.Option(
            min=0, help="So many recent posts are left beside the store, for estimates and dry runs; 0: none."
        ),
    ] = 5000,
    metrics_port: MetricsPortOption = 0,
    master: MasterOption = "local[*]",
    conf: ConfOption = None,
    for_: ForOption = None,
) -> None:
    """Match posts as they come, until it is stopped: by Ctrl-C, a signal, or its own time."""
    from tidegate.cli import running
    from tidegate.route.plan import Plan
    from tidegate.spark.columns import Columns
    from tidegate.spark.job import Job, usual_checkpoint
    from tidegate.spark.relearning import Schedule
    from tidegate.spark.run import Settings

    opened = existing_store(store)
    settings = Settings(
        checkpoint or usual_checkpoint(opened, posts, matches),
        seconds(trigger),
        once,
        Columns(id, text, author, lang, lat, lon),
        running.names(carry),
        shed_beyond=shed_beyond,
        shed_from=shed_from,
        shed_by=running.shedding(shed_by),
        recent=recent,
    )
    wanted = None if plan is None else Plan.parse(plan)
    job = Job(
        posts,
        matches,
        opened,
        settings,
        schema,
        wanted,
        Schedule(train, None if relearn_every is None else seconds(relearn_every), relearn_decay),
        None if wanted is None else running.cluster(wanted.matchers, per_host, host_memory),
        {"spark.master": master, **running.settings(conf or ())},
        metrics_port or None,
        for_,
        offload=running.offloading(
            offload,
            live_capacity,
            offload_window,
            satisfied_by,
            offload_goal,
            offload_by,
            running.peers(overlay_join, overlay_key_file, overlay_listen, overlay_advertise, only=overlay_only),
        ),
    )
    running.run(Console(), job)


def rank(
    posts: PostsOption,
    windows: Annotated[str, typer.Option(help="Where the best of windows go, as in: delta:windows/, console:.")],
    store: StoreOption = "subscriptions",
    checkpoint: CheckpointOption = None,
    trigger: TriggerOption = "1s",
    once: OnceOption = False,
    delay: Annotated[str, typer.Option(help="How long windows of time wait for posts that are late.")] = "10m",
    idle: Annotated[str, typer.Option(help="Forget a feed that got no post for so long; never: keep it.")] = "30d",
    buckets: Annotated[
        int, typer.Option(min=1, max=65536, help="In so many parts feeds are held; fixed once the job has begun.")
    ] = 64,
    history: Annotated[
        str | None, typer.Option(help="Posts whose words are counted first, for scores by rarity, as in: parquet:old/.")
    ] = None,
    id: IdOption = "id",  # noqa: A002
    time: Annotated[str, typer.Option(help="The column with the time it was written.")] = "ts",
    text: TextOption = "text",
    author: AuthorOption = None,
    lang: LangOption = None,
    lat: LatOption = None,
    lon: LonOption = None,
    followers: Annotated[str, typer.Option(help="The column with the followers of its author.")] = "followers",
    carry: Annotated[
        str | None, typer.Option(help="The columns to keep and to score by, as in: text,likes (all).")
    ] = None,
    schema: SchemaOption = None,
    metrics_port: MetricsPortOption = 0,
    master: MasterOption = "local[*]",
    conf: ConfOption = None,
    for_: ForOption = None,
) -> None:
    """Rank posts as they come: the best of every window, for the subscriptions that ask for that."""
    from tidegate.cli import running
    from tidegate.rank.bundle import PostColumns
    from tidegate.rank.scores import ScoreColumns
    from tidegate.spark.columns import Columns
    from tidegate.spark.job import Job, usual_checkpoint
    from tidegate.spark.ranked import RankSettings
    from tidegate.spark.run import Settings

    opened = existing_store(store)
    settings = Settings(
        checkpoint or usual_checkpoint(opened, posts, windows, ranked=True),
        seconds(trigger),
        once,
        Columns(id, text, author, lang, lat, lon),
        running.names(carry),
    )
    ranking = RankSettings(
        PostColumns(id, time, author or "author"),
        ScoreColumns(followers, lat=lat or "lat", lon=lon or "lon"),
        buckets,
        delay,
        idle=None if idle == "never" else idle,
    )
    job = Job(
        posts,
        windows,
        opened,
        settings,
        schema,
        spark={"spark.master": master, **running.settings(conf or ())},
        metrics_port=metrics_port or None,
        seconds=for_,
        ranking=ranking,
        history=history,
    )
    running.run(Console(), job)


def learn(
    posts: Annotated[
        str, typer.Option(help="The history of the stream, as in: parquet:posts/, kafka://HOST:PORT/TOPIC.")
    ],
    store: StoreOption = "subscriptions",
    matchers: Annotated[int, typer.Option(min=1, max=4096, help="The matchers (cores) that the plan is for.")] = 8,
    plan: Annotated[
        str, typer.Option(help="What to learn: replicate, hash, salb, headtail, hybrid, …; auto: the best of them.")
    ] = "auto",
    sample: Annotated[int, typer.Option(min=10, help="So many posts are drawn from the history.")] = 1_000_000,
    per_host: PerHostOption = 8,
    host_memory: HostMemoryOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what was chosen, from what, and why.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Learn, but do not publish the plan.")] = False,
    id: IdOption = "id",  # noqa: A002
    text: TextOption = "text",
    author: AuthorOption = None,
    lang: LangOption = None,
    lat: LatOption = None,
    lon: LonOption = None,
    schema: SchemaOption = None,
    master: MasterOption = "local[*]",
    conf: ConfOption = None,
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
            existing_store(store),
            Lesson(cluster, learning.wanted_plan(plan, matchers), sample),
            {"spark.master": master, **running.settings(conf or ())},
            not dry_run,
            explain,
        ),
    )
