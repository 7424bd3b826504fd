"""The class board: everybody's predictions and A/A intervals in one figure.

A student writes a small file with `save_result`; a teacher collects them and calls
`draw_class_board`.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchbook.plots import style
from benchbook_lessons.drift import (
    IN_SEQUENCE,
    INTERLEAVED,
    compare_orders,
    simulate_outcomes,
)
from benchbook_lessons.feedback import is_number, shorten
from benchbook_lessons.predictions import Predictions

FILE_PREFIX: Final = "class_board_"
ANONYMOUS: Final = "anonymous"
ORDERS: Final = (IN_SEQUENCE, INTERLEAVED)
NAME_LENGTH: Final = 22
"""How many letters of a name the board shows."""


@dataclass(frozen=True)
class Result:
    """A student's predictions by name, and intervals (ratio, low, high) by order."""

    name: str
    predictions: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float, float]]


def save_result(name: str, predictions: Predictions, measured: pd.DataFrame) -> Path | None:
    """Write a student's predictions and intervals into a file of this folder, and return it.

    Nothing is written while the name is `ANONYMOUS`: a class would hand in files of one name.

    Parameters
    ----------
    name
        The student's name, or a nickname. It becomes part of the file's name.
    measured
        As `benchbook_lessons.drift.measure_both_orders` returns it.
    """
    safe = re.sub(r"[^\w-]+", "_", name).strip("_") or ANONYMOUS
    if safe == ANONYMOUS:
        print(f'Write your name in place of "{ANONYMOUS}", and run the cell again.')
        return None
    result = {
        "name": name,
        "predictions": {
            key: float(guess) for key, guess in predictions.guesses.items() if is_number(guess)
        },
        "intervals": {
            str(order): [float(row["ratio"]), float(row["low"]), float(row["high"])]
            for order, row in compare_orders(measured).iterrows()
        },
    }
    path = Path(f"{FILE_PREFIX}{safe}.json")
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"The file {path.name} is written.")
    return path


def load_results(folder: str | Path = ".") -> list[Result]:
    """Return all students' results in a folder; a damaged file is named in a printed line."""
    results = []
    for path in sorted(Path(folder).glob(f"{FILE_PREFIX}*.json")):
        try:
            results.append(_read_result(path))
        except ValueError as error:
            print(f"{path.name} is left out: {error}.")
    return results


def _read_result(path: Path) -> Result:
    """Return a student's result; raises `ValueError` with a reason for a damaged file."""
    try:
        stored: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise ValueError("it cannot be read") from None
    except ValueError:
        raise ValueError("it is not a whole JSON file") from None
    if not isinstance(stored, dict) or not isinstance(stored.get("name"), str):
        raise ValueError("it has no name")
    predictions, intervals = stored.get("predictions"), stored.get("intervals")
    if not isinstance(predictions, dict) or not isinstance(intervals, dict):
        raise ValueError("it has no predictions or no intervals")
    for order in ORDERS:
        values = intervals.get(order)
        if not isinstance(values, list) or len(values) != 3 or not all(map(is_number, values)):
            raise ValueError(f'its interval "{order}" is {shorten(values)}')
        ratio, low, high = values
        if not 0 < low <= ratio <= high:
            raise ValueError(f'its interval "{order}" is {ratio:g} ({low:g} to {high:g})')
    return Result(
        stored["name"].strip() or ANONYMOUS,
        {key: guess for key, guess in predictions.items() if is_number(guess)},
        {order: tuple(intervals[order]) for order in ORDERS},
    )


def draw_class_board(folder: str | Path = ".") -> Figure | None:
    """Draw the intervals of all students in two orders, and their predictions with the results.

    Parameters
    ----------
    folder
        Where the files of `save_result` are. Without a file, a line says so.
    """
    results = _number_equal_names(load_results(folder))
    if not results:
        print(f"The board is still empty: no {FILE_PREFIX}*.json in {Path(folder).resolve()}.")
        return None
    # The longest ratio is at the top: a reader sees at once how far the class reaches.
    results.sort(key=lambda result: result.intervals[IN_SEQUENCE][0], reverse=True)
    above, below = 0.21 * len(results) + 0.9, 2.5
    with style.use_style():
        figure, axes = plt.subplot_mosaic(
            [[*ORDERS], ["predictions", "predictions"]],
            figsize=(8.6, above + below + 0.3),
            height_ratios=(above, below),
            layout="constrained",
        )
        limits = _find_limits(results)
        for order in ORDERS:
            _draw_intervals(axes[order], results, order, limits)
        # parse_math: a name may contain dollar signs.
        axes[IN_SEQUENCE].set_yticks(
            range(len(results)), [result.name for result in results], parse_math=False
        )
        axes[INTERLEAVED].set_yticks(range(len(results)), [])
        _draw_predictions(axes["predictions"], results)
        figure.suptitle("a and b are the same program: each red interval is a false alarm")
    plt.close(figure)
    return figure


