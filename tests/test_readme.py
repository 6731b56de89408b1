"""What the README shows is what happens."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_program_in_the_readme_gives_the_matches_it_shows() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    *setting_up, last = program.strip().splitlines()
    expression, _, shown = last.partition("#")
    names: dict[str, object] = {}
    exec("\n".join(setting_up), names)
    assert repr(eval(expression, names)) == shown.strip()
