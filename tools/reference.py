"""Make the reference run: a profile's results as they are committed in ``figures/reference``.

``python -m tools.reference PROFILE`` replaces the run by the results that count for a profile, then
draws and judges it. They count by their levels and versions, whichever machine measured them, and
whatever this machine has installed. The folder has each figure (SVG) with its data (CSV) and
provenance (JSON); all repetitions and block means (Parquet); claims, comparisons, papers' tables
and A/A checks (CSV); a page of verdicts (Markdown); and a description of these files as an
RO-Crate.

``python -m tools.reference reference`` draws and judges the committed run again with today's code.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import pandas as pd
import yaml

from benchbook import grid, paths
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.runs import (
    ABOUT_FILE,
    MEANS_FILE,
    REPETITIONS_FILE,
    Analysis,
    load_reference_means,
)
from benchbook.analysis.verdicts import VERDICTS, ClaimVerdict, VerdictCounts
from benchbook.grid.cells import list_judged_results
from benchbook.plots import claim_lines
from benchbook.plots.claim_lines import ClaimLine
from benchbook.plots.provenance import describe_provenance, find_time_span
from benchbook.report import merged_run
from benchbook.report.build import STAMP, build_report
from benchbook.report.crate import LICENSE, METADATA, Entity, describe_folder, refer_to
from benchbook.report.run_files import write_run
from benchbook.report.tables import load_templates
from benchbook.report.text import describe_aa_checks, describe_hosts, describe_noise
from benchbook.results.views import format_csv
from benchbook.studies.catalogue import SLUGS
from benchbook.text.sentences import TERMS, VERDICT_MEANINGS, write_absence_remedy

PAGE: Final = "verdicts.md"
TABLES: Final = ("claims", "comparisons", "tables", "aa")
"""The names of the CSV files."""

_KINDS: Final = ("*.svg", "*.csv", "*.json", "*.html")
_TEMPLATES: Final = load_templates(Path(__file__).parent)


def keep_results(profile: str) -> None:
    """Replace the reference run's repetitions and block means by the results of a profile."""
    keys = list_judged_results(grid.make_plan(SLUGS, profile, everywhere=True).cells, own="")
    folder = paths.reference()
    folder.mkdir(parents=True, exist_ok=True)
    write_run(folder, keys)
    _describe_run(load_reference_means(), profile)


def _describe_run(means: pd.DataFrame, profile: str) -> None:
    """Describe the reference run in `ABOUT_FILE`."""
    about = describe_provenance(means, profile) | {"machine_days": list_machine_days(means)}
    text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
    (paths.reference() / ABOUT_FILE).write_text(text, encoding="utf-8")


def draw_run() -> None:
    """Draw and judge the reference run again: all files of its folder but the Parquet files."""
    drawn, folder = build_report(paths.REFERENCE).parent, paths.reference()
    merged = merged_run.merge_run(paths.REFERENCE)
    texts: dict[str, str] = {}
    for kind in _KINDS:
        for path in sorted(drawn.glob(kind)):
            texts[path.name] = path.read_text(encoding="utf-8")
    del texts[STAMP]
    texts |= {
        f"{name}.csv": format_csv(table) for name, table in list_tables(merged.analysis).items()
    }
    trusted = [
        describe_aa_checks(merged.analysis.aa),
        describe_hosts(merged.analysis),
        describe_noise(merged_run.list_loads(merged)),
    ]
    judged = merged.analysis
    texts[PAGE] = render_page(
        merged.profile,
        judged.verdicts,
        judged.comparisons,
        trusted,
        merged_run.list_unfinished(merged),
    )
    for former in folder.iterdir():
        if former.is_dir():
            shutil.rmtree(former)
        elif former.suffix != ".parquet":
            former.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    _describe_run(merged.means, merged.profile)
    days = [f"{moment:%Y-%m-%d}" for moment in find_time_span(merged.means)]
    (folder / METADATA).write_text(describe_reference(folder, days), encoding="utf-8")


def describe_reference(folder: Path, days: Sequence[str]) -> str:
    """Return the metadata of the reference run as an RO-Crate.

    Parameters
    ----------
    folder
        The folder of the reference run, with all of its files.
    days
        The days on which it was measured, as ISO 8601.
    """
    cited = yaml.safe_load((paths.root() / "CITATION.cff").read_text(encoding="utf-8"))
    authors: list[Entity] = []
    for number, author in enumerate(cited["authors"]):
        authors.append({"@id": f"#author-{number}", "@type": "Person", "name": author["name"]})
    about = {
        "datePublished": max(days),
        "name": f"benchbook {cited['version']}: the reference run",
        "description": cited["abstract"].strip(),
        "license": LICENSE,
        "keywords": cited["keywords"],
        "author": refer_to(authors),
        "temporalCoverage": f"{min(days)}/{max(days)}",
    }
    return describe_folder(folder, about, authors)


def list_tables(analysis: Analysis) -> dict[str, pd.DataFrame]:
    """Return the tables that are written as CSV by name, with settings as JSON."""
    tables = {"claims": ClaimVerdict.to_frame(analysis.verdicts)}
    compared = {
        "comparisons": analysis.comparisons,
        "tables": analysis.tables,
        "aa": analysis.aa,
    }
    for name, rows in compared.items():
        settings = [json.dumps(row.settings, sort_keys=True) for row in rows]
        tables[name] = Comparison.to_frame(rows).assign(settings=settings)
    # These are not corrected: they are not claims.
    tables["aa"] = tables["aa"].drop(columns="p_holm")
    return tables


