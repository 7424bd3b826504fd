"""Add the reference run's report and the explorer's answers to the site of `docs/`: `make site`.

``python -m tools.site FOLDER`` writes ``report/`` and ``answers/`` into a site that Sphinx has
built. The answers are those of `benchbook explore`, by the same code.
"""

import argparse
import shutil
import sys
from pathlib import Path

from benchbook import paths
from benchbook.analysis.runs import Run
from benchbook.explorer.site import ANSWERS, write_answers
from benchbook.report.build import PAGE


def write_report(folder: Path, home: str) -> None:
    """Write the committed report, with the files that it links to.

    Parameters
    ----------
    folder
        The folder of ``index.html`` and its files; its contents are removed.
    home
        The address of the site's first page, from there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    unlinked = shutil.ignore_patterns("*.parquet", "*.md", PAGE)
    shutil.copytree(paths.reference(), folder, ignore=unlinked)
    page = (paths.reference() / PAGE).read_text(encoding="utf-8")
    back = f'<ul id="pages"><li><a href="{home}">benchbook</a></li>'
    (folder / "index.html").write_text(page.replace('<ul id="pages">', back, 1), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.site")
    parser.add_argument("folder", type=Path)
    site = parser.parse_args().folder
    write_report(site / "report", "../index.html")
    runs = {"the reference run": Run.read_reference().analysis}
    for _ in write_answers(site / ANSWERS, runs):
        pass
    sys.stdout.write(f"{site / 'index.html'}\n")
