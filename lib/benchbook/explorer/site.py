"""The explorer as files: a page, and all answers of one or several runs, computed beforehand.

A page that is opened as a file may load scripts, but no data. So the answers about each factor are
a packed script, which ``assets/explorer.js`` loads, chooses from and draws; it computes no ratio.
`write_answers` writes them beside the page of `benchbook explore`, and beside that of the site.
"""

import base64
import gzip
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from benchbook.analysis.block_means import BlockMeans, find_shared_blocks
from benchbook.analysis.claim_comparisons import find_sides
from benchbook.analysis.claims import PaperComparisons
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.published import format_level
from benchbook.analysis.runs import Analysis
from benchbook.analysis.study_means import StudyMeans
from benchbook.analysis.verdicts import VerdictCounts
from benchbook.explorer.questions import Answer, Option, compute_answers, list_pairs
from benchbook.explorer.text import describe_comparison, label_control, label_option
from benchbook.explorer.your_documents import PageLink
from benchbook.files import suite_files
from benchbook.papers import exhibits
from benchbook.plots import claim_lines
from benchbook.plots.claim_lines import ClaimLine, write_line
from benchbook.text.number_format import choose_unit, format_number
from benchbook.text.sentences import NOISY_NOTE

ASSETS: Final = Path(__file__).parent / "assets"
"""The folder of the page, its script and its styles."""

NOISY_ANSWER: Final = f"{NOISY_NOTE.capitalize()}. Other programs were busy in all these blocks."

ANSWERS: Final = "answers"
"""The folder of the answers, beside the page that shows them."""

RUNS: Final = "runs.js"
"""The script that lists all runs and their studies; the page loads it first."""

_DIGITS: Final = 4
"""Significant digits of drawn numbers."""


@dataclass(frozen=True)
class PageClaim:
    """A paper's claim, as the page shows it, and the comparison that stands for it."""

    id: str
    line: ClaimLine
    headline: Comparison  # without an estimate where nothing was compared
    key: tuple[object, ...]  # of the answers that are the same comparison


@dataclass(frozen=True)
class AnswerScript:
    """A file of answers."""

    file: str  # in the folder of the answers
    measured: StudyMeans
    pairs: PaperComparisons
    claims: Sequence[PageClaim]


def write_explorer_page(folder: Path) -> Path:
    """Write the page into a folder, without anything else in it, and return its path.

    The page can be opened at once: it waits for the answers that `write_answers` writes.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("index.html", "explorer.js", "explorer.css"):
        suite_files.write_file(folder / name, (ASSETS / name).read_bytes())
    return folder / "index.html"


def write_answers(
    folder: Path,
    runs: Mapping[str, Analysis],
    is_wanted: Callable[[PaperComparisons], bool] = lambda pairs: True,
    documents: Sequence[PageLink] = (),
) -> Iterator[Path]:
    """Write each run's questions and claims, then a script of answers per factor; yield each file.

    Parameters
    ----------
    folder
        Of the scripts; all else in it is removed.
    runs
        By the name that the page shows, in the order in which they are offered; the first is shown
        first.
    is_wanted
        Whether the answers about some pairs are written.
    documents
        The pages of answers about a user's documents, to which the page links.
    """
    shutil.rmtree(folder, ignore_errors=True)
    listed, scripts = _list_scripts(runs, is_wanted)
    styles = claim_lines.VERDICT_STYLES
    begun = {
        "runs": listed,
        "colours": {verdict: style.colour for verdict, style in styles.items()},
        "documents": [asdict(link) for link in documents],
    }
    encoded = orjson.dumps(begun, option=orjson.OPT_INDENT_2).decode()
    suite_files.write_file(folder / RUNS, f"explorer.begin({encoded});\n")

    # The answers; what each study compares first is written before all else.
    for script in sorted(scripts, key=lambda script: not script.file.endswith("-0.js")):
        answers = encode_answers(script.measured, script.pairs, script.claims)
        packed = base64.b64encode(gzip.compress(orjson.dumps(answers), mtime=0)).decode()
        path = folder / script.file
        suite_files.write_file(path, f'explorer.take("{script.file}", "{packed}");\n')
        yield path


def _list_scripts(
    runs: Mapping[str, Analysis], is_wanted: Callable[[PaperComparisons], bool]
) -> tuple[list[dict[str, Any]], list[AnswerScript]]:
    """Return each run's questions, as the page lists them, and the scripts of its answers.

    Studies in which nothing can be compared are left out.
    """
    listed: list[dict[str, Any]] = []
    scripts: list[AnswerScript] = []
    for number, (name, analysis) in enumerate(runs.items()):
        studies = []
        for study, measured in sorted(analysis.studies.items()):
            claims = list_claims(analysis, study)
            of_study = [
                AnswerScript(f"{number}/{study}-{rank}.js", measured, pairs, claims)
                for rank, pairs in enumerate(filter(is_wanted, list_pairs(measured)))
            ]
            if of_study:
                studies.append(_encode_study(analysis, study, of_study, claims))
            scripts += of_study
        listed.append({"name": name, "studies": studies})
    return listed, scripts


def list_claims(analysis: Analysis, study: str) -> list[PageClaim]:
    """Return the claims of a study's paper, in its order."""
    compared = {row.key: row for row in analysis.comparisons}
    claims = []
    for verdict in analysis.verdicts:
        if verdict.study == study:
            headline = compared[verdict.headline_key]
            key = _make_key(headline, find_sides(headline, analysis.studies[study]))
            claims.append(PageClaim(verdict.id, write_line(verdict), headline, key))
    return claims


