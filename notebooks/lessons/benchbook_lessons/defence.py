"""Lesson 9, defend it: a plan that is sealed before the data, its blocks, and an attack on it."""

import hashlib
import inspect
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from math import exp, log, sqrt
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import benchbook
from benchbook.analysis.intervals import ICC, MIN_BLOCKS, compute_t_quantile, weigh_day
from benchbook.plots import style
from benchbook.text.number_format import format_count
from benchbook_lessons.drift import INTERLEAVED
from benchbook_lessons.effects import KINDS, compute_ratio, judge_interval
from benchbook_lessons.feedback import (
    FormError,
    OpenTaskError,
    Part,
    check,
    grade,
    grade_choice,
    grade_number,
    is_number,
    is_open,
    mark_open,
    shorten,
)
from benchbook_lessons.predictions import Outcomes, Predictions

predict = Predictions
DEFENDED: Final = KINDS[:2]
"""The verdicts that a pair can defend: for *more*, or no difference that matters."""

STEADINESS: Final = ("steady", "not steady", "open")
"""What an A/A check can say."""

COLUMNS: Final = ("plan", "day", "laptop", "block", "a", "a_again", "b", "noisy")
"""One line of `measure`: times in µs per call, each the mean of a block."""

_TIME: Final = r",(?=[^,]*[1-9])[\d.]+(e[+-]\d+)?"
LINE: Final = re.compile(
    rf"[\da-f]{{8}},\d{{4}}-\d\d-\d\d,[^,]+,\d+({_TIME}){{3}},(true|false)", re.IGNORECASE
)
"""A whole line of `measure`; each time is above 0."""

DIGEST_LENGTH: Final = 8
TICKS: Final = (0.2, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 3, 5, 10)
"""Ratios at which a figure has ticks, if it reaches so far."""

MIN_WORDS: Final = 5
"""The words that a claim or a reason has at least."""


def try_sides(a: Callable[..., object]) -> None:
    """Call the functions of a notebook cell once, and print whether they return the same.

    The cell runs without the rest of the notebook, as it will when it is measured. A time is not
    shown.

    Parameters
    ----------
    a
        The first function of the cell.
    """
    try:
        make_input, a, b = _load_sides(_read_cell(a))
        first, second = a(make_input()), b(make_input())
        is_same = bool(first == second)
    except Exception as reason:  # of the students' code, which may raise any
        print(f"a and b cannot be measured yet: {reason}")
        return
    if first is None or second is None:
        print("A function returns nothing yet: write the bodies of all three.")
    elif is_same:
        print("a and b return the same. Now seal the plan before you see a time.")
    else:
        print(f"a returns {shorten(first)}, and b returns {shorten(second)}.")


def describe_designs(sd: float = 0.05) -> pd.DataFrame:
    """Return the half-width of the 99 % interval in some designs, as a share of the ratio.

    Parameters
    ----------
    sd
        Standard deviation of the log ratio over blocks of all days.

    Returns
    -------
    pandas.DataFrame
        One row per number of blocks on a machine-day, one column per number of machine-days.
    """
    days = (1, 2, 4, 8)
    table = {
        f"{blocks} blocks": [compute_half_width(sd, blocks, count) for count in days]
        for blocks in (MIN_BLOCKS, 9, 20, 100)
    }
    columns = ["1 machine-day", *(f"{count} machine-days" for count in days[1:])]
    return pd.DataFrame.from_dict(table, orient="index", columns=columns)


def compute_half_width(sd: float, blocks: int, machine_days: int) -> float:
    """Return the half-width to expect of an interval, of blocks that vary by `sd` in all."""
    error = sd * sqrt((1 - ICC) / (machine_days * weigh_day(float(blocks))))
    return exp(compute_t_quantile(blocks * machine_days - 1, 0.995) * error) - 1


