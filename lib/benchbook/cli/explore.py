"""`benchbook explore`: the results of this machine beside the reference run, as a page that needs no server."""

import argparse
import os
import sys
import threading
import webbrowser
from pathlib import Path

from benchbook import cli, paths
from benchbook.cli import ask, output
from benchbook.explorer import page


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    text = "a file of your own documents: measures JSON or XML? of it, and opens the page of its answers"
    parser.add_argument("file", metavar="FILE", nargs="?", help=text)
    parser.add_argument("--no-open", action="store_true", help="print the page's path, and open no browser")


def main(asked: argparse.Namespace) -> int:
    """Write the page and open it; it shows answers as they are computed.

    Raises `benchbook.cli.UsageError` when nothing ran here and there is no reference run.
    """
    is_opened = not asked.no_open and _has_display()
    if asked.file:
        _say("reading the file ...")
        return ask.answer(asked.file, [ask.DEFAULT], show_page=lambda path: _show(path, is_opened))

    # The page comes first: to read the results takes seconds, and it says so meanwhile.
    if not _has_results():
        raise _nothing_ran()
    folder = paths.figures("explorer")
    _show(page.write(folder), is_opened)
    _say("reading this machine's results ...")

    # Here because they are slow to import.
    from benchbook import grid
    from benchbook.analysis.runs import Run
    from benchbook.explorer import answer_page, site

    output.report_damage(values=True)
    runs = {"this machine's results": Run.of_results("here", grid.finished()).analysis}
    _say("reading the reference run ...")
    runs["the reference run"] = Run.of_reference().analysis
    runs = {name: analysis for name, analysis in runs.items() if analysis.measured}
    if not runs:
        raise _nothing_ran()
    _say("comparing; the page fills meanwhile ...")
    for _ in site.write_answers(folder / page.ANSWERS, runs, documents=answer_page.list_pages()):
        pass
    _say("all answers are written")
    return cli.DONE


def _has_results() -> bool:
    """Return whether there is anything to read, without reading it."""
    ran = paths.results().is_dir() and next(paths.results().glob("*/*.parquet"), None)
    return bool(ran) or any(paths.reference().glob("*.parquet"))


def _nothing_ran() -> cli.UsageError:
    missing = f"nothing ran here, and there is no reference run in {paths.reference()}"
    return cli.UsageError(f"{missing}: benchbook run, or {paths.remedy()}")


def _say(step: str) -> None:
    """Print what is done now, to standard error: the answers take a while."""
    print(step, file=sys.stderr, flush=True)


def _show(path: Path, is_opened: bool) -> None:
    """Print a page's path, and open it."""
    print(path, flush=True)
    if is_opened:
        # A browser that runs in the foreground must not hold up the answers.
        threading.Thread(target=webbrowser.open, args=[path.resolve().as_uri()], daemon=True).start()


def _has_display() -> bool:
    """Return whether a browser can open a window here, or the user named one."""
    named = any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    return named or sys.platform in ("darwin", "win32")
