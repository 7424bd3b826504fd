"""The answer to a question: each side over the first, with an interval, in words and as a figure.

Begin with `read_answer`. Blocks are compared as those of the papers' claims are: one ratio per
block, a 99 % interval over machine-days, and a smallest difference that matters.
"""

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from benchbook.analysis.comparisons import Comparison, judge_comparison
from benchbook.analysis.forecast import BLOCKS_PER_DAY, MAX_FORECAST_DAYS, forecast_outcomes
from benchbook.analysis.intervals import MIN_BLOCKS, compute_geometric_interval
from benchbook.results import files, folder
from benchbook.results.schema import METRIC_UNITS
from benchbook.sides.commands import COMMAND_METRICS
from benchbook.sides.measurement import STUDY
from benchbook.sides.question import LETTERS
from benchbook.text.names import name_metric
from benchbook.text.number_format import NOT_PRINTED, format_count, format_quantity
from benchbook.text.sentences import TIME_RATIO

# Those of figures and numbers are slow to import, and the answer's text does without.
if TYPE_CHECKING:
    from benchbook.papers.numbers import KeyedNumber
    from benchbook.plots.exhibit import Exhibit

SLOW_RUN: Final = 1.5
"""A run that takes longer than the median of its side and block by this factor is slow."""

MANY_RUNS: Final = 0.1
"""The share of slow runs from which on the answer says so."""


class NoBlocksError(LookupError):
    """No block of a question is in the results; the message has the names that are."""


@dataclass(frozen=True)
class SidesAnswer:
    """What the blocks of a question say.

    Attributes
    ----------
    name
        The question's name.
    sides
        Each side in words, by its letter.
    comparisons
        Each side over the first, by metric; the first ones are of time.
    check
        The first side over itself: its time under another name, in the same blocks.
    going_first
        A side's time when it goes first in its round, over its time when it does not.
    notes
        Blocks that are left out, or that other programs disturbed.
    """

    name: str
    sides: Mapping[str, str]
    comparisons: tuple[Comparison, ...]
    check: Comparison
    going_first: Comparison
    ratios: pd.DataFrame  # of time: a row per block, a column per side but the first
    notes: tuple[str, ...]

    def __str__(self) -> str:
        """Return the answer, then what supports it, in lines."""
        return "\n".join([*self.list_sentences(), "", *self._list_details()])

    def list_sentences(self) -> list[str]:
        """Return the answer's sentences: one per side but the first, and one on its blocks."""
        rows = self._list_times()
        first = rows[0]
        days = "one day: another day may differ"
        if first.machine_days > 1:
            days = format_count(first.machine_days, "machine-day")
        sentences = [f"{_describe_comparison(row)}." for row in rows]
        if self.check.stands == "for":
            sentences.append("But A differs from itself, so the machine is not steady enough.")
        return [*sentences, f"{format_count(first.blocks, 'block')}, {days}."]

    def make_table(self) -> pd.DataFrame:
        """Return the mean of each metric by side, and its ratio with the first side."""
        table: dict[str, dict[str, str]] = {}
        for row in self.comparisons:
            line = table.setdefault(name_metric(row.metric), {})
            line[LETTERS[0]] = format_quantity(row.mean_b, row.unit)
            line[row.a] = format_quantity(row.mean_a, row.unit)
            line[f"{row.a} / {LETTERS[0]}"] = NOT_PRINTED if row.reason else row.words
        return pd.DataFrame.from_dict(table, orient="index").fillna("")

    def make_exhibit(self) -> "Exhibit":
        """Return the figure: the ratio of every block, and the interval of their mean."""
        from benchbook.plots.exhibit import Dots, Exhibit
        from benchbook.plots.points import frame_points

        rows: list[dict[str, object]] = []
        levels = []
        for row in self._list_times():
            blocks, mean = f"{row.a}: each block", f"{row.a}: mean, 99 % interval"
            levels += [mean, blocks]
            rows += [{"level": blocks, "value": ratio} for ratio in self.ratios[row.a].dropna()]
            ends = {"value": row.estimate, "low": row.low, "high": row.high, "blocks": row.blocks}
            rows.append({"level": mean, **ends})
        points = frame_points(rows, source="here", unit="ratio")
        sides = [f"{letter}: {words}" for letter, words in self.sides.items()]
        drawing = Dots(f"time over that of {LETTERS[0]}", levels, reference=1.0)
        title = f"{self.name}: {self.list_sentences()[0]}"
        notes = [note.removesuffix(".") for note in self.notes]
        return Exhibit(title, points, (*sides, *notes), drawing)

    def list_numbers(self) -> "list[KeyedNumber]":
        """Return each ratio as `benchbook number` prints it; those of time first."""
        from benchbook.papers.numbers import KeyedNumber, make_key_part

        numbers = []
        for row in self.comparisons:
            key = f"versus.{make_key_part(self.name)}.{row.a.lower()}.{make_key_part(row.metric)}"
            says = f"{name_metric(row.metric)} of {self.sides[row.a]} over {self.sides[row.b]}"
            numbers.append(
                KeyedNumber(key, row.estimate, says, (), row.low, row.high, blocks=row.blocks)
            )
        return numbers

    def _repr_html_(self) -> str:
        """Return the answer with its figure and table, as a notebook shows it."""
        from benchbook.plots.save import draw_exhibit, shrink_svg
        from benchbook.plots.style import Layout, use_style

        layout = Layout(titled=False)
        figure, drawn = draw_exhibit(self.make_exhibit(), layout), BytesIO()
        with use_style(layout):
            figure.savefig(drawn, format="svg", metadata={"Date": None})
        first, *rest = self.list_sentences()
        parts = [f"<p><b>{html.escape(first)}</b> {html.escape(' '.join(rest))}</p>"]
        parts += [shrink_svg(drawn.getvalue().decode()), self.make_table().to_html()]
        parts += [f"<p>{html.escape(line)}</p>" for line in self._list_details(table=False)]
        return f"<div>{''.join(parts)}</div>"

    def _list_times(self) -> list[Comparison]:
        return [row for row in self.comparisons if row.metric == "wall_time"]

    def _list_details(self, *, table: bool = True) -> Iterator[str]:
        yield from (f"{letter}: {words}" for letter, words in self.sides.items())
        if table:
            yield from self.make_table().to_string().split("\n")
        yield _describe_check(self.check)
        cost = f"Going first takes {TIME_RATIO.format(self.going_first.words)}"
        yield f"{cost}; every side goes first as often as last."
        for row in self._list_times():
            if row.stands == "open":
                yield f"{row.a}: {_describe_need(row)}."
        yield from self.notes