def seal_plan(plan: Mapping[str, Any], a: Callable[..., object], board: Any) -> None:
    """Write a plan with its code into a file, and print the digest that goes on the board.

    Once `board` has a digest, nothing is written: the plan is only compared with it.

    Parameters
    ----------
    plan
        As in the lesson's task 1.
    a
        The first function. The whole notebook cell that defines it is sealed.
    """
    if is_open(dict(plan)):
        print("The plan is not complete yet: replace each ... in it.")
        return
    try:
        content = _write_plan(plan, a)
    except FormError as reason:
        print(reason)
        return
    digest, board = _digest(content), _normalise_digest(board)
    if board is ...:
        path = find_plan(plan["pair"])
        if path.exists() and path.read_bytes() != content:
            print(f"This replaces the plan {_digest(path.read_bytes())}, which was sealed before.")
        path.write_bytes(content)
        print(f"{path.name} is written. Write on the board and into `board`: {digest}")
    elif board == digest:
        print(f"The plan and its code are those of the board: {digest}.")
    else:
        print(f"The board has {board}, but this plan and its code are {digest}: which one changed?")
        print("Undo the change. Or seal a new plan with `board = ...`, and measure all of it anew.")


def find_plan(pair: object) -> Path:
    """Return the path of a pair's plan in this folder."""
    safe = re.sub(r"[^\w-]+", "_", str(pair))
    return Path(f"plan_{safe}.json")


def _write_plan(plan: Mapping[str, Any], a: Callable[..., object]) -> bytes:
    """Return the content of a plan's file, with the source of the notebook cell that has `a`."""
    document = {**plan, "code": _read_cell(a)}
    try:
        return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
    except TypeError as reason:
        raise FormError(f"the plan may have only texts and numbers: {reason}.") from None


def _read_cell(a: Callable[..., object]) -> str:
    """Return the source of the notebook cell, or file, that defines a function."""
    try:
        return "".join(inspect.findsource(a)[0]).strip() + "\n"
    except (OSError, TypeError):
        raise FormError("a has no source: run the cell with make_input, a and b first.") from None


def _load_sides(code: str) -> tuple[Callable[..., object], ...]:
    """Run a cell and return its ``make_input``, ``a`` and ``b``."""
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(code, names)
        return names["make_input"], names["a"], names["b"]
    except (Exception, SystemExit) as reason:
        where = f"{type(reason).__name__}: {reason}"
        raise FormError(f"the cell with a and b does not run by itself: {where}") from reason


def _digest(content: bytes) -> str:
    """Return the first digits of a content's SHA-256, as ``sha256sum`` prints them."""
    return hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]


def _normalise_digest(board: Any) -> Any:
    """Return a digest as ``sha256sum`` prints it; one of digits only may be a number."""
    return board if board is ... else str(board).strip().lower()


def measure(pair: Any, board: Any) -> None:
    """Measure today's blocks of a sealed plan on this laptop, and print the blocks' lines.

    Blocks that this laptop has measured today are not measured again.

    Parameters
    ----------
    pair
        Whose plan it is; its file is in this folder.
    board
        The digest that the board has for it.
    """
    board = _normalise_digest(board)
    try:
        plan = _read_plan(pair, board)
        make_input, a, b = _load_sides(plan["code"])
        # Here, because Windows itself cannot measure.
        from benchbook.results.folder import BusyError
        from benchbook.sides.question import SidesError
    except (FormError, ModuleNotFoundError) as reason:
        print(f"Nothing is measured: {reason}")
        return
    question = f"defend {board}"
    left = int(plan["blocks"]) - _list_lines(question, board)["day"].eq(_format_today()).sum()
    if left > 0:
        try:
            benchbook.versus(
                a,
                b,
                setup=make_input,
                check=True,
                name=question,
                blocks=int(left),
                smallest=plan["margin"] - 1,
                waits=False,  # a lesson has no time for it: noisy blocks are marked
            )
        except (SidesError, BusyError, ValueError, OSError) as reason:
            print(f"Nothing is measured: {reason}")
            return
    else:
        print("This laptop has measured the plan today. Nothing is measured again.")
        print(f"A day is one of UTC, where it is {_format_today()} now.")
    print("Copy these lines into the notebook of the pair whose plan it is:\n")
    print(_list_lines(question, board).to_csv(index=False))


