"""The explorer as files: a page, and all answers of one or several runs, each computed beforehand.

A page that is opened as a file may load scripts, but no data. So the answers to each comparison are a packed script,
which ``assets/explorer.js`` loads, chooses from and draws; it computes no ratio. `write_page` writes what
`benchbook explore` opens, and `write_answers` what `make site` puts beside a page of its own.
"""

import base64
import gzip
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from benchbook import atomic, papers
from benchbook.digits import interval, p_value, plural, quantity, rounded
from benchbook.evidence.comparisons import MARGIN, Pair, estimated
from benchbook.evidence.published import text
from benchbook.evidence.sides import shared
from benchbook.explorer import contrasts
from benchbook.explorer.contrasts import Option
from benchbook.explorer.sources import Source

ASSETS: Final = Path(__file__).parent / "assets"
"""The folder of the page, its script and its styles."""

ANSWERS: Final = "answers"
"""The folder of the answers, beside the page that shows them."""

_DIGITS: Final = 4
"""Significant digits of what is drawn."""

_SCALES: Final = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1e6, "MB"), (1e3, "kB")),
}


@dataclass(frozen=True)
class Choice:
    """One option of a control."""

    value: str  # as the page's address has it
    called: str


@dataclass(frozen=True)
class Control:
    """What one thing is chosen with."""

    name: str
    called: str
    options: list[Choice]
    default: int  # which option stands where nothing is chosen; -1: the first that can be had


@dataclass(frozen=True)
class Block:
    """What one block says."""

    number: int  # the first is 1
    campaign: int  # which of the contrast's campaigns it belongs to, from 0
    a: float  # both sides' means, in the contrast's unit
    b: float
    ratio: float


@dataclass(frozen=True)
class Headline:
    """What an answer comes to, in words."""

    ratio: str  # empty where there is none
    between: str  # its interval, and of how many blocks
    words: str  # the finding in a sentence
    test: str


@dataclass(frozen=True)
class Contrast:
    """One answer: two sides at some levels; a number that there is not is NaN, and ``null`` in the file."""

    at: list[int]  # the option of each control; -1 where it has none
    headline: Headline
    estimate: str  # the ratio with its interval; of a difference that, with its unit
    ratio: float
    low: float
    high: float
    published: float
    unit: str  # of the blocks' means as they are drawn
    mean_a: float  # of all blocks of a side, to rank by
    mean_b: float
    shown_a: str  # the same as they are read
    shown_b: str
    compared: int  # of how many blocks the ratio is: those that are drawn, without disturbed ones
    blocks: list[Block]


@dataclass(frozen=True)
class Answers:
    """All answers to one comparison of a study."""

    margin: float  # the ratio up to which sides are called equivalent
    controls: list[Control]
    fixed: dict[str, str]  # the factors that have one level in all contrasts
    contrasts: list[Contrast]


def write_page(folder: Path, sources: Sequence[Source]) -> Iterator[Path]:
    """Write the explorer of some runs into a folder, and yield its page whenever a comparison is written.

    The page can be opened from the first time on: it waits for the answers that are still being written.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("index.html", "explorer.js", "explorer.css"):
        shutil.copyfile(ASSETS / name, folder / name)
    for _ in write_answers(folder / ANSWERS, sources):
        yield folder / "index.html"


def write_answers(
    folder: Path, sources: Sequence[Source], chosen: Callable[[str, str], bool] = lambda study, comparison: True
) -> Iterator[Path]:
    """Write the list of runs with what each compares, then a script per comparison; yield each script.

    Parameters
    ----------
    folder
        Of the scripts; what lies there is removed.
    sources
        The runs, in the order in which they are offered; the first is shown first.
    chosen
        Whether a study's comparison of that name is written.
    """
    shutil.rmtree(folder, ignore_errors=True)
    runs = [_listed(source, f"{number}", chosen) for number, source in enumerate(sources)]
    for number in range(len(runs)):
        (folder / f"{number}").mkdir(parents=True)
    listed = orjson.dumps(runs, option=orjson.OPT_INDENT_2).decode()
    atomic.write(folder / "runs.js", f"explorer.runs = {listed};\n")
    for source, run in zip(sources, runs, strict=True):
        for study in run.studies:
            for comparison in study.comparisons:
                packed = _packed(answers(source, study.name, comparison.name))
                atomic.write(folder / comparison.file, f'explorer.take("{comparison.file}", "{packed}");\n')
                yield folder / comparison.file


@dataclass(frozen=True)
class _Comparison:
    name: str
    file: str  # in the folder of the answers


@dataclass(frozen=True)
class _Study:
    name: str
    title: str
    comparisons: list[_Comparison]


@dataclass(frozen=True)
class _Run:
    name: str
    studies: list[_Study]


def _listed(source: Source, folder: str, chosen: Callable[[str, str], bool]) -> _Run:
    """Return what a run compares, and the file of each comparison's answers; studies without any are left out."""
    studies = []
    for study in source.studies:
        names = [name for name in contrasts.comparisons(source.measured(study)) if chosen(study, name)]
        files = [_Comparison(name, f"{folder}/{study}-{number}.js") for number, name in enumerate(names)]
        if files:
            studies.append(_Study(study, papers.reference(study).title, files))
    return _Run(source.name, studies)


