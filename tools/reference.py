"""Keep what a profile's results give where a visitor sees it before running anything: the reference run.

``python -m tools.reference PROFILE`` builds the report and replaces ``figures/reference`` by it, by every figure (SVG),
its data (CSV) and its provenance (JSON); all repetitions and the block means that everything is drawn
from, as Parquet; the verdicts as a page of Markdown, with the controls, and what did not run and why; and what all of
it is, as an RO-Crate. To be called after each campaign: results keep the blocks of all campaigns together.

``python -m tools.reference reference`` draws and judges what is kept there anew, with today's code.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchbook import grid, paths, report, results
from benchbook.digits import estimate
from benchbook.evidence import notes, stored_means
from benchbook.evidence.reference import ABOUT, MEANS, REPETITIONS
from benchbook.evidence.verdicts import Outcome
from benchbook.plots.names import STACKS
from benchbook.plots.points import each
from benchbook.plots.provenance import provenance
from benchbook.report import merge, words
from benchbook.report.builder import STAMP
from benchbook.report.show import templates
from benchbook.results.folder import without_paths
from benchbook.results.spreadsheet import to_csv
from tools import crate

PAGE: Final = "verdicts.md"
CONTRASTS: Final = "contrasts.csv"
_KINDS: Final = ("*.svg", "*.csv", "*.json", "*.html")
_TEMPLATES: Final = templates(Path(__file__).parent)

_ORDER: Final = ("study", "cell_id", "block", "operation", "role", "metric", "format", "codec", "repetition")
_LEVEL: Final = 19  # of zstd's 22: written once a campaign, read by everybody
_GROUP: Final = 20_000  # rows: who asks for a few cells reads a few of these, in a fifth of the time


def keep(profile: str) -> None:
    """Replace the reference run by what a profile's results give today; of `paths.REFERENCE` what is drawn alone."""
    drawn, folder = report.build(profile).parent, paths.reference()
    merged = merge.merge(profile)
    texts = {path.name: path.read_text(encoding="utf-8") for kind in _KINDS for path in sorted(drawn.glob(kind))}
    del texts[STAMP]
    origin = provenance(merged.means, merged.profile) | {"campaigns": campaigns(merged.means)}
    texts[ABOUT] = json.dumps(origin, indent=1, ensure_ascii=False) + "\n"
    texts[CONTRASTS] = to_csv(merged.evidence.contrasts.drop(columns="lacking"))
    controls, disturbed = merged.evidence.controls, merge.disturbed(merged)
    trusted = [words.trust(controls, disturbed), words.disturbances(disturbed)]
    trusted += [f"{row.study}: {row.words}" for row in each(controls)]
    texts[PAGE] = page(merged.profile, merged.evidence.outcomes, merged.waits, trusted, merge.unfinished(merged))
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
    described = crate.described(folder, sorted({*merged.means["campaign"]}))
    (folder / crate.METADATA).write_text(described, encoding="utf-8")


def write(folder: Path, identities: Iterable[str], means: pd.DataFrame) -> None:
    """Write the observations of some finished cells, and their block means, some five bytes a value.

    Parameters
    ----------
    folder
        Where `MEANS` and `REPETITIONS` are written: both with their campaigns, the second in the columns of
        `benchbook.results.schema.OBSERVATIONS`.
    identities
        As in `benchbook.results.observations`.
    means
        Their block means, as `benchbook.evidence.stored_means` returns them.
    """
    with results.connect(identities) as connection:
        query = f"SELECT * FROM observations ORDER BY {', '.join(_ORDER)}"
        _write(folder / REPETITIONS, connection.sql(query).to_arrow_table())
    _write(folder / MEANS, pa.Table.from_pandas(means, preserve_index=False).replace_schema_metadata())


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


def campaigns(means: pd.DataFrame) -> list[dict[str, object]]:
    """Return each campaign's start, host, blocks and number of cells."""
    groups = means.groupby(["campaign", "host"], sort=True)
    return [
        {"start": start, "host": host, "blocks": sorted({int(block) for block in rows["block"]})}
        | {"cells": int(rows.groupby(["cell_id", "block"]).ngroups)}
        for (start, host), rows in groups
    ]


def page(
    profile: str, outcomes: pd.DataFrame, waits: Mapping[str, str], trusted: Sequence[str], unfinished: pd.DataFrame
) -> str:
    """Return a profile's results as Markdown: a table a study, what vouches for the machine, and what did not run."""
    studies = [
        (study, words.study_verdicts(group), [(_row(outcome), _why(outcome, waits)) for outcome in Outcome.of(group)])
        for study, group in outcomes.groupby("study", sort=False)
    ]
    absent = [list(unfinished), *unfinished.to_numpy().tolist()] if len(unfinished) else []
    parts = {"said": words.verdicts(outcomes), "studies": studies, "trusted": trusted, "absent": absent}
    parts |= {"profile": profile, "means": MEANS, "repetitions": REPETITIONS, "contrasts": CONTRASTS}
    return _TEMPLATES.get_template("verdicts.md.j2").render(parts) + "\n"


def _row(outcome: Outcome) -> list[str]:
    """Return the line of one claim: what a reader takes in at a glance."""
    here = "" if isnan(outcome.ratio) else estimate(outcome.ratio, outcome.low, outcome.high)
    published = "" if isnan(outcome.published) else estimate(outcome.published)
    return [outcome.says, outcome.wording, here, published, outcome.stage, STACKS.get(outcome.lane, "")]


def _why(outcome: Outcome, waits: Mapping[str, str]) -> str:
    """Return what each contrast found, what others found, and what the claim waits for."""
    others = [f"{STACKS[str(other['lane'])]}: {words.result(other)}" for other in outcome.others]
    waiting = [waits[outcome.id]] if outcome.id in waits else []
    return f"`{outcome.id}`: " + "; ".join([*notes(vars(outcome)), outcome.why, *others, *waiting])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.reference")
    parser.add_argument("profile")
    keep(parser.parse_args().profile)
    sys.stdout.write(f"{paths.reference()}\n")
