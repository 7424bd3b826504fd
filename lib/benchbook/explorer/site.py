"""The explorer as files: a page, and all answers of one or several runs, each computed beforehand.

A page that is opened as a file may load scripts, but no data. So the answers about each factor are a packed script,
which ``assets/explorer.js`` loads, chooses from and draws; it computes no ratio. `write_page` writes the page that
`benchbook explore` opens, and `write_answers` the answers that `make site` puts beside a page of its own.
"""

import base64
import gzip
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from benchbook import atomic, papers
from benchbook.analysis import Analysis, Comparison
from benchbook.analysis.comparisons import sentence
from benchbook.analysis.pairs import Pairs
from benchbook.analysis.published import text
from benchbook.analysis.sides import Measured, shared
from benchbook.digits import interval, p_value, plural, quantity, rounded
from benchbook.explorer import questions
from benchbook.explorer.questions import Answer, Option

ASSETS: Final = Path(__file__).parent / "assets"
"""The folder of the page, its script and its styles."""

ANSWERS: Final = "answers"
"""The folder of the answers, beside the page that shows them."""

_DIGITS: Final = 4
"""Significant digits of drawn numbers."""

_SCALES: Final = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1e6, "MB"), (1e3, "kB")),
}


def write_page(folder: Path, runs: Mapping[str, Analysis]) -> Iterator[Path]:
    """Write the explorer of some runs into a folder, and yield its page whenever a script of answers is written.

    The page can be opened from the first time on: it waits for the answers that are still being written.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("index.html", "explorer.js", "explorer.css"):
        shutil.copyfile(ASSETS / name, folder / name)
    for _ in write_answers(folder / ANSWERS, runs):
        yield folder / "index.html"


def write_answers(
    folder: Path, runs: Mapping[str, Analysis], is_wanted: Callable[[Pairs], bool] = lambda pairs: True
) -> Iterator[Path]:
    """Write the list of runs with what each compares, then a script per factor; yield each script.

    Parameters
    ----------
    folder
        Of the scripts; all else in it is removed.
    runs
        By the name that the page shows, in the order in which they are offered; the first is shown first.
    is_wanted
        Whether the answers about some pairs are written.
    """
    shutil.rmtree(folder, ignore_errors=True)

    # What each run compares; studies without any pair are left out.
    listed: list[dict[str, Any]] = []
    scripts: dict[str, tuple[Measured, Pairs]] = {}
    for number, (name, analysis) in enumerate(runs.items()):
        (folder / f"{number}").mkdir(parents=True)
        studies = []
        for study, measured in sorted(analysis.measured.items()):
            files: dict[str, str] = {}
            for pairs in filter(is_wanted, questions.list_pairs(measured)):
                files[pairs.name] = f"{number}/{study}-{len(files)}.js"
                scripts[files[pairs.name]] = measured, pairs
            if files:
                comparisons = [{"name": name, "file": file} for name, file in files.items()]
                studies.append({"name": study, "title": papers.reference(study).title, "comparisons": comparisons})
        listed.append({"name": name, "studies": studies})
    atomic.write(folder / "runs.js", f"explorer.runs = {orjson.dumps(listed, option=orjson.OPT_INDENT_2).decode()};\n")

    # The answers.
    for file, (measured, pairs) in scripts.items():
        packed = base64.b64encode(gzip.compress(orjson.dumps(page_answers(measured, pairs)), mtime=0)).decode()
        atomic.write(folder / file, f'explorer.take("{file}", "{packed}");\n')
        yield folder / file


def page_answers(measured: Measured, pairs: Pairs) -> dict[str, Any]:
    """Return the controls and all answers about some pairs, as the page's script reads them."""
    known = questions.answer_all(measured, pairs)
    controls, places = [], {}
    for control, options in known.options.items():
        values = [as_value(option) for option in options]
        places[control] = {value: place for place, value in enumerate(values)}
        called = [questions.call_option(pairs, control, option) for option in options]
        choices = [{"value": value, "called": words} for value, words in zip(values, called, strict=True)]
        default = places[control].get(as_value(known.defaults.get(control)), -1)
        label = questions.call_control(control)
        controls.append({"name": control, "called": label, "options": choices, "default": default})
    answers = []
    for answer in known.answers:
        at = [places[control].get(as_value(answer.chosen[control]), -1) for control in places]
        answers.append({"at": at, **_page_answer(answer, measured)})
    fixed = {name: as_value(level) for name, level in known.fixed.items() if level is not None}
    return {"controls": controls, "fixed": fixed, "answers": answers}


def as_value(option: Option) -> str:
    """Return an option of a control as it stands in the page's address."""
    return ".".join(option) if isinstance(option, tuple) else text(option)


def headline(row: Comparison) -> dict[str, str]:
    """Return a comparison in words: its value, its interval with the blocks, a sentence and its test."""
    words = sentence(row)
    said = {"value": "", "between": "", "words": words[0].upper() + words[1:], "test": ""}
    if np.isnan(row.estimate):
        return said
    is_ratio = row.kind == "ratio"
    value, *_ = rounded(row.estimate, row.low, row.high, sign="" if is_ratio else "+")
    ends = interval(row.estimate, row.low, row.high, "" if is_ratio else row.unit, sign="" if is_ratio else "+")
    blocks = f"{plural(row.blocks, 'block')} of {plural(row.machine_days, 'machine-day')}"
    said["value"] = f"{value} ×" if is_ratio else f"{value} {row.unit}"
    said["between"] = f"99 % interval {ends}, {blocks}" if ends else f"no interval, {blocks}"
    if not np.isnan(row.p):
        p = p_value(row.p)
        said["test"] = f"Student's t = {row.t:.1f}, df = {row.df}, p {p if p.startswith('<') else f'= {p}'}"
    return said


def _page_answer(answer: Answer, measured: Measured) -> dict[str, Any]:
    """Return one answer as the page's script reads it; NaN becomes ``null``."""
    row = answer.comparison
    blocks = shared(answer.sides.values())
    a, b = (answer.sides[name].only(blocks).values for name in ("a", "b"))
    divisor, unit = _scale(float(np.abs([a, b]).max()) if len(blocks) else 0.0, row.unit)
    ratios = np.divide(a, b, out=np.full(len(blocks), np.nan), where=b != 0)
    _, days = np.unique(measured.machine_days[blocks], return_inverse=True)
    is_ratio = row.kind == "ratio"
    return {
        "headline": headline(row),
        "estimate": row.words,
        "ratio": _rounded(row.estimate) if is_ratio else np.nan,
        "low": _rounded(row.low) if is_ratio else np.nan,
        "high": _rounded(row.high) if is_ratio else np.nan,
        "published": _rounded(row.published),
        "unit": unit,
        "mean_a": _rounded(row.mean_a),
        "mean_b": _rounded(row.mean_b),
        "shown_a": quantity(row.mean_a, row.unit),
        "shown_b": quantity(row.mean_b, row.unit),
        "blocks": [
            {"day": int(day), "a": _rounded(of_a), "b": _rounded(of_b), "ratio": _rounded(ratio)}
            for day, of_a, of_b, ratio in zip(days, a / divisor, b / divisor, ratios, strict=True)
        ],
    }


def _scale(largest: float, unit: str) -> tuple[float, str]:
    """Return the divisor of values up to the largest, and the unit that they then have."""
    return next(((by, name) for by, name in _SCALES.get(unit, ()) if largest >= by), (1.0, unit))


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
