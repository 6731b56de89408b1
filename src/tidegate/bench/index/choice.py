"""`choose_index` on measured workloads: what it chose and predicted, beside what was measured."""

from tidegate.bench.index.trial import LABELS, Trial
from tidegate.bench.report import Report, Row
from tidegate.index.choice import Choice, choose_index
from tidegate.index.costs import DEFAULT_BUILD_TAUS, DEFAULT_TAUS, BuildTaus, Taus, fit_build_taus, fit_taus


def report_choice(report: Report, trials: list[Trial]) -> None:
    """Add the predictions for all trials, and the taus that would fit this machine best."""
    choices = [choose_index(trial.workload) for trial in trials]
    pairs = [(trial, choice, name) for trial, choice in zip(trials, choices, strict=True) for name in choice.predicted]
    steps = [choice.predicted[name].steps for _, choice, name in pairs]
    taus = fit_taus(steps, [1000 * trial.matching[name].microseconds for trial, _, name in pairs])
    right = sum(choice.index == _fastest(trial, choice) for trial, choice in zip(trials, choices, strict=True))
    report.section(
        "choose_index: predicted beside measured",
        [
            _row(trial, choice, name, fitted=step.nanoseconds(taus) / 1000)
            for (trial, choice, name), step in zip(pairs, steps, strict=True)
        ],
        note=f"chose the fastest of {len(choices[0].predicted)} for {right} of {len(trials)} workloads",
    )
    report.section(
        f"choose_index: why, for {trials[0].subscriptions:,} subscriptions over {trials[0].vocabulary:,} terms",
        [{"reason": reason} for reason in choices[0].reasons],
    )
    report.section("Taus: nanoseconds a step takes", _tau_rows(DEFAULT_TAUS, taus))
    build_times = [1e9 * (trial.distinct_seconds + trial.build_seconds[name]) for trial, _, name in pairs]
    build_taus = fit_build_taus([choice.predicted[name].build for _, choice, name in pairs], build_times)
    report.section("Taus of building: nanoseconds a step takes", _tau_rows(DEFAULT_BUILD_TAUS, build_taus))
    report.summary["choice_right"] = f"{right} of {len(trials)}"


def _tau_rows(defaults: Taus | BuildTaus, fitted: Taus | BuildTaus) -> list[Row]:
    found = fitted._asdict()
    return [{"step": step, "default": tau, "fitted here": found[step]} for step, tau in defaults._asdict().items()]


def _fastest(trial: Trial, choice: Choice) -> str:
    return min(choice.predicted, key=lambda name: trial.matching[name].microseconds)


def _row(trial: Trial, choice: Choice, name: str, fitted: float) -> Row:
    predicted = choice.predicted[name]
    return {
        "subscriptions": trial.subscriptions,
        "terms": trial.subscribed_terms,
        "index": LABELS[name] + (" ← chosen" if name == choice.index else ""),
        "predicted, µs": predicted.microseconds,
        "with fitted taus": fitted,
        "measured, µs": trial.matching[name].microseconds,
        "predicted, MB": predicted.nbytes / 1e6,
        "measured, MB": trial.nbytes[name] / 1e6,
        "predicted build, s": predicted.build_seconds,
        "measured build, s": trial.distinct_seconds + trial.build_seconds[name],
    }
