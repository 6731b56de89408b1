"""`tidegate serve`: the service on a port, and the first operator's key."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.serve.first_key import first_key, kept_key
from tidegate.serve.server import serve
from tidegate.serve.service import Service
from tidegate.serve.settings import Settings


def run_service(console: Console, settings: Settings, host: str, port: int, key_file: Path | None) -> None:
    """Serve until a signal comes."""
    service = Service.open(settings)
    try:
        _show_key(console, service, key_file)
        said = Text.assemble(("serving  ", "bold"), f"http://{host}:{port}")
        serve(service, host, port, lambda: console.print(said, soft_wrap=True))
    finally:
        service.close()


def _show_key(console: Console, service: Service, key_file: Path | None) -> None:
    if key_file is not None:
        issued = kept_key(service.keys, key_file)
        console.print(f"the operator's key {'was written to' if issued else 'is in'} {key_file}", soft_wrap=True)
        return
    key = first_key(service.database, service.keys)
    if key is not None:
        console.print(Text.assemble(("operator's key  ", "bold"), key), soft_wrap=True)
        console.print("It is not shown again, and makes keys for others: POST /subscribers.")
