"""`tidegate workload analyze`: what is read, and what is shown and written of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from rich.console import Console
from rich.table import Table

from tidegate.bench.report import cell
from tidegate.errors import ConfigError
from tidegate.spark.process import quiet_session, scratch_log
from tidegate.spark.workload import analyse, publications, read, subscriptions
from tidegate.workload.account import Account
from tidegate.workload.pictures import page
from tidegate.workload.social_files import PAIRS, PUBLICATIONS, SUBSCRIPTIONS, TOPICS


class Inputs(NamedTuple):
    """Where the parts of a workload are."""

    pairs: str
    topics: str
    publications: str | None
    subscriptions: str | None

    @classmethod
    def of(
        cls,
        folder: Path | None,
        pairs: str | None,
        topics: str | None,
        published: str | None,
        changed: str | None,
    ) -> Self:
        """Take a folder's parts, or those that are named."""
        if folder is not None and not folder.is_dir():
            raise ConfigError(f"{folder}: there is no such folder; `tidegate workload generate` makes one")
        named = {PAIRS: pairs, TOPICS: topics, PUBLICATIONS: published, SUBSCRIPTIONS: changed}
        if folder is not None:
            named |= {name: str(folder / name) for name in named if not named[name] and (folder / name).exists()}
        for name, option in ((PAIRS, "--pairs"), (TOPICS, "--topics")):
            if not named[name]:
                raise ConfigError(f"{folder or 'workload'}: there is no {name}; name a folder that has it, or {option}")
        return cls(str(named[PAIRS]), str(named[TOPICS]), named[PUBLICATIONS], named[SUBSCRIPTIONS])


def analyse_workload(
    console: Console, inputs: Inputs, settings: Mapping[str, str], json_path: Path | None, html_path: Path | None
) -> None:
    """Analyse on Spark, print the tables, and write what was asked for."""
    shown = Console(stderr=True).status("starting Spark")
    with shown, scratch_log() as log, quiet_session(settings, log) as spark:
        analysis = analyse(read(spark, inputs.pairs), read(spark, inputs.topics), shown.update)
        shown.update("traffic by the hour")
        published = publications(read(spark, inputs.publications)) if inputs.publications else None
        changed = subscriptions(read(spark, inputs.subscriptions)) if inputs.subscriptions else None
        shown.update("fitting power laws")
        account = Account(analysis, published, changed)
        tables = account.tables()
    for title, rows in tables.items():
        console.print(_table(title, rows))
    if json_path is not None:
        json_path.write_text(json.dumps(account.as_json(), indent=1) + "\n")
    if html_path is not None:
        told = [
            (title, [{name: cell(value) for name, value in row.items()} for row in rows])
            for title, rows in tables.items()
        ]
        html_path.write_text(page(f"Workload {inputs.pairs}", told, account.figures))


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in rows[0] if rows else ():
        table.add_column(name, justify="right" if isinstance(rows[0][name], int | float) else "left")
    for row in rows:
        table.add_row(*(cell(value) for value in row.values()))
    return table