def _number_equal_names(results: Sequence[Result]) -> list[Result]:
    """Return the results with short names, of which no two are the same."""
    count: Counter[str] = Counter()
    numbered = []
    for result in results:
        name = " ".join(result.name.split())
        if len(name) > NAME_LENGTH:
            name = name[: NAME_LENGTH - 1] + "…"
        count[name] += 1
        if count[name] > 1:
            name = f"{name} ({count[name]})"
        numbered.append(replace(result, name=name))
    return numbered


def _find_limits(results: Sequence[Result]) -> tuple[float, float]:
    """Return limits for both axes, so that one extreme computer does not flatten the others."""
    reaches: list[float] = []
    for result in results:
        reaches += [max(high - 1, 1 - low) for _, low, high in result.intervals.values()]
    reach = min(max(reaches), 5 * median(reaches)) * 1.08
    return max(0.0, 1 - reach), 1 + reach


def _draw_intervals(
    axes: Axes, results: Sequence[Result], order: str, limits: tuple[float, float]
) -> None:
    """Draw each student's interval of a / b in one order, red where it excludes 1."""
    alarms = 0
    label = "ratio a / b, with 99 % interval"
    for at, result in enumerate(results):
        ratio, low, high = result.intervals[order]
        is_alarm = not low <= 1 <= high
        alarms += is_alarm
        colour = style.VERMILION if is_alarm else style.BLUE
        axes.plot([low, high], [at, at], color=colour, lw=2)
        axes.plot(ratio, at, "s" if is_alarm else "o", color=colour, ms=5)
        # An interval that leaves the picture ends in an arrow; an estimate there is written.
        for end, limit, arrow in ((-low, -limits[0], "<"), (high, limits[1], ">")):
            if end > limit:
                axes.plot(abs(limit), at, arrow, color=colour, ms=6, clip_on=False)
                label = "ratio a / b, with 99 % interval (arrow: farther away)"
        if not limits[0] <= ratio <= limits[1]:
            is_low = ratio < limits[0]
            axes.annotate(
                f"{ratio:.3g}",
                (limits[0] if is_low else limits[1], at),
                (9 if is_low else -9, 0),
                textcoords="offset points",
                ha="left" if is_low else "right",
                va="center_baseline",
                fontsize=8,
                bbox={"facecolor": "white", "pad": 1, "edgecolor": "none"},
            )
    axes.axvline(1, color=style.INK, lw=1)
    axes.set(
        title=f"{order}:\n{alarms} of {len(results)} are false alarms",
        xlabel=label,
        xlim=limits,
        ylim=(len(results) - 0.4, -0.6),
    )


def _draw_predictions(axes: Axes, results: Sequence[Result]) -> None:
    """Draw how often the students expected a false alarm, with what the simulations give."""
    outcomes = simulate_outcomes()
    labels = []
    for at, (name, outcome) in enumerate(outcomes.items()):
        guesses = [r.predictions[name] for r in results if name in r.predictions]
        shares = [guess for guess in guesses if 0 <= guess <= 1]
        # Equal predictions stand above each other, around the middle of the row.
        for place, pile in Counter(round(share, 2) for share in shares).items():
            step = min(0.14, 0.56 / pile)
            heights = [at + 0.1 + step * (index - (pile - 1) / 2) for index in range(pile)]
            axes.plot(
                [place] * pile, heights, "o", color=style.BLUE, ms=4.5, alpha=0.75, clip_on=False
            )
        axes.plot([outcome, outcome], [at - 0.42, at + 0.42], color=style.VERMILION, lw=2.5)
        axes.annotate(
            f"result {outcome:.2f}",
            (outcome, at - 0.44),
            (5, 0),
            textcoords="offset points",
            va="top",
            fontsize=8,
            color=style.VERMILION,
        )
        outside = len(guesses) - len(shares)
        omitted = f"\n({outside} not between 0 and 1)" if outside else ""
        labels.append(f"{name.replace('_', ' ')}{omitted}")
    axes.set(
        title="How often the class expected a false alarm (a dot per student)",
        xlabel="share of experiments with a false alarm",
        xlim=(0, 1),
        ylim=(len(labels) - 0.45, -0.55),
        yticks=range(len(labels)),
        yticklabels=labels,
    )
    axes.grid(visible=False, axis="y")
    for between in range(1, len(labels)):
        axes.axhline(between - 0.5, color="#e4e4e4", lw=0.6)
