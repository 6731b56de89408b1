from datetime import UTC, datetime

import pytest

from tidegate.errors import ConfigError
from tidegate.spark.sources.options import Options


def test_keys_are_compared_without_case() -> None:
    assert Options("blog", {"ROWSpersecond": "5"}).integer("rowsPerSecond", least=1) == 5


def test_what_is_not_given_or_empty_is_none() -> None:
    options = Options("blog", {"limit": " "})
    assert options.text("limit") is None
    assert options.integer("limit", least=0) is None
    assert options.positive("rate") is None
    assert options.moment("start") is None


@pytest.mark.parametrize("value", ["ten", "1.5", "-1", "9"])
def test_a_number_that_is_none_or_too_small_is_refused_by_name_and_value(value: str) -> None:
    with pytest.raises(ConfigError, match=rf"blog: the option limit is '{value}'; give a whole number"):
        Options("blog", {"limit": value}).integer("limit", least=10)


@pytest.mark.parametrize("value", ["much", "0", "-2", "inf", "nan"])
def test_a_rate_is_a_finite_number_above_zero(value: str) -> None:
    assert Options("blog", {"rate": "2.5"}).positive("rate") == 2.5
    with pytest.raises(ConfigError, match=rf"the option rate is '{value}'; give a number"):
        Options("blog", {"rate": value}).positive("rate")


@pytest.mark.parametrize("value", ["2026-02-01T10:00:00", "2026-02-01T10:00:00Z", "2026-02-01T12:00:00+02:00"])
def test_a_time_without_an_offset_is_in_utc(value: str) -> None:
    assert Options("blog", {"start": value}).moment("start") == datetime(2026, 2, 1, 10, tzinfo=UTC)


def test_a_time_that_is_none_is_refused_with_an_example() -> None:
    with pytest.raises(ConfigError, match="the option start is 'noon'; give a time such as 2026-01-31T12:00:00Z"):
        Options("blog", {"start": "noon"}).moment("start")
