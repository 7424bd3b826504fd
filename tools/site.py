"""What `make site` puts beside the pages of `docs/`: the reference run's report, and every answer of the explorer.

``python -m tools.site FOLDER`` writes ``report/`` and ``explorer/`` into a site that Sphinx has built. Pages opened as
files may load scripts, but no data: each comparison's answers are a script of their own, packed, which
``docs/_static/explorer.js`` takes and shows. It computes nothing: all numbers are those that `benchbook explore` shows.
"""

import argparse
import base64
import gzip
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from benchbook import papers, paths
from benchbook.digits import quantity
from benchbook.evidence.comparisons import MARGIN, Pair, estimated
from benchbook.evidence.published import text
from benchbook.evidence.sides import shared
from benchbook.explorer import contrasts, drawing, markup
from benchbook.explorer.contrasts import Option
from benchbook.explorer.sources import Source
from benchbook.report.builder import PAGE

_DRAWINGS: Final = re.compile(r'<a [^>]*href="[^"]+\.svg"[^>]*>SVG</a> · ')
"""Links of the report to its drawings as files: they are in the page, and would make the site half as large again."""

_DIGITS: Final = 4
"""Significant digits of what is drawn."""


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
class Contrast:
    """One answer: two sides at some settings; a number that there is not is NaN, and ``null`` in the file."""

    at: list[int]  # the option of each control; -1 where it has none
    headline: markup.Headline
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
    stand_in: bool
    compared: int  # of how many blocks the ratio is: those that are drawn, without disturbed ones
    blocks: list[Block]


@dataclass(frozen=True)
class Answers:
    """All answers to one comparison of a study."""

    margin: float  # the ratio up to which sides are called equivalent
    controls: list[Control]
    contrasts: list[Contrast]


def answers(source: Source, study: str, name: str) -> Answers:
    """Return all that can be asked of a comparison, with what the explorer answers."""
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
    return Answers(MARGIN, controls, answered)


def as_value(option: Option) -> str:
    """Return an option of a control as the page's address has it."""
    return ".".join(option) if isinstance(option, tuple) else text(option)


def _contrast(at: list[int], pair: Pair) -> Contrast:
    answer = contrasts.answer(pair)
    row = answer.row
    blocks = shared(pair.sides.values())
    a, b = (pair.sides[name].of(blocks) for name in ("a", "b"))
    divisor, unit = drawing.scale(float(np.abs([a, b]).max()) if len(blocks) else 0.0, row.unit)
    campaigns = pair.sides["a"].campaigns_of(blocks)
    order = list(dict.fromkeys(campaigns))
    ratios = np.divide(a, b, out=np.full(len(blocks), np.nan), where=b != 0)
    values = zip(blocks, campaigns, a / divisor, b / divisor, ratios, strict=True)
    return Contrast(
        at=at, headline=markup.headline(answer), estimate=estimated(row), unit=unit, stand_in=row.stand_in,
        compared=row.blocks,
        ratio=_rounded(row.ratio), low=_rounded(row.low), high=_rounded(row.high),
        published=_rounded(row.published_ratio), mean_a=_rounded(row.mean_a), mean_b=_rounded(row.mean_b),
        shown_a=quantity(row.mean_a, row.unit), shown_b=quantity(row.mean_b, row.unit),
        blocks=[Block(int(block) + 1, order.index(campaign), *map(_rounded, numbers))
                for block, campaign, *numbers in values],
    )  # fmt: skip


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def explorer(folder: Path, source: Source, chosen: Callable[[str, str], bool] = lambda study, comparison: True) -> None:
    """Write the answers to the chosen comparisons, a script each, and the list of them.

    Parameters
    ----------
    folder
        Of the scripts; what lies there is removed.
    source
        The run whose answers they are.
    chosen
        Whether a study's comparison of that name is written.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    listed = []
    for study in source.studies:
        names: list[dict[str, str]] = []
        for name in contrasts.comparisons(source.measured(study)):
            if chosen(study, name):
                file = f"{study}-{len(names)}.js"
                packed = base64.b64encode(gzip.compress(orjson.dumps(answers(source, study, name)), mtime=0))
                (folder / file).write_text(f'explorer.take("{file}", "{packed.decode()}");\n', encoding="utf-8")
                names.append({"name": name, "file": file})
        listed.append({"name": study, "title": papers.reference(study).title, "comparisons": names})
    studies = orjson.dumps(listed, option=orjson.OPT_INDENT_2).decode()
    (folder / "studies.js").write_text(f"explorer.studies = {studies};\n", encoding="utf-8")


def report(folder: Path, home: str) -> None:
    """Write the committed report, with the tables and provenance that it links to.

    Parameters
    ----------
    folder
        Of its page, ``index.html``, and its files; what lies there is removed.
    home
        Where the site's first page is, from there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    page = _DRAWINGS.sub("", (paths.reference() / PAGE).read_text(encoding="utf-8"))
    back = f'<ul id="pages"><li><a href="{home}">benchbook</a></li>'
    (folder / "index.html").write_text(page.replace('<ul id="pages">', back, 1), encoding="utf-8")
    for name in set(re.findall(r'href="([^"/:]+\.(?:csv|json))"', page)):
        shutil.copyfile(paths.reference() / name, folder / name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.site")
    parser.add_argument("folder", type=Path)
    site = parser.parse_args().folder
    report(site / "report", "../index.html")
    explorer(site / "explorer", Source.of_reference())
    sys.stdout.write(f"{site / 'index.html'}\n")