def list_numbers() -> "list[KeyedNumber]":
    """Return the numbers of all questions, each of its newest code."""
    frame = read_blocks()
    answers = [read_answer(name, frame=frame) for name in list_names(frame)]
    return [*chain.from_iterable(answer.list_numbers() for answer in answers)]


def read_answer(
    name: str, digest: str | None = None, frame: pd.DataFrame | None = None
) -> SidesAnswer:
    """Return the answer of the blocks of a question that have one digest.

    Parameters
    ----------
    name
        Of the question. `NoBlocksError` is raised when none of its blocks is here.
    digest
        None: that of the newest block.
    frame
        The rows of `read_blocks`; None: they are read.
    """
    frame = read_blocks() if frame is None else frame
    chosen = frame[frame["question"] == name] if len(frame) else frame
    if chosen.empty:
        known = ", ".join(list_names(frame))
        others = f"the names are {known}" if known else "nothing was compared yet"
        raise NoBlocksError(f"no blocks of {name!r} are here: {others}")
    newest = chosen.sort_values("cell_started_at").iloc[-1]
    same = chosen[chosen["code_hash"] == (digest or newest["code_hash"])]
    notes = []
    hosts = same["host"].unique()
    if len(hosts) > 1:
        notes.append(f"Blocks of {len(hosts)} machines: {', '.join(hosts)}.")
    former = chosen["key"].nunique() - same["key"].nunique()
    if former:
        notes.append(f"Left out: {format_count(former, 'block')} of former commands or code.")
    same, noisy = _leave_out_noisy(same)
    notes += noisy
    return _compare_sides(name, same, float(newest["smallest"]), tuple(notes))


def list_names(frame: pd.DataFrame | None = None) -> list[str]:
    """Return the names of all questions that have blocks, or rows of `read_blocks`."""
    frame = read_blocks() if frame is None else frame
    return sorted(frame["question"].unique()) if len(frame) else []


def read_blocks() -> pd.DataFrame:
    """Return all rows of all questions, with the block's `machine_day` and `key`."""
    read: list[pd.DataFrame] = [
        files.read_table(file.path).to_pandas() for file in folder.open_results().list_files(STUDY)
    ]
    if not read:
        return pd.DataFrame()
    frame = pd.concat(read, ignore_index=True)
    dates = frame["cell_started_at"].dt.date.astype(str)
    return frame.assign(
        machine_day=frame["host"] + " " + dates,
        key=frame["cell_id"] + "." + frame["block"].map(str),
    )


