"""`benchbook figure`: one figure or table, laid out for a journal's page, with its provenance in it."""

import argparse
import json
import re
from pathlib import Path
from typing import Final

from benchbook import cli, paths, strict
from benchbook.cli import output, sources

ONE_COLUMN: Final = 3.5
NARROWEST, WIDEST = 3.0, 12.0
"""Inches that a figure can be laid out for."""

_INCHES: Final = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    parser.add_argument("name", nargs="*", metavar="NAME", help="figures or tables; without any their names are listed")
    text = "of the figure, such as 3.5in (one column: the default), 7.2in (two), 89mm; text keeps its printed size"
    parser.add_argument("--width", type=inches, default=ONE_COLUMN, metavar="W", help=text)
    text = "of pdf, svg, png (figures); tex, csv, json (both); default: pdf, and of tables tex,csv"
    parser.add_argument("--format", type=_formats, default=[], metavar="F,...", help=text)
    text = "leave title and notes off the figure: they are the caption, which --format tex writes"
    parser.add_argument("--no-title", action="store_true", help=text)
    parser.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="the folder (default: this one)")
    sources.add_options(parser)


def main(asked: argparse.Namespace) -> int:
    """Write what was asked for and print its files, or list what there is."""
    from benchbook.papers import exhibits  # here, for it is slow to import
    from benchbook.plots import exhibit, style

    known = {**exhibits.FIGURES, **exhibits.TABLES, **exhibits.HOSTS}
    for name in asked.name:
        if name not in known:
            raise cli.UsageError(f"no figure or table {name!r}: {strict.nearest(name, known)}")
    if not asked.name:
        kinds = dict.fromkeys(exhibits.TABLES, "table")
        rows = [{"name": name, "kind": kinds.get(name, "figure"), "title": _title(name)} for name in known]
        print(output.as_text(rows))
        return cli.DONE
    run = sources.run(asked)
    asked.output.mkdir(parents=True, exist_ok=True)
    with style.laid_out(style.Layout(asked.width, titled=not asked.no_title)):
        for name in asked.name:
            made = exhibits.made(run.evidence, name)
            formats = asked.format or (["tex", "csv"] if made.figure is None else ["pdf"])
            if made.figure is None and not {*formats} & {*exhibit.WRITTEN}:
                raise cli.UsageError(f"{name} is a table: --format takes {', '.join(exhibit.WRITTEN)} of it")
            for path in exhibit.save(made, asked.output / name, exhibits.about(run.evidence, name, run.name), formats):
                print(path)
    return cli.DONE


def _title(name: str) -> str:
    """Return what a figure or table is called in the committed run, without drawing it; empty where it is not there."""
    file = paths.reference() / f"{name}.json"
    return str(json.loads(file.read_text(encoding="utf-8"))["title"]) if file.is_file() else ""


def inches(text: str) -> float:
    """Return a width in inches, of a number with its unit (in, cm, mm, pt; inches without one)."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*(in|cm|mm|pt)?", text.strip())
    width = float(parts[1]) * _INCHES[parts[2] or "in"] if parts else 0.0
    if not NARROWEST <= width <= WIDEST:
        raise argparse.ArgumentTypeError(
            f"a width of {NARROWEST:g}in to {WIDEST:g}in, such as 3.5in or 89mm, not {text}"
        )
    return width


def _formats(text: str) -> list[str]:
    known = ("pdf", "svg", "png", "tex", "csv", "json")
    asked = [part.strip() for part in text.split(",")]
    for name in asked:
        if name not in known:
            raise argparse.ArgumentTypeError(f"no format {name!r}: {strict.nearest(name, known)}")
    return asked
