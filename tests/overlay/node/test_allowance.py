"""No more than so much a second, but for the last one, whose size is bounded elsewhere."""

from tidegate.overlay.node.allowance import Allowance


def test_what_is_used_up_comes_back_with_time_and_no_more_than_that() -> None:
    now = [0.0]
    allowance = Allowance(100, lambda: now[0])
    assert [allowance.take(40) for _ in range(5)] == [True, True, True, False, False]
    now[0] += 0.5  # 20 too many, and 50 of the next second
    assert [allowance.take(40) for _ in range(2)] == [True, False]
    now[0] += 1000
    assert [allowance.take(100) for _ in range(2)] == [True, False]
