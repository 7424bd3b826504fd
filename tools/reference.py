"""Keep what a profile's results give where a visitor sees it before running anything: the reference run.

``python -m tools.reference PROFILE`` builds the report and replaces ``figures/reference`` by it, by every figure (SVG),
its data (CSV) and its provenance (JSON); all repetitions and the block means that everything is drawn
from, as Parquet; claims, comparisons, papers' tables and A/A checks as CSV; the verdicts as a page of Markdown, with
what did not run and why; and what all of it is, as an RO-Crate. To be called after each day of measuring: results keep
the blocks of all days together.

``python -m tools.reference reference`` draws and judges what is kept there anew, with today's code.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchbook import grid, paths, report, results
from benchbook.analysis import VERDICTS, Analysis, Counts, stored_means
from benchbook.analysis.reference import ABOUT, MEANS, REPETITIONS
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.cli.claims import MEANINGS
from benchbook.plots import claim_lines
from benchbook.plots.claim_lines import ClaimLine
from benchbook.plots.provenance import provenance, span
from benchbook.report import merge, words
from benchbook.report.builder import STAMP
from benchbook.report.show import templates
from benchbook.results.folder import without_paths
from benchbook.results.spreadsheet import to_csv
from tools import crate

PAGE: Final = "verdicts.md"
TABLES: Final = ("claims", "comparisons", "tables", "aa")
"""What is written as CSV, in files of these names."""

_KINDS: Final = ("*.svg", "*.csv", "*.json", "*.html")
_TEMPLATES: Final = templates(Path(__file__).parent)

_ORDER: Final = ("study", "cell_id", "block", "operation", "role", "metric", "format", "codec", "repetition")
_LEVEL: Final = 19  # of zstd's 22: written once a day, read by everybody
_GROUP: Final = 20_000  # rows: who asks for a few cells reads a few of these, in a fifth of the time


def keep(profile: str) -> None:
    """Replace the reference run by what a profile's results give today; of `paths.REFERENCE` what is drawn alone."""
    drawn, folder = report.build(profile).parent, paths.reference()
    merged = merge.merge(profile)
    texts = {path.name: path.read_text(encoding="utf-8") for kind in _KINDS for path in sorted(drawn.glob(kind))}
    del texts[STAMP]
    origin = provenance(merged.means, merged.profile) | {"machine_days": machine_days(merged.means)}
    texts[ABOUT] = json.dumps(origin, indent=1, ensure_ascii=False) + "\n"
    texts |= {f"{name}.csv": to_csv(table) for name, table in list_tables(merged.analysis).items()}
    trusted = [words.aa(merged.analysis.aa), words.noise(merge.noise(merged))]
    judged = merged.analysis
    texts[PAGE] = page(merged.profile, judged.verdicts, judged.comparisons, trusted, merge.unfinished(merged))
    if profile != paths.REFERENCE:
        keys = grid.keys(merged.cells)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, keys, stored_means(keys))
    for former in folder.iterdir():
        if former.is_dir():
            shutil.rmtree(former)
        elif former.suffix != ".parquet":
            former.unlink()
    for name, text in texts.items():
        (folder / name).write_text(without_paths(text), encoding="utf-8")
    described = crate.described(folder, [f"{moment:%Y-%m-%d}" for moment in span(merged.means)])
    (folder / crate.METADATA).write_text(described, encoding="utf-8")


def write(folder: Path, identities: Iterable[str], means: pd.DataFrame) -> None:
    """Write the observations of some finished cells, and their block means, some five bytes a value.

    Parameters
    ----------
    folder
        Where `MEANS` and `REPETITIONS` are written, the second in the columns of
        `benchbook.results.schema.OBSERVATIONS`.
    identities
        As in `benchbook.results.observations`.
    means
        Their block means, as `benchbook.analysis.stored_means` returns them.
    """
    with results.connect(identities) as connection:
        query = f"SELECT * FROM observations ORDER BY {', '.join(_ORDER)}"
        observed = connection.sql(query).to_arrow_table()
    _write(folder / REPETITIONS, observed)
    _write(folder / MEANS, _type_like(means, observed.schema))


