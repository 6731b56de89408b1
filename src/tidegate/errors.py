"""The errors Tidegate raises: one small hierarchy, so that a caller can catch all of them or one kind.

Every message is meant for the person who can do something about it: what was wrong, and what would be right.
"""


class TidegateError(Exception):
    """Anything Tidegate refuses or cannot do, in a sentence fit for a user."""


class QueryError(TidegateError):
    """A subscription that is not accepted: where in its text, why, and what to write instead.

    >>> print(QueryError("a closing parenthesis is missing", "(storm flood", 0, "add ')'"))
    a closing parenthesis is missing, at character 1 of '(storm flood' (add ')')
    """

    def __init__(self, problem: str, query: str, position: int, hint: str) -> None:
        """Name the problem and the remedy; `position` counts characters of `query` from 0."""
        super().__init__(problem, query, position, hint)
        self.problem = problem
        self.query = query
        self.position = position
        self.hint = hint

    def __str__(self) -> str:
        """Return the whole message, on one line."""
        return f"{self.problem}, at character {self.position + 1} of {self.query!r} ({self.hint})"


class ConfigError(TidegateError):
    """A setting or an argument outside what is allowed."""


class PipelineError(TidegateError):
    """A pipeline that cannot be built or cannot go on: which stage, and why."""


class StoreError(TidegateError):
    """A stored file that cannot be read or written, or is of another version."""


class DamageError(StoreError):
    """A derived file that is missing, torn, foreign, altered or of another format: it has to be made anew."""