def list_machine_days(means: pd.DataFrame) -> list[dict[str, object]]:
    """Return each machine-day with its blocks and the number of cells."""
    days: list[dict[str, object]] = []
    for machine_day, rows in means.groupby("machine_day", sort=True):
        blocks = sorted({int(block) for block in rows["block"]})
        cells = int(rows.groupby(["cell_id", "block"]).ngroups)
        days.append({"machine_day": machine_day, "blocks": blocks, "cells": cells})
    return days


@dataclass(frozen=True)
class StudyLines:
    """The lines of one study on the page of verdicts, as tables' cells and texts."""

    name: str
    decided: list[list[str]]
    undecided: list[list[str]]
    apart: list[list[str]]  # claims that are not comparable, with the numbers of their notes
    absent: list[tuple[str, str]]  # claims that did not run, with the reason
    remedy: str  # what would answer those that did not run
    notes: list[str]  # why something is not comparable, numbered from 1
    own: list[tuple[str, str]]  # claims, with what the paper's own numbers say against them

    @classmethod
    def of(
        cls, study: str, verdicts: Iterable[ClaimVerdict], comparisons: Iterable[Comparison]
    ) -> Self:
        """Write a study's lines from all verdicts and comparisons of a run."""
        claims = [claim for claim in verdicts if claim.study == study]
        notes = claim_lines.number_notes(comparisons, claims)
        decided, undecided, apart = list[list[str]](), list[list[str]](), list[list[str]]()
        absent = list[tuple[str, str]]()
        for claim in claim_lines.sort_by_verdict(claims):
            line = claim_lines.write_line(claim, notes.values())
            numbers = ", ".join(map(str, line.notes))
            says = f'{line.says}. <a id="{claim.id}" href="#{claim.id}">#</a>'
            if line.verdict == "not run":
                absent.append((says, line.why))
            elif line.verdict == "not comparable":
                apart.append(
                    [
                        says,
                        _describe_here(line),
                        _describe_ratio(line),
                        _describe_published(line),
                        numbers or line.why,
                    ]
                )
            else:
                noted = f" (note {numbers})" if numbers else ""
                blocks = f"{claim.blocks} / {claim.machine_days}" if claim.blocks else line.measured
                verdict = f"**{line.verdict}** {line.counts}{noted}"
                rows = undecided if claim.verdict == "undecided" else decided
                rows.append(
                    [
                        verdict,
                        says,
                        _describe_here(line),
                        _describe_ratio(line),
                        _describe_published(line),
                        blocks,
                    ]
                )
        own = [
            (claim.says.rstrip("."), claim.in_the_paper) for claim in claims if claim.in_the_paper
        ]
        remedy = write_absence_remedy(study)
        return cls(study, decided, undecided, apart, absent, remedy, list(notes), own)


def _describe_here(line: ClaimLine) -> str:
    """Return the ratio of a line, and the range over all of the claim's comparisons."""
    return f"{line.here}; all: {line.range}" if line.range else line.here


def _describe_ratio(line: ClaimLine) -> str:
    """Return the two terms of a line's ratio, and where it ran."""
    return "; ".join(filter(None, [line.divided, line.place]))


def _describe_published(line: ClaimLine) -> str:
    """Return the paper's ratio, and whether ours is larger."""
    return ", ".join(filter(None, [line.published, line.size]))


def render_page(
    profile: str,
    verdicts: Sequence[ClaimVerdict],
    comparisons: Sequence[Comparison],
    trusted: Sequence[str],
    unfinished: pd.DataFrame,
) -> str:
    """Return a profile's verdicts as a page of Markdown."""
    counted = claim_lines.count_verdicts(verdicts)
    # A verdict that no claim has needs no column.
    given = [verdict for verdict in VERDICTS if counted[verdict].any()]
    counts = counted[["study", "claims", *given]]
    failed = [
        (claim.study, claim_lines.write_line(claim)) for claim in claim_lines.list_failed(verdicts)
    ]
    parts = {
        "profile": profile,
        "total": VerdictCounts.count(verdicts),
        "counts": [list(counts), *counts.replace(0, "–").to_numpy().tolist()],
        "failed": failed,
        "findings": len({claim.finding for claim in claim_lines.list_failed(verdicts)}),
        "terms": TERMS,
        "meanings": list(VERDICT_MEANINGS.items()),
        "studies": [
            StudyLines.of(study, verdicts, comparisons)
            for study in dict.fromkeys(claim.study for claim in verdicts)
        ],
        "trusted": [*filter(None, trusted)],
        "absent": [list(unfinished), *unfinished.to_numpy().tolist()] if len(unfinished) else [],
        "means": MEANS_FILE,
        "repetitions": REPETITIONS_FILE,
    }
    return _TEMPLATES.get_template("verdicts.md.j2").render(parts) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.reference")
    parser.add_argument("profile")
    profile = parser.parse_args().profile
    if profile != paths.REFERENCE:
        keep_results(profile)
    draw_run()
    sys.stdout.write(f"{paths.reference()}\n")
