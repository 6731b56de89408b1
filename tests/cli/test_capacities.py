"""`tidegate satisfy` and `tidegate provision` say what they decide, write it, and refuse what is no demand."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.capacity.plain import drawn_case
from tests.capacity.test_streamed import of_case, written
from tidegate.bench.pipeline import calibration
from tidegate.bench.report import Report
from tidegate.capacity.pipeline_costs import PipelineCosts
from tidegate.capacity.pricing import Pricing
from tidegate.cli.app import app
from tidegate.errors import ConfigError

CASE = drawn_case(np.random.default_rng(4), 30, 60, 20, priced=False)


def told(*arguments: object) -> str:
    found = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=True)
    if found.exception is not None and found.exit_code:
        raise found.exception
    return found.output


@pytest.fixture
def demand(tmp_path: Path) -> Path:
    (folder := tmp_path / "demand").mkdir()
    of_case(folder, CASE, 2)
    return folder


@pytest.mark.parametrize("goal", ["b3m", "fb3m"])
def test_satisfy_writes_which_topics_are_served(goal: str, demand: Path, tmp_path: Path) -> None:
    topics, figures = tmp_path / "topics.parquet", tmp_path / "figures.json"
    arguments = ("satisfy", demand, "--threshold", 12, "--capacity", "30%", "--goal", goal)
    assert "served topics" in told(*arguments, "--into", topics, "--json", figures)
    said, table = json.loads(figures.read_text()), pq.read_table(topics).to_pydict()
    served = [i for i, is_served in enumerate(table["served"]) if is_served]
    assert said["served_topics"] == len(served) < len(CASE.events)
    assert said["used"] == sum(table["events"][i] * table["followers"][i] for i in served) <= said["capacity"]
    assert 0 < said["ratio"] <= 1


@pytest.mark.parametrize("goal", ["b3m", "fb3m"])
def test_topics_may_cost_something_of_their_own(goal: str, tmp_path: Path) -> None:
    written(tmp_path, [9, 9, 0], [0, 1, 2, 3], [0, 0, 0, 1])
    topics, figures = tmp_path / "served.parquet", tmp_path / "figures.json"
    arguments = ("satisfy", tmp_path, "--goal", goal, "--capacity", 27, "--into", topics, "--json", figures)
    for costs, options, served in (([50, 1, 0], (), [True, False]), ([50, 1, 0], ("--own-costs",), [False, True])):
        pq.write_table(pa.table({"topic": [0, 1, 2], "events": [9, 9, 0], "cost": costs}), tmp_path / "topics.parquet")
        told(*arguments, *options)
        said = json.loads(figures.read_text())
        table = pq.read_table(topics).to_pydict()
        assert table["served"] == served
        assert said["used"] == table["cost"][served.index(True)] <= said["capacity"] == 27
        assert said["satisfied"] == (3 if served[0] else 1) <= said["bound"]


@pytest.mark.parametrize(
    ("costs", "complaint"),
    [
        ([0, 0, 4], "2 topics with events cost 0: a cost is a whole number above 0"),
        ([1, -1, 4], "cost -1 is below 0"),
        ([1, 2**40, 4], "a topic costs 1,099,511,627,776"),
        ([0.5, 1.5, 2.5], "cost is double: whole numbers are expected"),
        (None, "has no column cost: it has topic, events"),
    ],
)
def test_costs_that_are_none_are_refused(costs: list[int] | None, complaint: str, tmp_path: Path) -> None:
    written(tmp_path, [9, 9, 9], [0, 1, 2], [0, 1, 2])
    if costs is not None:
        pq.write_table(pa.table({"topic": [0, 1, 2], "events": [9, 9, 9], "cost": costs}), tmp_path / "topics.parquet")
    with pytest.raises(ConfigError, match=complaint):
        told("satisfy", tmp_path, "--own-costs")


def test_provision_with_the_fewest_events_places_the_pairs_it_paid_for(demand: Path, tmp_path: Path) -> None:
    figures, placed = tmp_path / "figures.json", tmp_path / "placed.parquet"
    arguments = ("provision", demand, "--threshold", 12, "--period", "1ms", "--fewest-events")
    told(*arguments, "--pairs-into", placed, "--compare", "--json", figures)
    said = json.loads(figures.read_text())
    assert said["cost"] == pytest.approx(said["steps"][-1]["cost"])
    rows, sent = pq.read_table(placed).to_pylist(), np.zeros(len(CASE.follows), np.int64)
    for row in rows:
        sent[row["subscriber"]] += CASE.events[row["topic"]]
    assert said["chosen_pairs"] == len(rows)
    assert int(sent.sum()) <= said["steps"][-2]["events"]
    assert (sent >= CASE.demand.thresholds(12)).all()


def test_provision_writes_an_allocation_and_follows_it_without_a_move(demand: Path, tmp_path: Path) -> None:
    first, figures = tmp_path / "first.parquet", tmp_path / "figures.json"
    placed, again = tmp_path / "placed.parquet", tmp_path / "again.parquet"
    arguments = ("provision", demand, "--threshold", 12, "--period", "1ms", "--message-bytes", 200)
    output = told(*arguments, "--into", first, "--pairs-into", placed, "--compare", "--json", figures)
    assert "events in 1ms" in output
    said, parts = json.loads(figures.read_text()), pq.read_table(first).to_pydict()
    assert said["machines"] == len(set(parts["machine"])) >= said["least_machines"]
    assert sum(parts["pairs"]) == said["chosen_pairs"] == pq.read_metadata(placed).num_rows
    assert [row["step"][:3] for row in said["steps"]] == ["nai", "(a)", "(b)", "(c)", "(d)", "(e)", "(f)"]
    assert said["steps"][-2]["cost"] == pytest.approx(said["cost"])
    told(*arguments, "--from", first, "--json", figures, "--pairs-into", again)
    assert json.loads(figures.read_text())["moved_pairs"] == 0
    assert pq.read_table(again).equals(pq.read_table(placed))


def test_optimisations_are_left_out_one_by_one(demand: Path, tmp_path: Path) -> None:
    arguments = ("provision", demand, "--threshold", 12, "--period", "1ms", "--machine", "c3.large")
    figures, placed = tmp_path / "figures.json", tmp_path / "placed.parquet"
    told(*arguments, "--compare", "--json", figures)
    steps = json.loads(figures.read_text())["steps"]
    # The naive step and the last are of other pairs.
    for step, left_out in zip(steps[1:-1], ("b", "cde", "de", "e", ""), strict=True):
        flags = [flag for letter in left_out for flag in ("--without", letter)]
        told(*arguments, *flags, "--pairs-into", placed, "--json", figures)
        said = json.loads(figures.read_text())
        assert [said[key] for key in ("machines", "events")] == [step[key] for key in ("machines", "events")]
        assert said["cost"] == pytest.approx(step["cost"])
        assert pq.read_metadata(placed).num_rows == said["chosen_pairs"]
    assert len({step["cost"] for step in steps[1:-1]}) > 2
    told(*arguments, "--into", tmp_path / "first.parquet")
    with pytest.raises(ConfigError, match="--without and --from"):
        told(*arguments, "--without", "c", "--from", tmp_path / "first.parquet")


def test_kinds_of_machines_are_mixed_where_that_is_cheaper(demand: Path, tmp_path: Path) -> None:
    figures = {}
    for machine in ("c3.large", "c3.xlarge", "mixed"):
        told("provision", demand, "--period", "1ms", "--machine", machine, "--json", tmp_path / "f.json")
        figures[machine] = json.loads((tmp_path / "f.json").read_text())
    assert figures["mixed"]["cost"] <= min(figures["c3.large"]["cost"], figures["c3.xlarge"]["cost"])
    assert sum(figures["mixed"]["kinds"].values()) == figures["mixed"]["machines"]
    for found in figures.values():
        assert found["cost_machines"] + found["cost_traffic"] == pytest.approx(found["cost"])
        assert found["cost_traffic"] == pytest.approx(found["events"] * 200 / 1e9 * 0.12 * 10 * 86_400 / 1e-3)


def test_the_least_is_that_of_all_machines_that_may_be_rented(tmp_path: Path) -> None:
    written(tmp_path, [1_000] * 10, np.repeat(range(9), 10), np.tile(range(10), 9))
    sizes = {"small": (0.1, 64), "large": (0.19, 128)}
    machines = [{"name": name, "per_hour": price, "mbit_per_s": mbit} for name, (price, mbit) in sizes.items()]
    listed = {"name": "mine", "currency": "EUR", "per_gb": 0, "machines": machines[::-1]}
    (tmp_path / "mine.json").write_text(json.dumps(listed))
    arguments = ("provision", tmp_path, "--threshold", 10_000, "--prices", tmp_path / "mine.json", "--billed", "1h")
    # 100,000 events, of which a small machine takes 40,000 and a large one 80,000.
    for machine, cost, least in (("mixed", 0.29, 0.24), ("cheapest", 0.3, 0.3), ("large", 0.38, 0.38)):
        told(*arguments, "--period", "1s", "--machine", machine, "--json", tmp_path / "f.json")
        figures = json.loads((tmp_path / "f.json").read_text())
        assert figures["cost"] == pytest.approx(cost)
        assert figures["least_cost"] == pytest.approx(least)
        assert (figures["cost_machines"], figures["cost_traffic"]) == (pytest.approx(cost), 0)
        assert figures["over_lower_bound_pct"] == pytest.approx(100 * (cost / least - 1))
    with pytest.raises(ConfigError, match="a large takes 800 in"):
        told(*arguments, "--period", "10ms")


def test_an_allocation_is_followed_on_machines_and_at_rates_it_was_made_for(demand: Path, tmp_path: Path) -> None:
    first = tmp_path / "first.parquet"
    arguments = ("provision", demand, "--period", "1ms")
    told(*arguments, "--machine", "c3.xlarge", "--into", first)
    told(*arguments, "--from", first, "--json", tmp_path / "f.json")
    assert json.loads((tmp_path / "f.json").read_text())["machine"] == "c3.xlarge"
    for others, complaint in (
        (("--machine", "c3.large"), r"first\.parquet was made for the machine c3\.xlarge, not c3\.large"),
        (("--period", "2ms"), r"was made for the period 0\.001 s, not 0\.002 s"),
        (("--message-bytes", 100), "was made for the message 200 bytes, not 100 bytes"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            told(*arguments, "--from", first, *others)
    listed = {
        "name": "mine",
        "currency": "EUR",
        "per_gb": 0,
        "machines": [{"name": "c3.xlarge", "per_hour": 1, "mbit_per_s": 128}],
    }
    (tmp_path / "mine.json").write_text(json.dumps(listed))
    with pytest.raises(ConfigError, match=r"was made for the prices EC2 .*, not mine"):
        told(*arguments, "--from", first, "--prices", tmp_path / "mine.json")
    with pytest.raises(ConfigError, match="does not say what machines"):
        told(*arguments, "--from", demand / "topics.parquet")


def test_a_threshold_of_one_subscriber_is_its_own(tmp_path: Path) -> None:
    # Two follow three topics of 5 events; 5 satisfy anybody, but the second wants 15.
    files = written(tmp_path, [5, 5, 5], [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2])
    arguments = ("--threshold", 5, "--json", tmp_path / "f.json")
    found = []
    for own in (False, True):
        if own:
            pq.write_table(pa.table({"subscriber": [1, 9], "threshold": [15, 7]}), files.folder / "thresholds.parquet")
        for command in (("satisfy", "--capacity", 10), ("provision",)):
            told(command[0], tmp_path, *command[1:], *arguments)
            found.append(json.loads((tmp_path / "f.json").read_text()))
    plain_satisfy, plain_provision, satisfy, provision = found
    assert (plain_satisfy["satisfied"], plain_satisfy["satisfaction"]) == (2, 2.0)
    assert (satisfy["satisfied"], satisfy["satisfaction"]) == (1, pytest.approx(4 / 3))
    assert (plain_provision["chosen_pairs"], provision["chosen_pairs"]) == (2, 4)
    assert satisfy["own_thresholds"] == provision["own_thresholds"] == 2


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"subscriber": [1, 1], "threshold": [5, 6]}, "1 subscribers are there twice"),
        ({"subscriber": [0, 1, 2], "threshold": [5, 0, 2**32]}, "2 thresholds are none"),
        ({"subscriber": [0, 1], "threshold": [5, None]}, "1 rows have no threshold"),
        ({"subscriber": [0], "tau": [5]}, "has no column threshold"),
    ],
)
def test_thresholds_that_are_none_are_refused_and_counted(
    columns: dict[str, object], complaint: str, demand: Path
) -> None:
    pq.write_table(pa.table(columns), demand / "thresholds.parquet")
    for command in ("satisfy", "provision"):
        with pytest.raises(ConfigError, match=complaint):
            told(command, demand)


def test_what_was_left_out_is_counted(tmp_path: Path) -> None:
    written(tmp_path, [5, 0, 7], [0, 0, 1, 1, 1, 3], [0, 1, 2, 2, 0, 1])
    left_out = "1 repeated pairs, 1 topics without events (2 pairs), 1 subscribers without topics"
    for command in ("satisfy", "provision"):
        assert f"left out: {left_out}" in told(command, tmp_path)


def test_numbers_that_no_topic_has_are_no_topics_without_events(tmp_path: Path) -> None:
    written(tmp_path, [5, 0, 7], [0, 0, 1], [0, 2, 2])
    pq.write_table(pa.table({"topic": [0, 2, 9_000], "events": [5, 7, 1]}), tmp_path / "topics.parquet")
    for command in ("satisfy", "provision"):
        assert "left out" not in told(command, tmp_path)


@pytest.mark.parametrize(("events", "who"), [([5, 7], []), ([0, 0], [0, 1])])
def test_a_demand_for_nothing_costs_nothing_however_it_is_compared(
    events: list[int], who: list[int], tmp_path: Path
) -> None:
    written(tmp_path, events, np.array(who, np.int32), np.array(who, np.int32))
    for machine in ("cheapest", "mixed", "c3.large"):
        told("provision", tmp_path, "--machine", machine, "--compare", "--json", tmp_path / "f.json")
        figures = json.loads((tmp_path / "f.json").read_text())
        assert (figures["machines"], figures["cost"], figures["least_cost"]) == (0, 0, 0)
        assert {row["saved_in_all_pct"] for row in figures["steps"]} == {0}


@pytest.mark.parametrize(
    ("events", "who", "what", "complaint"),
    [
        ([5, 7], [0, 0, 1, 1], [0, 4, 4, 9], "topic 9 is followed, but has no rate: .* 3 pairs of 2 others"),
        ([5, -7, -8], [0], [0], "events -8 is below 0, one of 2 that are"),
        ([5, 7], [0, -1, -1], [0, 0, 1], "subscriber -1 is below 0, one of 2 that are"),
    ],
)
def test_pairs_that_are_none_are_refused_and_counted(
    events: object, who: object, what: object, complaint: str, tmp_path: Path
) -> None:
    written(tmp_path, events, who, what)
    for command in ("satisfy", "provision"):
        with pytest.raises(ConfigError, match=complaint):
            told(command, tmp_path)


def test_a_negative_price_and_a_machine_that_is_too_small_are_refused_by_the_command(
    demand: Path, tmp_path: Path
) -> None:
    machine = {"name": "tiny", "per_hour": -0.1, "mbit_per_s": 1}
    listed = {"name": "mine", "currency": "EUR", "per_gb": 0, "machines": [machine]}
    (tmp_path / "mine.json").write_text(json.dumps(listed))
    with pytest.raises(ConfigError, match=r"per_hour of machine 'tiny' is -0\.1: a number not below 0"):
        told("provision", demand, "--prices", tmp_path / "mine.json")
    with pytest.raises(ConfigError, match=r"a c3\.xlarge takes 16 in .* too few for \d+ topics"):
        told("provision", demand, "--period", "200us")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("satisfy", "--capacity", "much"), "a capacity of 'much'"),
        (("satisfy", "--capacity", "-5%"), "a capacity of '-5%'"),
        (("satisfy", "--goal", "all"), "no goal is called 'all': choose one of b3m, fb3m"),
        (("provision", "--machine", "c9"), "has no machine 'c9'"),
        (("provision", "--period", "soon"), "period is 'soon'"),
        (("provision", "--period", "1us"), "choose a larger machine"),
        (("provision", "--from", "nowhere.parquet"), "is no allocation"),
        (("satisfy", "--into", "nowhere/topics.parquet"), "nowhere/topics.parquet: there is no folder"),
        (("provision", "--json", "nowhere/figures.json"), "nowhere/figures.json: there is no folder"),
        (("provision", "--pairs-into", "/"), "/: this is a folder; name a file in it"),
        (("provision", "--inbox"), "--inbox with a demand: .* ask for one by --pipeline"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], complaint: str, demand: Path) -> None:
    with pytest.raises(ConfigError, match=complaint):
        told(arguments[0], demand, *arguments[1:])


def test_a_pipeline_is_sized_and_every_kind_compared(tmp_path: Path) -> None:
    arguments = ("--posts-per-second", "1e6", "--subscriptions", "1e10", "--billed", "30d", "--inbox")
    output = told("provision", "--pipeline", *arguments, "--json", tmp_path / "f.json")
    said = json.loads((tmp_path / "f.json").read_text())
    assert "binds" in output
    assert "times the subscriptions that were measured" in output
    assert [row["cost"] for row in said["kinds_compared"]] == sorted(row["cost"] for row in said["kinds_compared"])
    assert said["cores"] == 32 * said["machines"] == 8 * said["executors"]
    assert said["memory_gb"] >= 1e10 * 6e-8 > 0
    assert said["cost"] == pytest.approx(said["cost_machines"] + said["cost_traffic"])
    per_hour = Pricing.read("ec2-7i").machine(said["machine"]).per_hour
    assert said["cost_machines"] == pytest.approx(720 * per_hour * (said["machines"] + said["inbox_databases"]))
    one = told("provision", "--pipeline", *arguments, "--machine", "r7i.8xlarge")
    assert "r7i.8xlarge" in one
    assert "c7i.8xlarge" not in one


def test_a_pipeline_is_sized_by_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report("pipeline", "small", {"cores": 2})
    for size, pace in ((10_000, 2e4), (100_000, 1e4)):
        report.section(
            f"Throughput: {size:,} subscriptions",
            [
                {"stage": stage, "posts/s": pace * factor, "matches a post": 10.0}
                for stage, factor in (("tidegate, replicate", 0.5), ("tidegate, replicate, a row per post", 1.0))
            ],
        )
    report.write_json(tmp_path / "pipeline.json")
    monkeypatch.setattr(calibration, "calibration", lambda seed: report)
    cores = []
    for more in ((), ("--measured", tmp_path / "pipeline.json"), ("--calibrate",)):
        told("provision", "--pipeline", "--posts-per-second", 1e5, "--json", tmp_path / "f.json", *more)
        said = json.loads((tmp_path / "f.json").read_text())
        cores.append(said["core_us_per_post"] * 1e5 / 1e6)
    assert "calibrated now" in said["measured"]
    # 200 µs a post and as much for its rows; a million subscriptions cost as little more as is known from elsewhere.
    usual = PipelineCosts.usual()
    assert cores[1] == cores[2] == pytest.approx((200 * usual.post(1e6) / usual.post(1e5) + 200) / 10)
    assert cores[0] < cores[1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("somewhere",), "a pipeline is for posts and subscriptions"),
        (("--machine", "mixed"), "all of one kind"),
        (("--into", "here.parquet", "--compare"), "--into, --compare with --pipeline: .* leave it out"),
        (("--headroom", "1"), "a headroom of 1"),
        (("--posts-per-second", "0"), "posts per s is 0"),
        (("--measured", "nowhere.json"), "nowhere.json is no report"),
    ],
)
def test_a_pipeline_that_is_none_is_refused(arguments: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        told("provision", "--pipeline", *arguments)


def test_without_a_demand_or_a_pipeline_there_is_nothing_to_provision() -> None:
    with pytest.raises(ConfigError, match="name a folder with the demand, or ask for a cluster by --pipeline"):
        told("provision")