def _packed(answers: Answers) -> str:
    return base64.b64encode(gzip.compress(orjson.dumps(answers), mtime=0)).decode()


def answers(source: Source, study: str, name: str) -> Answers:
    """Return all that can be asked of a comparison, with the answers."""
    measured = source.measured(study)
    comparison, every = contrasts.comparisons(measured)[name], contrasts.everything(measured, name)
    controls, places = [], {}
    for control, options in every.options.items():
        values = [as_value(option) for option in options]
        places[control] = {value: place for place, value in enumerate(values)}
        called = [contrasts.called_option(comparison, control, option) for option in options]
        default = places[control].get(as_value(every.defaults.get(control)), -1)
        choices = [Choice(value, words) for value, words in zip(values, called, strict=True)]
        controls.append(Control(control, contrasts.called_control(control), choices, default))
    answered = []
    for chosen, pair in every.pairs:
        at = [places[control].get(as_value(chosen[control]), -1) for control in places]
        answered.append(_contrast(at, pair))
    fixed = {name: as_value(level) for name, level in every.fixed.items() if level is not None}
    return Answers(MARGIN, controls, fixed, answered)


def as_value(option: Option) -> str:
    """Return an option of a control as the page's address has it."""
    return ".".join(option) if isinstance(option, tuple) else text(option)


def headline(answer: contrasts.Answer) -> Headline:
    """Return an answer in words."""
    row = answer.row
    if np.isnan(row.ratio):
        return Headline("", "", answer.words, "")
    here = row.ratio, row.low, row.high
    ends, blocks = interval(*here), plural(row.blocks, "block")
    between = f"95 % interval {ends}, over {blocks}" if ends else f"no interval, of {blocks}"
    test = row.test
    if not np.isnan(row.p):
        p = p_value(row.p)
        test += f", p {p}" if p.startswith("<") else f", p = {p}"
    return Headline(rounded(*here)[0], between, answer.words, test)


def _contrast(at: list[int], pair: Pair) -> Contrast:
    answer = contrasts.answer(pair)
    row = answer.row
    blocks = shared(pair.sides.values())
    a, b = (pair.sides[name].of(blocks) for name in ("a", "b"))
    divisor, unit = _scale(float(np.abs([a, b]).max()) if len(blocks) else 0.0, row.unit)
    campaigns = pair.sides["a"].campaigns_of(blocks)
    order = list(dict.fromkeys(campaigns))
    ratios = np.divide(a, b, out=np.full(len(blocks), np.nan), where=b != 0)
    values = zip(blocks, campaigns, a / divisor, b / divisor, ratios, strict=True)
    return Contrast(
        at=at, headline=headline(answer), estimate=estimated(row), unit=unit,
        compared=row.blocks,
        ratio=_rounded(row.ratio), low=_rounded(row.low), high=_rounded(row.high),
        published=_rounded(row.published_ratio), mean_a=_rounded(row.mean_a), mean_b=_rounded(row.mean_b),
        shown_a=quantity(row.mean_a, row.unit), shown_b=quantity(row.mean_b, row.unit),
        blocks=[Block(int(block) + 1, order.index(campaign), *map(_rounded, numbers))
                for block, campaign, *numbers in values],
    )  # fmt: skip


def _scale(largest: float, unit: str) -> tuple[float, str]:
    """Return what values up to the largest are divided by, and the unit that they then have."""
    return next(((by, name) for by, name in _SCALES.get(unit, ()) if largest >= by), (1.0, unit))


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
