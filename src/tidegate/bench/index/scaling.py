"""Figures 8 to 11: memory and time as vocabulary and subscriptions grow."""

from tidegate.bench.index.headline import paper_megabytes, paper_microseconds
from tidegate.bench.index.trial import LABELS, Trial
from tidegate.bench.report import Report, Row


def report_scaling(report: Report, trials: list[Trial]) -> None:
    """Add the four figures from trials of several vocabularies and several numbers of subscriptions."""
    subscriptions = max(trial.subscriptions for trial in trials)
    vocabulary = max(trial.vocabulary for trial in trials)
    by_vocabulary = sorted(
        (trial for trial in trials if trial.subscriptions == subscriptions), key=lambda trial: trial.vocabulary
    )
    by_number = sorted(
        (trial for trial in trials if trial.vocabulary == vocabulary), key=lambda trial: trial.subscriptions
    )
    paper = "the paper's figures are for 10 M and 100 M subscriptions"
    report.section(
        f"Figure 8: memory by vocabulary, {subscriptions:,} subscriptions", _memory(by_vocabulary), note=paper
    )
    report.section(f"Figure 9: memory by subscriptions, {vocabulary:,} terms", _memory(by_number), note=paper)
    report.section(
        f"Figure 10: matching time by vocabulary, {subscriptions:,} subscriptions", _time(by_vocabulary), note=paper
    )
    report.section(f"Figure 11: matching time by subscriptions, {vocabulary:,} terms", _time(by_number), note=paper)


def _memory(trials: list[Trial]) -> list[Row]:
    return [
        _point(trial)
        | {f"{LABELS[name]}, MB": trial.nbytes[name] / 1e6 for name in LABELS}
        | {f"paper {LABELS[name]}": paper_megabytes(trial, name) for name in ("ranked-key", "patricia-trie")}
        for trial in trials
    ]


def _time(trials: list[Trial]) -> list[Row]:
    return [
        _point(trial)
        | {f"{LABELS[name]}, µs": trial.matching[name].microseconds for name in LABELS}
        | {
            f"paper {LABELS[name]}": paper_microseconds(trial, name)
            for name in ("counting", "ranked-key", "patricia-trie")
        }
        for trial in trials
    ]


def _point(trial: Trial) -> Row:
    return {"subscriptions": trial.subscriptions, "subscribed terms": trial.subscribed_terms}
