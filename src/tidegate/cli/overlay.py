"""`tidegate overlay`: peers that serve topics themselves."""

import typer

from tidegate.cli import overlay_node, overlay_simulate

app = typer.Typer(
    help="Peers that tell each other what is published, without a service in between.", no_args_is_help=True
)
app.command()(overlay_simulate.simulate)
app.command()(overlay_node.node)


@app.callback()
def _group() -> None: ...
