"""The page on delivery: what it shows is run, in a folder of its own, against the processes that it starts."""

import base64
import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.process import free_port
from tests.survival.process import Process
from tidegate.deliver.database import Database
from tidegate.deliver.signature import signed
from tidegate.deliver.webhook_secrets import WebhookSecrets

PAGE = Path(__file__).parent.parent / "docs" / "delivery.md"
PROGRAM = "import sys; from tidegate.cli.app import main; sys.argv[0] = 'tidegate'; main()"


def blocks(language: str, page: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def commands(block: str) -> list[list[str]]:
    """The arguments of the commands of a console."""
    return [shlex.split(line)[1:] for line in re.findall(r"^\$ (tidegate .*)$", block, re.MULTILINE)]


class Reader:
    """Whoever reads the page and does what it says, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # So that one finds the other: the page has the usual port, and another may be using that.
        self.port = free_port()
        self.page = PAGE.read_text().replace("8080", str(self.port))

    def do(self, *command: str, seconds: float = 120) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
            env=self._environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tidegate(self, *arguments: str) -> str:
        return self.do(sys.executable, "-c", PROGRAM, *arguments)

    @contextlib.contextmanager
    def running(self, *arguments: str) -> Iterator[None]:
        process = Process(
            [sys.executable, "-c", PROGRAM, *arguments],
            self.folder / f"{arguments[0]}.log",
            {"PYTHONPATH": self._environment["PYTHONPATH"]},
            folder=self.folder,
        )
        try:
            yield
        finally:
            process.kill()

    def wait_for_service(self) -> None:
        self.do(
            "curl",
            "-sf",
            "--retry",
            "60",
            "--retry-connrefused",
            "--retry-delay",
            "1",
            f"http://127.0.0.1:{self.port}/healthz",
        )

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.slow
def test_the_page_about_delivery_shows_what_happens(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    start, rules_commands, sending, linked = blocks("console", reader.page)
    serve, run, deliver = commands(start)
    sign_up, subscribe, live, inbox, prefer = blocks("sh", reader.page)
    follow, check, retain = blocks("python", reader.page)
    (script,) = blocks("javascript", reader.page)
    with contextlib.ExitStack() as processes:
        processes.enter_context(reader.running(*serve, "--port", str(reader.port)))
        reader.wait_for_service()
        processes.enter_context(reader.running(*run))
        reader.do("bash", "-c", sign_up)
        said = reader.do("bash", "-c", subscribe)
        made, accepted = said[: said.index('{"ids"')], said[said.index('{"ids"') :]
        assert json.loads(made)["subscription"]["tags"] == ["weather"]
        assert json.loads(accepted) == {"ids": ["p1", "p2"]}
        assert reader.do(sys.executable, "-c", follow, seconds=180) == "1 Storms reach the harbour of Kiel\n"
        shown = reader.do("bash", "-c", f"sed -u '/^data:.*p1/q' < <({live.strip()} --max-time 60 2> /dev/null)")
        (pattern,) = blocks("text", reader.page)
        assert re.match(re.escape(pattern.strip()).replace("…", ".*"), shown)
        if shutil.which("node"):
            shown_once = "(one) => { console.log(one.id); process.exit(); }"
            telling = f'follow("http://127.0.0.1:{reader.port}", process.argv[1], {shown_once})'
            key = (tmp_path / "ana.key").read_text().strip()
            assert reader.do("node", "-e", f"{script}\n{telling}", key) == "p1\n"
        told, marked, counts = map(json.loads, reader.do("bash", "-c", inbox).replace("}{", "}\n{").split("\n"))
        assert [one["post"]["text"] for one in told["items"]] == ["Storms reach the harbour of Kiel"]
        assert (marked, counts) == ({"marked": 1, "unread": 0}, {"total": 1, "unread": 0})
        wishes = json.loads(reader.do("bash", "-c", prefer))["preferences"]
        assert (wishes["quiet"]["until"], wishes["addresses"]["email"]) == ("07:00", "ana@example.org")

    (tmp_path / "rules.json").write_text(blocks("json", reader.page)[0])
    tested, published, shown = (reader.tidegate(*command) for command in commands(rules_commands))
    assert tested.startswith("inbox\nemail\n")
    assert "are in force, as version" in published
    assert "storms ring" in shown
    assert "1 notifications decided" in reader.tidegate(*deliver, "--once")
    for command, line in re.findall(r"tidegate (deliver|serve) (.*)", sending + linked):
        helped = reader.tidegate(command, "--help")
        assert all(option in helped for option in re.findall(r"--[a-z-]+", line))

    url = f"sqlite:///{tmp_path}/tidegate.db"
    body, secret = b'{"id": "1"}', WebhookSecrets(Database.open(url)).current("ana")
    assert secret is not None
    headers = signed([secret], "1", int(time.time()), body)
    request = json.dumps([secret, headers, base64.b64encode(body).decode()])
    judged = """
import json, sys
secret, headers, body = json.loads(sys.argv[1])
body = base64.b64decode(body)
print(is_genuine(secret, headers, body), is_genuine(secret, headers, body + b" "))
"""
    assert reader.do(sys.executable, "-c", f"{check}\n{judged}", request) == "True False\n"
    assert reader.do(sys.executable, "-c", retain) == "Forgotten(notifications=0, history=0, posts=0)\n"
