"""The explorer as files: a page, and all answers of one or several runs, each computed beforehand.

A page that is opened as a file may load scripts, but no data. So the answers about each factor are a packed script,
which ``assets/explorer.js`` loads, chooses from and draws; it computes no ratio. `write_answers` writes them beside the
page of `benchbook explore` (`benchbook.explorer.page`), and beside the site's.
"""

import base64
import gzip
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from benchbook import atomic, papers
from benchbook.analysis import Analysis, Comparison, Counts
from benchbook.analysis.comparisons import sentence
from benchbook.analysis.pairs import Pairs
from benchbook.analysis.published import text
from benchbook.analysis.sides import Measured, shared
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.digits import interval, number, p_value, plural, quantity, rounded
from benchbook.explorer import questions
from benchbook.explorer.answer_page import Link
from benchbook.explorer.precision import detectable_ratio
from benchbook.explorer.questions import Answer, Option
from benchbook.papers import exhibits
from benchbook.plots import verdicts
from benchbook.plots.claim_lines import ClaimLine, write_line

RUNS: Final = "runs.js"
"""The script that lists what there is; the page loads it first."""

_DIGITS: Final = 4
"""Significant digits of drawn numbers."""

_NOISY: Final = "Noisy: no verdict. Other programs were busy in all these blocks."

_SCALES: Final = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1e6, "MB"), (1e3, "kB")),
}


def write_answers(
    folder: Path,
    runs: Mapping[str, Analysis],
    is_wanted: Callable[[Pairs], bool] = lambda pairs: True,
    documents: Sequence[Link] = (),
) -> Iterator[Path]:
    """Write what each run compares and claims, then a script per factor; yield each script of answers.

    Parameters
    ----------
    folder
        Of the scripts; all else in it is removed.
    runs
        By the name that the page shows, in the order in which they are offered; the first is shown first.
    is_wanted
        Whether the answers about some pairs are written.
    documents
        The pages of answers about a person's own documents, to which the page links.
    """
    shutil.rmtree(folder, ignore_errors=True)

    # What each run compares; studies without any pair are left out.
    listed: list[dict[str, Any]] = []
    scripts: list[Script] = []
    for place, (name, analysis) in enumerate(runs.items()):
        (folder / f"{place}").mkdir(parents=True)
        studies = []
        for study, measured in sorted(analysis.measured.items()):
            claims = list_claims(analysis, study)
            of_study: list[Script] = []
            for pairs in filter(is_wanted, questions.list_pairs(measured)):
                of_study.append(Script(f"{place}/{study}-{len(of_study)}.js", measured, pairs, claims))
            if of_study:
                studies.append(_page_study(analysis, study, of_study, claims))
            scripts += of_study
        listed.append({"name": name, "studies": studies})
    begun = {
        "runs": listed,
        "colours": {verdict: look.colour for verdict, look in verdicts.LOOKS.items()},
        "documents": [asdict(link) for link in documents],
    }
    atomic.write(folder / RUNS, f"explorer.begin({orjson.dumps(begun, option=orjson.OPT_INDENT_2).decode()});\n")

    # The answers, what each study compares first before all else.
    for script in sorted(scripts, key=lambda script: not script.file.endswith("-0.js")):
        answers = page_answers(script.measured, script.pairs, script.claims)
        packed = base64.b64encode(gzip.compress(orjson.dumps(answers), mtime=0)).decode()
        atomic.write(folder / script.file, f'explorer.take("{script.file}", "{packed}");\n')
        yield folder / script.file


@dataclass(frozen=True)
class Claim:
    """A paper's claim, as the page shows it, and the comparison that stands for it."""

    id: str
    line: ClaimLine
    headline: Comparison | None  # None where nothing was compared


@dataclass(frozen=True)
class Script:
    """A file of answers."""

    file: str  # in the folder of the answers
    measured: Measured
    pairs: Pairs
    claims: Sequence[Claim]


