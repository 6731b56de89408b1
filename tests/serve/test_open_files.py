"""The limit of open files: raised as far as it can be, and what to do if that is not enough."""

import resource

import pytest

from tidegate.errors import ConfigError
from tidegate.serve.open_files import allow_open_files


def test_the_limit_is_raised_to_the_hard_one_and_more_is_refused_with_the_remedy() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
        assert allow_open_files() == hard
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
        with pytest.raises(ConfigError, match=r"a process may have [\d,]+: raise the hard limit .*LimitNOFILE="):
            allow_open_files(hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