def _leave_out_noisy(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the quiet blocks if they are enough for an interval, else all; and a note."""
    noisy = frame.loc[frame["noisy"], "key"].nunique()
    if not noisy:
        return frame, []
    quiet = frame[~frame["noisy"]]
    if quiet["key"].nunique() >= MIN_BLOCKS:
        return quiet, [f"Left out: {format_count(noisy, 'block')}, because other programs ran."]
    words = f"Other programs ran during {format_count(noisy, 'block')}, which are read all the same"
    return frame, [f"{words}: a quiet machine tells more."]


def _compare_sides(
    name: str, frame: pd.DataFrame, smallest: float, notes: tuple[str, ...]
) -> SidesAnswer:
    sides = dict(sorted(frame[["own_level", "side"]].drop_duplicates().to_numpy().tolist()))
    frame = frame.assign(value=frame["value"] / frame["count"])
    days = frame.drop_duplicates("key").set_index("key")["machine_day"]
    shared: dict[str, Any] = {"name": name, "days": days, "margin": 1 + smallest}

    # Each side but the first, by metric: one mean per block.
    comparisons = []
    for metric in COMMAND_METRICS:
        rows = frame[frame["metric"] == metric]
        means = rows.pivot_table("value", "key", "own_level", "mean")
        if means.empty:
            continue
        for letter in [*sides][1:]:
            of_a, of_b = means[letter], means[LETTERS[0]]
            comparisons.append(_compare(letter, LETTERS[0], metric, of_a, of_b, **shared))
    times = frame[frame["metric"] == "wall_time"]

    # Runs that are slow for their side and block.
    medians = times.groupby(["key", "own_level"])["value"].transform("median")
    shares = (times["value"] > SLOW_RUN * medians).groupby(times["own_level"]).mean()
    for letter, share in shares[shares >= MANY_RUNS].items():
        slow = f"{letter}: {100 * share:.0f} % of the runs take over"
        notes += (f"{slow} {TIME_RATIO.format(SLOW_RUN)} as the median of their block.",)

    # Of the times of the first side: one arm over the other, and first turns over later ones.
    first = times[times["own_level"] == LETTERS[0]]
    arms = first.pivot_table("value", "key", "arm", "mean")
    check = _compare("A again", "A", "wall_time", arms["b"], arms["a"], **shared)
    # In a reversed round the side that begins has just run, so these say nothing of going first.
    drawn = times[times["repetition"] % 2 == 0]
    scaled = drawn["value"] / drawn.groupby(["key", "own_level"])["value"].transform("mean")
    turns = drawn.assign(value=scaled, begun=drawn["turn"] == 1)
    begun = turns.pivot_table("value", "key", "begun", "mean").reindex(columns=[True, False])
    cost = _compare("going first", "later", "wall_time", begun[True], begun[False], **shared)

    all_means = times.pivot_table("value", "key", "own_level", "mean")
    ratios = all_means.div(all_means[LETTERS[0]], axis=0)
    return SidesAnswer(name, sides, tuple(comparisons), check, cost, ratios, notes)


def _compare(
    a: str,
    b: str,
    metric: str,
    of_a: "pd.Series[float]",
    of_b: "pd.Series[float]",
    *,
    name: str,
    days: "pd.Series[str]",
    margin: float,
) -> Comparison:
    """Return the comparison of two sides' means by block; without a ratio where one is zero."""
    row = Comparison(
        study=STUDY, name=name, language="", operation="", role="client", metric=metric,
        unit=METRIC_UNITS[metric], a=a, b=b, label="", settings={}, n=None,
        claimed="different", margin=margin, stands="open", mean_a=float(of_a.mean()),
        mean_b=float(of_b.mean()),
    )  # fmt: skip
    ratios = (of_a / of_b).where((of_a > 0) & (of_b > 0)).dropna()
    if len(ratios) < len(of_a.dropna()):
        return replace(row, reason="a mean is zero")
    interval = compute_geometric_interval(ratios, days[ratios.index].to_numpy())
    row = replace(row, **vars(interval))
    return replace(row, stands=judge_comparison(row))


def _describe_comparison(row: Comparison) -> str:
    """Return a comparison of times in words: what came out, and how much."""
    sentence = f"{row.a} takes {TIME_RATIO.format(row.words)} as {row.b}"
    share = f"{100 * (row.margin - 1):.3g} %"
    if row.reason:
        return f"{sentence}: undecided, {row.reason}"
    slower = row.estimate > 1
    side = "slower" if slower else "faster"
    is_shown = row.low > 1 or row.high < 1
    # Faster by 5 % is a ratio of 0.95, slower by 5 % one of 1.05.
    is_beyond = row.low > row.margin if slower else row.high < 2 - row.margin
    if is_beyond:
        return f"{sentence}: {side}, by more than {share}"
    if row.stands == "against":
        words = f"{side}, by less than {share}"
        return f"{sentence}: {words if is_shown else f'no difference of {share} or more'}"
    if row.stands == "for":
        return f"{sentence}: {side}"
    if is_shown:
        return f"{sentence}: {side}, perhaps by less than {share}"
    return f"{sentence}: undecided"


def _describe_check(check: Comparison) -> str:
    words = f"A/A check: A takes {TIME_RATIO.format(check.words)} as itself"
    if check.reason:
        return f"{words} ({check.reason})."
    if check.stands == "for":
        return f"{words}: it must not differ, so the machine is not steady enough."
    if check.stands == "open":
        return f"{words}: the interval is wide."
    return f"{words}: alike within {100 * (check.margin - 1):.3g} %, as it must be."


def _describe_need(row: Comparison) -> str:
    """Return how many more days would decide a comparison if its spread stays as it is."""
    if row.reason:
        return f"{MIN_BLOCKS} blocks are needed"
    for days in range(1, MAX_FORECAST_DAYS + 1):
        if forecast_outcomes([row], days) != ["open"]:
            more = f"{format_count(days, 'more day')} with --blocks {BLOCKS_PER_DAY}"
            return f"{more} would decide it, if they are like these"
    return f"{MAX_FORECAST_DAYS} more days would not decide it, if they are like these"