def list_claims(analysis: Analysis, study: str) -> list[Claim]:
    """Return the claims of a study's paper, in its order."""
    table = analysis.verdicts
    compared = analysis.comparisons
    claims = []
    for verdict in ClaimVerdict.of(table[table["study"] == study]):
        rows = compared[(compared["name"] == verdict.id) & (compared["estimate"] == verdict.estimate)]
        headline = next(iter(Comparison.of(rows)), None)
        claims.append(Claim(verdict.id, write_line(verdict), headline))
    return claims


def _page_study(analysis: Analysis, study: str, scripts: Sequence[Script], claims: Sequence[Claim]) -> dict[str, Any]:
    """Return a study as the page lists it: its comparisons, its claims, and which of them it opens with."""
    table = analysis.verdicts
    headline = exhibits.HEADLINES.get(study)
    ran = {claim.id for claim in claims if claim.line.here}
    return {
        "name": study,
        "title": papers.reference(study).title,
        "comparisons": [{"name": script.pairs.name, "file": script.file} for script in scripts],
        "counts": str(Counts.of(table[table["study"] == study])),
        "claims": [{"id": claim.id, **asdict(claim.line), "choice": _choice(claim.headline)} for claim in claims],
        "asks": headline.asks if headline else "",
        "headline": headline.claim if headline and headline.claim in ran else "",
    }


def _choice(row: Comparison | None) -> dict[str, str]:
    """Return where the page's controls stand for a claim's comparison, as near as its settings say."""
    if row is None:
        return {}
    settings = {name: as_value(level) for name, level in row.settings.items() if level is not None}
    sides = {"a": row.a, "b": row.b}
    measured = {"operation": row.operation, "measure": as_value((row.role, row.metric)), "language": row.language}
    return settings | sides | measured


def page_answers(measured: Measured, pairs: Pairs, claims: Sequence[Claim] = ()) -> dict[str, Any]:
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
    rows = [answer.comparison for answer in known.answers]
    return {"controls": controls, "fixed": fixed, "answers": answers, "claims": _find_claims(claims, rows)}


def _find_claims(claims: Sequence[Claim], rows: Sequence[Comparison]) -> dict[str, int]:
    """Return at which of some answers each claim's own comparison stands, by the claim; others are not among them."""
    places: dict[tuple[object, ...], int] = {}
    for place, row in enumerate(rows):
        places.setdefault(_key(row), place)
    found = {}
    for claim in claims:
        if claim.headline and _key(claim.headline) in places:
            found[claim.id] = places[_key(claim.headline)]
    return found


def _key(row: Comparison) -> tuple[object, ...]:
    """Return what two comparisons of the same blocks have in common."""
    numbers = (f"{number:.9g}" for number in (row.estimate, row.low, row.high))
    return row.language, row.operation, row.role, row.metric, row.kind, row.blocks, *numbers


def as_value(option: Option) -> str:
    """Return an option of a control as it stands in the page's address."""
    return ".".join(option) if isinstance(option, tuple) else text(option)


def headline(row: Comparison) -> dict[str, str]:
    """Return a comparison in words: its value, its interval with the blocks, a sentence, what is open and its test."""
    words = sentence(row)
    said = {"value": "", "between": "", "words": words[0].upper() + words[1:], "open": "", "test": ""}
    if np.isnan(row.estimate):
        return said
    is_ratio = row.kind == "ratio"
    value, *_ = rounded(row.estimate, row.low, row.high, sign="" if is_ratio else "+")
    ends = interval(row.estimate, row.low, row.high, "" if is_ratio else row.unit, sign="" if is_ratio else "+")
    blocks = f"{plural(row.blocks, 'block')} of {plural(row.machine_days, 'machine-day')}"
    said["value"] = f"{value} ×" if is_ratio else f"{value} {row.unit}"
    said["between"] = f"99 % interval {ends}, {blocks}" if ends else f"no interval, {blocks}"
    if is_ratio and row.low <= 1 <= row.high and row.low < row.high:
        shows = number(detectable_ratio(row))
        said["open"] = (
            f"No difference shown: {plural(row.blocks, 'block')} can only show differences above {shows} times."
        )
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
        "headline": headline(row) | ({"open": _NOISY} if answer.noisy else {}),
        "noisy": answer.noisy,
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