def _encode_study(
    analysis: Analysis, study: str, scripts: Sequence[AnswerScript], claims: Sequence[PageClaim]
) -> dict[str, Any]:
    """Return a study as the page lists it: its comparisons, its claims, and its headline."""
    headline = exhibits.HEADLINES.get(study)
    ran = {claim.id for claim in claims if claim.line.here}
    of_study = [claim for claim in analysis.verdicts if claim.study == study]
    return {
        "name": study,
        "title": exhibits.load_citation(study).title,
        "comparisons": [{"name": script.pairs.name, "file": script.file} for script in scripts],
        "counts": str(VerdictCounts.count(of_study)),
        "claims": [
            {"id": claim.id, **asdict(claim.line), "choice": _choose_controls(claim.headline)}
            for claim in claims
        ],
        "asks": headline.asks if headline else "",
        "headline": headline.claim if headline and headline.claim in ran else "",
    }


def _choose_controls(row: Comparison) -> dict[str, str]:
    """Return the options of the page's controls that are nearest to a claim's comparison."""
    if isnan(row.estimate):
        return {}
    settings = {}
    for name, level in row.settings.items():
        if level is not None:
            settings[name] = encode_option(level)
    return settings | {
        "a": row.a,
        "b": row.b,
        "operation": row.operation,
        "measure": encode_option((row.role, row.metric)),
        "language": row.language,
    }


def encode_answers(
    measured: StudyMeans, pairs: PaperComparisons, claims: Sequence[PageClaim] = ()
) -> dict[str, Any]:
    """Return the controls and all answers about some pairs, as the page's script reads them."""
    known = compute_answers(measured, pairs)
    controls = []
    ranks: dict[str, dict[str, int]] = {}
    for control, options in known.options.items():
        values = [encode_option(option) for option in options]
        ranks[control] = {value: rank for rank, value in enumerate(values)}
        choices = [
            {"value": value, "called": label_option(pairs, control, option)}
            for value, option in zip(values, options, strict=True)
        ]
        default = ranks[control].get(encode_option(known.defaults.get(control)), -1)
        label = label_control(control)
        controls.append({"name": control, "called": label, "options": choices, "default": default})
    answers = []
    for answer in known.answers:
        at = [ranks[control].get(encode_option(answer.chosen[control]), -1) for control in ranks]
        answers.append({"at": at, **_encode_answer(answer, measured)})
    fixed = {name: encode_option(level) for name, level in known.fixed.items() if level is not None}

    # The number of the answer that is a claim's comparison, by claim.
    numbers: dict[tuple[object, ...], int] = {}
    for number, answer in enumerate(known.answers):
        numbers.setdefault(_make_key(answer.comparison, answer.sides.values()), number)
    located = {claim.id: numbers[claim.key] for claim in claims if claim.key in numbers}
    return {
        "controls": controls,
        "fixed": fixed,
        "answers": answers,
        "claims": located,
    }


def _make_key(row: Comparison, sides: Iterable[BlockMeans]) -> tuple[object, ...]:
    """Return the key that two comparisons of the same blocks of the same cells share."""
    measured = [(side.cells, str(sorted(side.settings.items()))) for side in sides]
    return row.language, row.operation, row.role, row.metric, row.blocks, *measured


def encode_option(option: Option) -> str:
    """Return a control's option as the page's address has it."""
    return ".".join(option) if isinstance(option, tuple) else format_level(option)


def _encode_answer(answer: Answer, measured: StudyMeans) -> dict[str, Any]:
    """Return one answer as the page's script reads it; NaN becomes ``null``."""
    row = answer.comparison
    texts = describe_comparison(row)
    if answer.noisy:
        texts["open"] = NOISY_ANSWER
    is_ratio = row.kind == "ratio"
    size, unit, blocks = _encode_blocks(answer, measured)
    shown_a, shown_b = (
        f"{format_number(mean / size)} {unit}".strip() for mean in (row.mean_a, row.mean_b)
    )
    return {
        "headline": texts,
        "noisy": answer.noisy,
        "estimate": row.words,
        "ratio": _round(row.estimate) if is_ratio else np.nan,
        "low": _round(row.low) if is_ratio else np.nan,
        "high": _round(row.high) if is_ratio else np.nan,
        "published": _round(row.published),
        "unit": unit,
        "mean_a": _round(row.mean_a),
        "mean_b": _round(row.mean_b),
        "shown_a": shown_a,
        "shown_b": shown_b,
        "blocks": blocks,
    }


def _encode_blocks(answer: Answer, measured: StudyMeans) -> tuple[float, str, list[dict[str, Any]]]:
    """Return an answer's unit as `choose_unit`, and each block's day, two values and ratio."""
    blocks = find_shared_blocks(answer.sides.values())
    a, b = (answer.sides[name].select_blocks(blocks).values for name in ("a", "b"))
    size, unit = choose_unit([*a, *b], answer.comparison.unit)
    ratios = np.divide(a, b, out=np.full(len(blocks), np.nan), where=b != 0)
    _, days = np.unique(measured.machine_days[blocks], return_inverse=True)
    return (
        size,
        unit,
        [
            {"day": int(day), "a": _round(of_a), "b": _round(of_b), "ratio": _round(ratio)}
            for day, of_a, of_b, ratio in zip(days, a / size, b / size, ratios, strict=True)
        ],
    )


def _round(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
