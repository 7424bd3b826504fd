"""`benchbook explore`: the results of this machine beside the reference run, as a page that needs no server."""

import argparse
import os
import sys
import threading
import webbrowser

from benchbook import cli, paths
from benchbook.cli import output


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    parser.add_argument("--no-open", action="store_true", help="print the page's path and open no browser")


def main(asked: argparse.Namespace) -> int:
    """Write the page, open it once its first answers are there, and write the rest.

    Raises `benchbook.cli.UsageError` when nothing ran here and there is no reference run.
    """
    # Here because they are slow to import.
    from benchbook import grid
    from benchbook.analysis.runs import Run
    from benchbook.explorer import site

    output.report_damage(values=True)
    runs = {
        "this machine's results": Run.of_results("here", grid.finished()).analysis,
        "the reference run": Run.of_reference().analysis,
    }
    runs = {name: analysis for name, analysis in runs.items() if analysis.measured}
    if not runs:
        missing = f"nothing ran here, and there is no reference run in {paths.reference()}"
        raise cli.UsageError(f"{missing}: benchbook run, or {paths.remedy()}")
    opened = False
    for page in site.write_page(paths.figures("explorer"), runs):
        if not opened:
            opened = True
            print(page, flush=True)
            if not asked.no_open and _has_display():
                # A browser that runs in the foreground must not hold up the answers.
                threading.Thread(target=webbrowser.open, args=[page.resolve().as_uri()], daemon=True).start()
    return cli.DONE


def _has_display() -> bool:
    """Return whether a browser can open a window here, or the user named one."""
    named = any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    return named or sys.platform in ("darwin", "win32")
