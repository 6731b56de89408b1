"""The cluster a pipeline needs: no resource beyond its limit, one machine fewer is too few, and what binds is named."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.capacity.pipeline_costs import PipelineCosts
from tidegate.capacity.pipeline_sizing import Load, cheapest, cluster, sized
from tidegate.capacity.pricing import Machine, Pricing
from tidegate.errors import ConfigError

PRICES = Pricing.read("ec2-7i")
USUAL = PipelineCosts.usual()
# A post costs 2 µs, and one more for ten times the subscriptions; a subscription takes 100 bytes.
PLAIN = PipelineCosts(
    "plain", (1e3, 1e4, 1e5), (2.0, 3.0, 4.0), 0.5, 0.1, 5.0, ((0.0, 4.0), (0.5, 1.0), (1.0, 0.0)), 1.5,
    100.0, 1e8, 1e9, 1e5,
)  # fmt: skip


def host(cores: int = 10, memory_gb: float = 10.0, mbit_per_s: float = 1e6, per_hour: float = 1.0) -> Machine:
    return Machine("m", per_hour, mbit_per_s, cores, memory_gb)


def of_kind(load: Load, kind: Machine, costs: PipelineCosts = PLAIN) -> Any:
    found = sized(load, costs, Pricing("p", "EUR", 0.0, (kind,)), kind)
    assert found is not None
    return found


def test_a_post_costs_what_was_measured_and_beyond_that_what_grows_goes_on_growing() -> None:
    assert [PLAIN.post(size) for size in (1, 1e3, 1e4, 1e5)] == [2.0, 2.0, 3.0, 4.0]
    assert PLAIN.post(10**4.5) == pytest.approx(3.5)
    assert PLAIN.post(1e7) == pytest.approx(2 + 2 * 100**0.5)
    assert replace(PLAIN, post_us=(2.0, 2.0, 2.0)).post(1e9) > 2.0


def test_cores_follow_from_what_a_post_costs_and_headroom_is_left() -> None:
    # 4 µs and ten rows of 0.1 µs each are 5 µs: a million posts a second keep five cores busy.
    found = of_kind(Load(1e6, 1e5, headroom=0.5), host(cores=2))
    assert (found.machines, found.cores, found.plan, found.binds) == (5, 10, "replicate", "cores")
    assert found.used["cores"] == pytest.approx(0.5)
    assert (found.executors, of_kind(Load(1e6, 1e5), host(cores=20)).executors) == (5, 3)


def test_what_does_not_fit_on_a_host_is_spread() -> None:
    # 20 GB of subscriptions; a host has 9 of its 10 GB, less 2 executors of 1 GB and 10 workers of 0.1 GB.
    spread = of_kind(Load(1e4, 2e8), host())
    assert (spread.plan, spread.head, spread.visits, spread.machines) == ("hash", 0.0, 4.0, 4)
    assert spread.host_bytes == pytest.approx(3e9 + 20e9 / 4)
    assert spread.binds == "memory"
    assert of_kind(Load(1e4, 2e8), host(memory_gb=30)).plan == "replicate"
    # Where visits cost more than matching, hosts have as much as they can hold, and any number from there on does.
    costs = replace(PLAIN, visit_us=500.0)
    dear = of_kind(Load(1e4, 2e8), host(), costs)
    assert all(cluster(Load(1e4, 2e8), costs, PRICES, host(), machines).does for machines in range(4, 200))
    assert (dear.plan, dear.machines) == ("headtail", 4)
    assert 0 < dear.head < 0.5
    assert dear.used["memory"] == pytest.approx(1.0)


def test_hosts_that_are_filled_to_the_brim_do_not_spill() -> None:
    # 620 GB, of which a host takes 61.8 GB less its 24 GB of executors and workers.
    found = sized(Load(1e6, 1e10), USUAL, PRICES, PRICES.machine("c7i.8xlarge"))
    assert found is not None
    assert found.machines == -(-1e10 * USUAL.subscription_bytes // (0.9 * 68.7e9 - 24e9))


def test_the_network_may_bind() -> None:
    found = of_kind(Load(1e5, 1e4, headroom=0.0), host(mbit_per_s=100))
    # 300 bytes in and ten times 200 out are 1,840 Mbit/s.
    assert (found.machines, found.binds) == (19, "network")


def test_traffic_and_databases_are_paid() -> None:
    kind = host(per_hour=2.0)
    pricing = Pricing("p", "EUR", 0.5, (kind,))
    found = sized(Load(1e5, 1e4, to_inbox=True, headroom=0.0), PLAIN, pricing, kind)
    assert found is not None
    assert found.databases == 10
    assert found.hourly == 2.0 * (found.machines + 10)
    assert found.traffic_hourly == pytest.approx(0.5 * 1e5 * 2300 * 3600 / 1e9)


@given(
    posts=st.floats(1, 1e8),
    subscriptions=st.floats(1, 1e12),
    matches=st.floats(0, 1000),
    headroom=st.floats(0, 0.9),
    kind=st.sampled_from(PRICES.machines),
)
def test_it_does_and_one_machine_fewer_does_not(
    posts: float, subscriptions: float, matches: float, headroom: float, kind: Machine
) -> None:
    load = Load(posts, subscriptions, matches, headroom=headroom)
    found = sized(load, USUAL, PRICES, kind)
    assert found is not None
    assert found.does
    assert found.machines == 1 or not cluster(load, USUAL, PRICES, kind, found.machines - 1).does
    assert 0 <= found.head <= 1
    # All cores together have the time, and all hosts the memory: a check by other arithmetic.
    assert posts * USUAL.post(1) <= 1e6 * found.cores
    assert found.machines * found.host_bytes >= subscriptions * USUAL.subscription_bytes * 0.999
    more = sized(replace(load, posts_per_s=2 * posts), USUAL, PRICES, kind)
    assert more is not None
    assert more.machines >= found.machines


def test_the_cheapest_kind_is_first_and_a_list_without_cores_is_refused() -> None:
    found = cheapest(Load(1e5, 1e8), USUAL, PRICES, PRICES.machines)
    assert [one.cost_per_hour for one in found] == sorted(one.cost_per_hour for one in found)
    with pytest.raises(ConfigError, match="machine 'm' has no cores or no memory_gb"):
        cheapest(Load(1, 1), USUAL, PRICES, [Machine("m", 1.0, 1.0)])
    with pytest.raises(ConfigError, match="has the memory for its own workers"):
        cheapest(Load(1, 1), USUAL, PRICES, [host(memory_gb=1)])


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"posts_per_s": 0}, "posts per s is 0"),
        ({"subscriptions": float("inf")}, "subscriptions is inf"),
        ({"matches_per_post": -1}, "matches per post are -1"),
        ({"headroom": 1}, "a headroom of 1"),
        ({"cores_per_executor": 0}, "0 cores per executor"),
        ({"post_bytes": 0}, "post bytes is 0"),
    ],
)
def test_a_load_that_is_none_is_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Load(**{"posts_per_s": 1.0, "subscriptions": 1.0, **wrong})


def report(bench: str, rows: list[dict[str, Any]], **summary: float) -> dict[str, Any]:
    machine = {"machine": "Linux, 2 cores", "scale": "small", "params": {"cores": 2}}
    return {"bench": bench, **machine, "rows": rows, "summary": summary}


def throughput(subscriptions: str, per_match: float, per_post: float) -> list[dict[str, Any]]:
    section = f"Throughput: {subscriptions} subscriptions, 10 posts"
    return [
        {"section": section, "stage": "tidegate, replicate", "posts/s": per_match, "matches a post": 10.0},
        {"section": section, "stage": "tidegate, replicate, a row per post", "posts/s": per_post, "matches a post": 10},
    ]


def test_costs_are_read_from_the_reports_of_benchmarks(tmp_path: Path) -> None:
    held = {"proportional, MB": 150.0, "of it segments, resident MB": 8.0, "segments, proportional MB": 4.0}
    pipeline = report(
        "pipeline",
        [
            *throughput("10,000", 5e5, 1e6),
            *throughput("100,000", 2.5e5, 5e5),
            {"section": "Memory: 100,000 subscriptions, each", **held},
        ],
    )
    index = report(
        "index",
        [{"section": "Figure 11: by", "subscriptions": n, "flat, µs": us} for n, us in ((1e5, 1), (1e6, 2), (1e8, 20))],
    )
    plans = [("SALB, keys", 3.0, 0.0, 1.4), ("head and tail", 0.5, 25.0, 1.3)]
    route = report(
        "route",
        [
            {
                "section": "Clocked plans, 64 matchers: x",
                "plan": plan,
                "visits a post": visits,
                "head, % of subscriptions": head,
                "slowest over mean": over,
            }
            for plan, visits, head, over in plans
        ],
    )
    paths = []
    for one in (pipeline, index, route, report("delivery", [], inbox_rows_per_s_sqlite=9.0)):
        paths.append(tmp_path / f"{one['bench']}.json")
        paths[-1].write_text(json.dumps(one))
    costs = PipelineCosts.read(paths)
    # What was not measured is as much slower there as what was.
    slower = 4.0 / USUAL.post(1e5)
    assert (costs.sizes, costs.post_us[:2]) == ((1e4, 1e5, 1e6), (2.0, 4.0))
    assert costs.post(1e6) == pytest.approx(4.0 + slower * (USUAL.post(1e6) - USUAL.post(1e5)))
    assert costs.visit_us == pytest.approx(slower * USUAL.visit_us)
    assert costs.row_us == pytest.approx(0.4)
    assert (costs.subscription_bytes, costs.worker_bytes) == (80.0, 146e6)
    assert costs.growth == pytest.approx(0.5)
    assert (costs.visits, costs.imbalance) == (((0.0, 3.0), (0.25, 0.5), (1.0, 0.0)), 1.3)
    assert costs.inbox_rows_per_s == 9.0
    assert "delivery.json" in costs.measured


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.json"
    for content, complaint in (
        ("nonsense", "is no report of a benchmark"),
        (json.dumps(report("text", [])), "tells nothing of what the pipeline costs"),
        (json.dumps(report("pipeline", [])), "tells nothing of what the pipeline costs"),
    ):
        path.write_text(content)
        with pytest.raises(ConfigError, match=complaint):
            PipelineCosts.read([path])
    with pytest.raises(ConfigError, match="growth is 0: it is above 0"):
        replace(USUAL, growth=0)
    with pytest.raises(ConfigError, match="rising numbers of subscriptions"):
        replace(USUAL, sizes=(2, 1, 3))