def _read_plan(pair: Any, board: Any) -> dict[str, Any]:
    """Return a sealed plan; raises `FormError` when it is not the one of the board."""
    if pair is ... or board is ...:
        raise FormError("write the pair's names, and the digest that the board has for it.")
    path = find_plan(pair)
    if not path.exists():
        others = ", ".join(sorted(other.name for other in Path().glob("plan*.json"))) or "none"
        raise FormError(
            f"{path.name} is not in this folder (plans here: {others}). Ask the pair for it."
            " Your own you can write again: seal it with `board = ...`."
        )
    content = path.read_bytes()
    if _digest(content) != board:
        raise FormError(
            f"{path.name} is {_digest(content)}, and the board has {board}. Compare what you typed"
            " with the board. If it is right, ask the pair for the file that they sealed."
        )
    plan = dict(json.loads(content))
    for name in ("blocks", "margin"):
        if not is_number(plan.get(name)):
            raise FormError(f"the plan's {name} is not a number: seal a mended plan.")
    return plan


def _format_today() -> str:
    return f"{datetime.now(UTC).date()}"


def _list_lines(question: str, digest: str) -> pd.DataFrame:
    """Return this laptop's blocks of a question, in the columns of `COLUMNS`."""
    from benchbook.measure.machine import name_host
    from benchbook.sides.answer import read_blocks

    frame = read_blocks()
    if frame.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    chosen = (frame["question"] == question) & (frame["host"] == name_host())
    rows = frame[chosen & (frame["metric"] == "wall_time")]
    lines = []
    for _, block in rows.groupby("key"):
        times = block["value"] / block["count"] / 1e3
        first = block["own_level"] == "A"
        means = [
            times[first & (block["arm"] == "a")].mean(),
            times[first & (block["arm"] == "b")].mean(),
            times[~first].mean(),
        ]
        one = block.iloc[0]
        where = [digest, f"{one['cell_started_at'].date()}", one["host"].replace(",", " ")]
        lines.append([*where, one["block"], *(f"{mean:.6g}" for mean in means), one["noisy"]])
    return pd.DataFrame(lines, columns=list(COLUMNS)).sort_values(["day", "block"])


def read_lines(text: Any, board: Any = ...) -> pd.DataFrame:
    """Return pasted lines as a table; a line that stands there twice counts once.

    Noisy blocks are left out if enough quiet ones are there. When a line cannot be read, the reason
    is printed, and the table is empty.

    Parameters
    ----------
    text
        What `measure` printed, on one laptop or several; ``...`` gives an empty table.
    board
        The digest that all lines must have.

    Returns
    -------
    pandas.DataFrame
        The columns of `COLUMNS`, and the block's ``machine_day``.
    """
    try:
        return _choose_quiet(_parse_lines(text, board))
    except FormError as reason:
        print(reason)
        return _parse_lines(...)


def _parse_lines(text: Any, board: Any = ...) -> pd.DataFrame:
    """Return all blocks of pasted lines; raises `FormError` that names the first wrong line."""
    if text is not ... and not isinstance(text, str):
        raise FormError('paste the lines as text, between """ and """.')
    board = _normalise_digest(board)
    header = ",".join(COLUMNS)
    blocks: dict[tuple[str, ...], str] = {}
    for number, pasted in enumerate([] if text is ... else text.split("\n"), 1):
        line = ",".join(value.strip() for value in pasted.split(","))
        if line in ("", header):
            continue
        if not LINE.fullmatch(line):
            raise FormError(
                f"line {number} is not a whole line of a block: {shorten(line)}."
                " Copy again the lines that begin with a digest, and only those."
            )
        plan, day, laptop, block, *_ = line.split(",")
        board = plan if board is ... else board
        if plan != board:
            raise FormError(
                f"line {number} is of plan {plan}, not of {board}: leave out the lines of other"
                " plans."
            )
        if blocks.setdefault((day, laptop, block), line) != line:
            raise FormError(
                f"line {number} has other times for block {block} of {laptop}, {day}, than a line"
                " above it. Copy them again. If the laptops have the same name, change it in the"
                " lines of either."
            )
    found = pd.read_csv(io.StringIO("\n".join([header, *blocks.values()])), dtype={"plan": str})
    found["machine_day"] = found["laptop"].astype(str) + " " + found["day"].astype(str)
    return found