def _type_like(means: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """Return block means as a table whose parameters have a schema's types: pandas has no whole numbers beside NaN."""
    table = pa.Table.from_pandas(means, preserve_index=False).replace_schema_metadata()
    for field in schema:
        if field.name in table.column_names and field.name not in results.VALUES.names:
            column = table[field.name].cast(field.type)
            table = table.set_column(table.column_names.index(field.name), field, column)
    return table


def _write(path: Path, table: pa.Table) -> None:
    """Write a table, its texts without paths.

    Floating-point numbers are split into streams of bytes, which zstd packs a third smaller.
    """
    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            coded = table[field.name].combine_chunks().dictionary_encode()
            texts = [without_paths(text) for text in coded.dictionary.to_pylist()]
            table = table.set_column(number, field, pa.array(texts, field.type).take(coded.indices))
    split = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    others = [name for name in table.column_names if name not in split]
    packed: dict[str, Any] = {"compression": "zstd", "compression_level": _LEVEL}
    packed |= {"use_dictionary": others, "use_byte_stream_split": split, "write_page_checksum": True}
    pq.write_table(table, path, row_group_size=_GROUP, **packed)


def list_tables(analysis: Analysis) -> dict[str, pd.DataFrame]:
    """Return what is kept as CSV beside the figures, by name; the settings of a comparison as JSON."""
    tables = dict(zip(TABLES, (analysis.verdicts, analysis.comparisons, analysis.tables, analysis.aa), strict=True))
    for name in ("comparisons", "tables", "aa"):
        settings = [json.dumps(each, sort_keys=True) for each in tables[name]["settings"]]
        tables[name] = tables[name].assign(settings=settings)
    return tables


def machine_days(means: pd.DataFrame) -> list[dict[str, object]]:
    """Return each machine-day with its blocks and the number of cells."""
    days: list[dict[str, object]] = []
    for machine_day, rows in means.groupby("machine_day", sort=True):
        blocks = sorted({int(block) for block in rows["block"]})
        cells = int(rows.groupby(["cell_id", "block"]).ngroups)
        days.append({"machine_day": machine_day, "blocks": blocks, "cells": cells})
    return days


@dataclass(frozen=True)
class StudyLines:
    """The lines of one study on the page of verdicts: cells of tables, and texts."""

    name: str
    judged: list[list[str]]
    apart: list[list[str]]  # claims that are not comparable, with the numbers of their notes
    absent: list[tuple[str, str]]  # claims that did not run, with the reason
    notes: list[str]  # why something is not comparable, numbered from 1
    own: list[tuple[str, str]]  # claims, with what the paper's own numbers say against them

    @classmethod
    def of(cls, study: str, verdicts: pd.DataFrame, comparisons: pd.DataFrame) -> Self:
        """Return the lines of a study; of all claims, as `benchbook.analysis.Analysis` has them."""
        claims = ClaimVerdict.of(verdicts[verdicts["study"] == study])
        notes = claim_lines.number_notes(comparisons, claims)
        judged, apart, absent = list[list[str]](), list[list[str]](), list[tuple[str, str]]()
        for claim in claim_lines.sort_by_verdict(claims):
            line = claim_lines.write_line(claim, claim_lines.notes_of(claim, notes))
            numbers = ", ".join(map(str, line.notes))
            if line.verdict == "not run":
                absent.append((line.says, line.why))
            elif line.verdict == "not comparable":
                apart.append([line.says, line.here, _divided(line), _printed(line), numbers or line.why])
            else:
                noted = f" (note {numbers})" if numbers else ""
                blocks = f"{claim.blocks} / {claim.machine_days}" if claim.blocks else line.measured
                verdict = f"**{line.verdict}** {line.counts}{noted}"
                judged.append([verdict, line.says, line.here, _divided(line), _printed(line), blocks])
        own = [(claim.says.rstrip("."), claim.in_the_paper) for claim in claims if claim.in_the_paper]
        return cls(study, judged, apart, absent, list(notes), own)


def _divided(line: ClaimLine) -> str:
    """Return what a line's ratio is of, and where it ran."""
    return "; ".join(filter(None, [line.divided, line.place]))


def _printed(line: ClaimLine) -> str:
    """Return the paper's ratio, and how ours lies to it."""
    return ", ".join(filter(None, [line.printed, line.size]))


def page(
    profile: str,
    verdicts: pd.DataFrame,
    comparisons: pd.DataFrame,
    trusted: Sequence[str],
    unfinished: pd.DataFrame,
) -> str:
    """Return a profile's verdicts as Markdown: their counts, a line per claim, A/A checks, and what did not run."""
    counts = claim_lines.count_verdicts(verdicts)[["study", "claims", *VERDICTS]]
    failed = [(claim.study, claim_lines.write_line(claim)) for claim in claim_lines.list_failed(verdicts)]
    parts = {
        "profile": profile,
        "total": Counts.of(verdicts),
        "counts": [list(counts), *counts.replace(0, "–").to_numpy().tolist()],
        "failed": failed,
        "meanings": list(MEANINGS.items()),
        "studies": [StudyLines.of(study, verdicts, comparisons) for study in verdicts["study"].unique()],
        "trusted": trusted,
        "absent": [list(unfinished), *unfinished.to_numpy().tolist()] if len(unfinished) else [],
        "means": MEANS,
        "repetitions": REPETITIONS,
    }
    return _TEMPLATES.get_template("verdicts.md.j2").render(parts) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.reference")
    parser.add_argument("profile")
    keep(parser.parse_args().profile)
    sys.stdout.write(f"{paths.reference()}\n")
