"""`tidegate overlay`: peers that serve topics themselves."""

import typer

from tidegate.cli import overlay_node

app = typer.Typer(help="Peers that tell each other what is published, without a service.", no_args_is_help=True)
app.command()(overlay_node.node)


@app.callback()
def _group() -> None: ...