def _choose_quiet(blocks: pd.DataFrame) -> pd.DataFrame:
    """Return the blocks without the noisy ones, or all if too few are quiet."""
    quiet = blocks[~blocks["noisy"].astype(bool)]
    return quiet if len(quiet) >= MIN_BLOCKS else blocks


def _read_both(ours: Any, theirs: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the blocks of a pair and of an attack on its plan; raises `FormError`."""
    defended = _parse_lines(ours)
    attacked = _parse_lines(theirs, ... if defended.empty else defended["plan"].iloc[0])
    if {*map(tuple, defended.to_numpy())} & {*map(tuple, attacked.to_numpy())}:
        raise FormError(
            "Some lines of the attack are your own: leave them out, and ask the other pair for"
            " what it measured."
        )
    return _choose_quiet(defended), _choose_quiet(attacked)


def compute_sides(rows: pd.DataFrame, over: str = "b") -> tuple[float, float, float]:
    """Return the ratio of a column of `read_lines` over ``a``, with its 99 % interval."""
    days = rows["machine_day"].to_numpy(object)
    return compute_ratio((rows[over].to_numpy(float), rows["a"].to_numpy(float), days))


def compare_predictions(prediction: Predictions, ours: Any, theirs: Any) -> Outcomes | str:
    """Return the predictions with the ratio b / a of the pair's blocks and the attackers'."""
    try:
        tables = zip(("ratio_here", "ratio_there"), _read_both(ours, theirs), strict=True)
    except FormError as reason:
        return str(reason)
    results = {}
    for name, rows in tables:
        if len(rows):
            results[name] = exp(float(np.mean(np.log(rows["b"] / rows["a"]))))
    return prediction.compare(**results) if results else "Nothing is measured yet."


def draw_blocks(plan: Mapping[str, Any], ours: Any, theirs: Any = ...) -> Figure | str:
    """Draw the ratio of each block, by laptop and day, and the interval of all of them.

    Parameters
    ----------
    ours, theirs
        The lines of the pair and of those who attack.
    """
    try:
        defended, attacked = _read_both(ours, theirs)
    except FormError as reason:
        return str(reason)
    if defended.empty:
        return "Nothing is measured yet."
    labels: list[str] = []
    with style.use_style():
        figure, axes = plt.subplots(figsize=(7.4, 2), layout="constrained")
        axes.axvline(1, color=style.INK, lw=1)
        margin = plan["margin"]
        if is_number(margin) and margin > 0:
            axes.axvspan(1 / margin, margin, color="#e8eef5", label="too small to matter")
        for who, rows in (("defended", defended), ("attacked", attacked)):
            for over, colour in (("a_again", style.FAINT), ("b", style.BLUE)):
                side = "A/A check" if over == "a_again" else "b / a"
                labels += _draw_rows(axes, rows, over, len(labels), colour, f"{who}, {side}")
        figure.set_figheight(0.3 * len(labels) + 1.3)
        axes.set(
            title="Where do the intervals end?",
            xlabel="ratio (log scale); dots: blocks, lines: 99 % intervals",
            xscale="log",
            yticks=range(len(labels)),
            ylim=(len(labels) - 0.5, -0.5),
        )
        axes.set_yticks(range(len(labels)), labels, parse_math=False)
        low, high = axes.get_xlim()
        ticks = [tick for tick in TICKS if low <= tick <= high]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        figure.legend(loc="outside lower right")
    plt.close(figure)
    return figure


def _draw_rows(
    axes: Axes, rows: pd.DataFrame, over: str, first: int, colour: str, name: str
) -> list[str]:
    """Draw one row per machine-day and one for the interval; return the rows' labels."""
    labels: list[str] = []
    for day, blocks in rows.groupby("machine_day"):
        at = first + len(labels)
        axes.plot(
            blocks[over] / blocks["a"], [at] * len(blocks), "o", color=colour, ms=3, alpha=0.6
        )
        laptop, _, date = str(day).rpartition(" ")
        labels.append(f"{name}: {laptop.partition(' (')[0]}, {date}")
    if len(rows) >= MIN_BLOCKS:
        at = first + len(labels)
        ratio, low, high = compute_sides(rows, over)
        axes.plot([low, high], [at, at], color=colour, lw=2)
        axes.plot(ratio, at, "s", color=colour, ms=5)
        labels.append(f"{name}: {ratio:.3f} ({low:.3f} to {high:.3f})")
    return labels


@check(3)
def check_1(plan: Any, a: Any, board: Any) -> Iterator[Part]:
    """Check a plan: a claim that can fail, a design that can decide it, and its seal."""
    if board is ... and all(value is ... for value in plan.values()):
        raise OpenTaskError("no answer yet: replace each ... in the plan, run it, then this cell.")
    for name, grade_part in (("claim", _grade_claim), ("design", _grade_design)):
        yield grade_part(plan) if not is_open(plan) else _find_open(plan, name)
    if board is ...:
        yield mark_open("board")
        return
    digest, board = _digest(_write_plan(plan, a)), _normalise_digest(board)
    off = f"the board has {board}, and this plan with its code is {digest}: one of them changed."
    yield grade(board == digest, f"sealed: {digest}.", off)


def _find_open(plan: Mapping[str, Any], part: str) -> Part:
    names = ", ".join(name for name, value in plan.items() if value is ...)
    return Part(None, f"{part}: the plan has no {names} yet.")


def _grade_claim(plan: Mapping[str, Any]) -> Part:
    """Return the part of what is claimed, from which margin on, and why."""
    margin = plan["margin"]
    if plan["expected"] not in DEFENDED:
        return Part(False, f"expected: one of {', '.join(DEFENDED)}.")
    if not is_number(margin) or not 1 < margin < 2:
        off = "margin is a ratio between 1 and 2, such as 1.10 for ten percent"
        return Part(False, f"{off} (it is {shorten(margin)}).")
    for name in ("claim", "why_margin"):
        if len(str(plan[name]).split()) < MIN_WORDS:
            return Part(False, f"{name}: say it in a sentence that others understand.")
    return Part(True, f"claim: {plan['expected']}, with a margin of {margin:g}.")


def _grade_design(plan: Mapping[str, Any]) -> Part:
    """Return the part of order, blocks, days and laptops."""
    if str(plan["order"]).strip().lower() != INTERLEAVED:
        off = "then a slow minute hits one of the two. Which order did Lesson 3 find?"
        return Part(False, f"order: {plan['order']}: {off}")
    least = {"blocks": MIN_BLOCKS, "days": 2, "laptops": 2}
    for name, number in least.items():
        if not isinstance(plan[name], int) or plan[name] < number:
            return Part(False, f"{name}: a whole number, {number} or more.")
    machine_days = plan["days"] * plan["laptops"]
    width = compute_half_width(0.05, plan["blocks"], machine_days)
    return Part(
        True,
        f"design: {plan['blocks'] * machine_days} blocks on {machine_days} machine-days. If blocks"
        f" vary by 5 %, that gives ±{width:.1%}.",
    )


@check(2)
def check_2(
    low: Any, high: Any, steadiness: Any, plan: Any, board: Any, ours: Any
) -> Iterator[Part]:
    """Check the interval of the A/A check, and what it says of the laptops."""
    rows = _read_measured(ours, board)
    _, *ends = compute_sides(rows, "a_again")
    yield _grade_ends({"same_low": low, "same_high": high}, ends, "a_again over a")
    kind = judge_interval(ends[0], ends[1], plan["margin"])
    truth = {DEFENDED[1]: "steady", "open": "open"}.get(kind, "not steady")
    off = f"{ends[0]:.3f} to {ends[1]:.3f}, margin {plan['margin']:g}: does all of it lie within?"
    yield grade_choice(steadiness, truth, "machine", STEADINESS, f"machine: {truth}.", off)


@check(3)
def check_3(low: Any, high: Any, verdict: Any, plan: Any, board: Any, ours: Any) -> Iterator[Part]:
    """Check interval and verdict, and that all of it was measured by the plan."""
    rows = _read_measured(ours, board)
    _, *ends = compute_sides(rows)
    yield _grade_ends({"low": low, "high": high}, ends, "b over a")
    truth = judge_interval(ends[0], ends[1], plan["margin"])
    stands = "stands" if truth == plan["expected"] else "does not stand"
    well = f"verdict: {truth}. You expected {plan['expected']!r}: your claim {stands}."
    off = f"{verdict!r}: compare {ends[0]:.3f} to {ends[1]:.3f} with 1 and the margin."
    yield grade_choice(verdict, truth, "verdict", KINDS, well, off)
    yield _grade_amount(plan, _parse_lines(ours, board))


def _grade_amount(plan: Mapping[str, Any], blocks: pd.DataFrame) -> Part:
    """Return the part of what was measured: no more blocks and laptops than the plan has."""
    machine_days = plan["days"] * plan["laptops"]
    planned = plan["blocks"] * machine_days
    laptops = blocks["laptop"].nunique()
    measured = _describe_amount(len(blocks), blocks["machine_day"].nunique(), laptops)
    says = (
        f"data: {measured};"
        f" the plan has {_describe_amount(planned, machine_days, plan['laptops'])}."
    )
    is_planned = len(blocks) <= planned and laptops <= plan["laptops"]
    well = f"{says} Say so when you defend it." if len(blocks) < planned else says
    return grade(is_planned, well, f"{says} Which were added afterwards, and why?")


def _describe_amount(blocks: int, machine_days: int, laptops: int) -> str:
    days = format_count(machine_days, "machine-day")
    return f"{format_count(blocks, 'block')} of {days} on {format_count(laptops, 'laptop')}"


def _read_measured(ours: Any, board: Any) -> pd.DataFrame:
    """Return the pasted lines of one plan; raises `FormError` when they have no interval."""
    if ours is ...:
        raise OpenTaskError("no answer yet: replace each ... by the lines that were measured.")
    rows = _choose_quiet(_parse_lines(ours, board))
    if len(rows) < MIN_BLOCKS:
        raise FormError(f"{len(rows)} blocks are pasted: an interval needs {MIN_BLOCKS}.")
    return rows


def _grade_ends(given_ends: Mapping[str, Any], ends: list[float], what: str) -> Part:
    """Return the part of both ends of an interval, by name; the first wrong one is named."""
    part = Part(True, "")
    for (name, given), end, other in zip(given_ends.items(), ends, reversed(ends), strict=True):
        off = f"the interval of {what}: compute_interval of the logarithms, by machine-day; exp."
        hints = {
            log(end) / end: "that is still a logarithm: take exp.",
            1 / (end * other): f"that is the inverse ratio: it should be {what}.",
        }
        part = grade_number(given, end, name, "", hints, off, within=0.0005)
        if not part.right:
            return part
    return Part(True, f"interval: {ends[0]:.3f} to {ends[1]:.3f}.")
