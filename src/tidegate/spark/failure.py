"""Why a streaming query failed, in one line: Spark's own account is a page, and the reason is somewhere on it."""

import re

_TRACEBACK = "Traceback (most recent call last):\n"
_CAUSE = re.compile(r"^(?:Caused by)?: (?:[\w$]+\.)*[\w$]+: (.+)$", re.MULTILINE)
_ERROR = re.compile(r"^(?:\w+\.)*\w+(?:: (.*))?$")
_HEADER = re.compile(r"\[STREAM_FAILED\].*?terminated with exception: ")
# Where the traceback passed through, the innermost first: whatever happens in a batch happens inside the sink.
_STAGES = {
    r"/tidegate/spark/sources/": "source",
    r"/tidegate/spark/receive\.py": "receive",
    r"/tidegate/spark/worker\.py\", line \d+, in route": "route",
    r"/tidegate/spark/worker\.py\", line \d+, in match": "match",
    r"/tidegate/spark/ranked_worker\.py": "rank",
    r"/tidegate/spark/changes\.py\", line \d+, in check": "check",
    r"/tidegate/spark/sinks\.py": "sink",
    r"/tidegate/store/": "store",
}


def failure(account: str) -> str:
    """Return the stage that failed, as far as it shows, and the last line of its error.

    >>> failure('... Traceback (most recent call last):\\n  File "/lib/tidegate/spark/sinks.py", line 9, in write\\n'
    ...         'tidegate.errors.StoreError: matches: the disk is full\\n SQLSTATE: 39000')
    'stage sink failed: matches: the disk is full'
    >>> failure('... Traceback (most recent call last):\\n  File "run.py", line 9, in save\\n'
    ...         'py4j.protocol.Py4JJavaError: An error occurred while calling o7.save.\\n'
    ...         ': java.io.IOException: the disk is full\\n\\tat Disk.write(Disk.java:7)')
    'the stream failed: the disk is full'
    """
    stage = next((name for frame, name in _STAGES.items() if re.search(frame, account)), None)
    return f"{f'stage {stage}' if stage else 'the stream'} failed: {_reason(account)}"


def _reason(account: str) -> str:
    before, found, block = account.rpartition(_TRACEBACK)
    causes: list[str] = _CAUSE.findall(account)
    if not found:
        return causes[-1] if causes else _first_line(_HEADER.sub("", account))
    line = next((line for line in block.splitlines() if line and not line.startswith(" ")), _first_line(before))
    error = _ERROR.match(line)
    if error is None:
        return line
    if line.startswith(("py4j.", "pyspark.")) and causes:
        return causes[-1]
    # Tidegate's own errors are sentences for a user; of others the kind is part of what they say.
    return error[1] if error[1] and line.startswith(("tidegate.", "pyspark.")) else line


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
