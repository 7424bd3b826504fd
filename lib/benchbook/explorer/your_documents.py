"""The answers about one of your files: as text, CSV, a page, and widgets of a notebook.

`benchbook ask` and `benchbook explore FILE` write the page before, while and after they measure; it
loads nothing and reloads itself meanwhile. ``notebooks/06_your_documents.ipynb`` shows
`YourDocuments`, which runs the same command in another process, so that the notebook stays usable.
"""

import asyncio
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any, Final

import ipywidgets as widgets
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchbook import paths
from benchbook.explorer.documents import (
    DEFAULT_BLOCKS,
    DEFAULT_RECORDS,
    QUESTIONS,
    AskedQuestion,
    Inquiry,
    choose_page_name,
    load_inquiry,
    load_latest_inquiry,
    locate_uploads,
    store_inquiry,
)
from benchbook.explorer.replies import Reply, answer_questions
from benchbook.explorer.text import describe_scope, omit_folder
from benchbook.files import suite_files
from benchbook.files.inputs import InputError
from benchbook.own_data import own_records
from benchbook.results.views import format_csv
from benchbook.servers import processes
from benchbook.text.number_format import format_duration

_PAGES: Final = "documents"
"""The folder of the pages, beside the explorer's."""

_MAX_LISTED_FIELDS: Final = 40
"""Fields of a file that are listed on a page."""

_MAX_BAR_LENGTH: Final = 20
"""Characters of the longest bar in a terminal."""

_CSV_COLUMNS: Final = [
    *("question", "of", "operation", "level", "value", "unit"),
    *("ratio_to_smallest", "low_99", "high_99"),
    *("blocks", "machine_days", "noisy_blocks", "state"),
]

_LARGE_FILES: Final = (
    "More than 10 MB? Write its path, or in a checkout pick it under <code>make lab</code>."
)
"""Beside the button, because the page of a Jupyter with the usual limit shows no error."""

_POLL_S: Final = 0.5
_COLOUR_VARIABLES: Final = ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE")

_ASSETS: Final = Path(__file__).parent / "assets"
_STYLE: Final = (_ASSETS / "explorer.css").read_text(encoding="utf-8")
_TEMPLATES: Final = Environment(
    loader=FileSystemLoader(_ASSETS), autoescape=True, undefined=StrictUndefined
)
_CARDS: Final[Any] = _TEMPLATES.get_template("cards.html.j2").module
"""The parts of a page as functions; each escapes what it is given."""


def write_text(replies: Sequence[Reply]) -> str:
    """Return answers as text for a terminal."""
    return "\n\n".join(map(_write_reply, replies))


def _write_reply(reply: Reply) -> str:
    """Return a reply as lines: sentences with bars, what was not tried, how it was measured."""
    lines = [reply.question.text]
    if not reply.answers:
        lines.append("  No answer: at least two must run to be compared.")
    bars = list(chain.from_iterable(answer.bars for answer in reply.answers))
    width = max((len(bar.level) for bar in bars), default=0)
    for answer in reply.answers:
        lines.append(f"  {answer.line}")
        for bar in answer.bars:
            drawn = "▇" * max(round(_MAX_BAR_LENGTH * bar.share), 1)
            numbers = f"{bar.value_text:>8}  {bar.ratio_text}"
            lines.append(f"    {bar.level:{width}}  {drawn:{_MAX_BAR_LENGTH}}  {numbers}")
    for why, levels in reply.not_tried.items():
        lines.append(f"  Not tried: {', '.join(levels)}: {why}")
    lines += [f"  {sentence}" for sentence in reply.small_print]
    return "\n".join(lines)


def write_csv(replies: Sequence[Reply]) -> str:
    """Return the numbers of answers as CSV, one row per question, operation and level.

    Texts that a spreadsheet would read as formulas are quoted.
    """
    rows = []
    for reply in replies:
        for answer in reply.answers:
            for bar in answer.bars:
                row: list[object] = [
                    reply.question.text,
                    answer.label,
                    answer.operation,
                    bar.level,
                    f"{bar.value:.6g}",
                    bar.unit,
                ]
                for end in (bar.ratio, bar.low, bar.high):
                    row.append("" if isnan(end) else f"{end:.6g}")
                row += [bar.blocks, bar.machine_days, bar.noisy, bar.state]
                rows.append(row)
    return format_csv(pd.DataFrame(rows, columns=_CSV_COLUMNS))


@dataclass(frozen=True)
class PageLink:
    """A page of answers, as the explorer links to it."""

    name: str  # of the file
    href: str


def locate_page(inquiry: Inquiry) -> Path:
    """Return the path of a file's page."""
    return paths.figures(_PAGES) / f"{choose_page_name(inquiry.file)}.html"


def list_pages() -> list[PageLink]:
    """Return the pages that exist, the newest first, with their addresses from the explorer."""
    pages = paths.figures(_PAGES).glob("*.html")
    newest_first = sorted(pages, key=lambda page: page.stat().st_mtime, reverse=True)
    return [PageLink(page.stem, f"../{_PAGES}/{page.name}") for page in newest_first]


def render_answer_page(
    inquiry: Inquiry,
    replies: Sequence[Reply],
    status: str,
    *,
    measuring: bool,
    has_boxes: bool = False,
) -> str:
    """Return a file's page.

    Parameters
    ----------
    inquiry
        What was asked about the file.
    replies
        The answers so far, in the order of the questions. While it measures, replies without an
        answer are left out.
    status
        The first sentence of the page.
    measuring
        Whether answers are still to come: the page then reloads itself.
    has_boxes
        Whether it stands below the boxes of `YourDocuments`, and so needs no commands.
    """
    newest = inquiry.asked[0] if inquiry.asked else None
    known = own_records.describe_file(inquiry.file, newest.records if newest else DEFAULT_RECORDS)
    scope = describe_scope(newest.records, known, newest.blocks) if newest else ""
    shown = [reply for reply in replies if reply.answers or not measuring]
    return _TEMPLATES.get_template("documents.html.j2").render(
        name=inquiry.name,
        style=_STYLE,
        status=status,
        known=known,
        fields=known.list_fields(_MAX_LISTED_FIELDS),
        replies=shown,
        scope=scope,
        text=write_text(shown),
        csv=write_csv(shown),
        next=[] if measuring or has_boxes else suggest_commands(inquiry, shown),
        explorer=(paths.figures("explorer") / "index.html").is_file(),
        measuring=measuring,
    )


class AnswerPage:
    """The page of a file's answers, which keeps those of earlier questions.

    Parameters
    ----------
    file
        The file's path, with the options that follow it.
    asked
        The questions that are asked now.
    """

    def __init__(self, file: str, asked: Sequence[AskedQuestion]) -> None:
        self._file, self._asked = file, asked
        before = load_inquiry(file)
        replies = answer_questions(
            [question.name for question in before.asked], before.request_cells()
        )
        pairs = zip(before.asked, replies, strict=True)
        self._earlier = [(question, reply) for question, reply in pairs if reply.answers]
        self.path = locate_page(before)

    def write(self, replies: Sequence[Reply], status: str, *, measuring: bool) -> None:
        """Write the answers so far, and store their questions for the next page.

        Parameters
        ----------
        replies
            Those to the first of the questions that are asked now.
        status, measuring
            As `render_answer_page` takes them.
        """
        # An earlier answer stays until there is a newer one.
        answered = {reply.name for reply in replies if reply.answers}
        earlier = [(one, reply) for one, reply in self._earlier if one.name not in answered]
        stored = dict.fromkeys([*self._asked, *(question for question, _ in earlier)])
        inquiry = Inquiry(self._file, tuple(stored))
        store_inquiry(inquiry)
        shown = [*replies, *(reply for _, reply in earlier)]
        page = render_answer_page(inquiry, shown, status, measuring=measuring)
        suite_files.write_file(self.path, page)


def suggest_commands(inquiry: Inquiry, replies: Sequence[Reply]) -> list[tuple[str, str]]:
    """Return commands that would answer more, each with what it would answer."""
    file = shlex.quote(inquiry.file)
    commands = []
    for reply in replies:
        command = f"benchbook ask {file} {reply.name} --records {reply.records}"
        if any(answer.noisy for answer in reply.answers):
            again = f"{command} --blocks {reply.blocks} --wait"
            commands.append((again, "measures noisy cells again, once the machine is quiet"))
        open_answers = [answer for answer in reply.answers if answer.blocks]
        if open_answers:
            blocks = max(answer.blocks for answer in open_answers)
            operations = dict.fromkeys(answer.operation for answer in open_answers)
            more = f"{command} --blocks {blocks}"
            commands.append((more, f"would settle {', '.join(operations)}"))
    asked = {question.name for question in inquiry.asked}
    others = [name for name in QUESTIONS if name not in asked]
    if others:
        command = f"benchbook ask {file} {others[0]}"
        commands.append((command, f"also answers: {QUESTIONS[others[0]].text}"))
    return commands


class YourDocuments(widgets.VBox):  # type: ignore[misc]
    """Asks questions about a file that is picked, and shows the page of their answers."""

    def __init__(self) -> None:
        wide = widgets.Layout(width="auto")
        self._process: subprocess.Popen[bytes] | None = None

        # The file, the questions, and how much is measured.
        self._pick = widgets.FileUpload(description="Pick a file")
        self._path = widgets.Text(
            placeholder="or its path, such as export.csv or export.csv#decimal=comma",
            layout=widgets.Layout(width="24rem"),
            continuous_update=False,
        )
        large_files = widgets.HTML(f'<div class="bb bb-small">{_LARGE_FILES}</div>')
        self._questions = {
            name: widgets.Checkbox(name == "json-or-xml", description=question.text, indent=False)
            for name, question in QUESTIONS.items()
        }
        self._records = widgets.BoundedIntText(
            DEFAULT_RECORDS, 1, 1_000_000, description="records", layout=wide
        )
        self._blocks = widgets.BoundedIntText(
            DEFAULT_BLOCKS, 1, 100, description="blocks", layout=wide
        )
        self._waits = widgets.Checkbox(
            description="wait for a quiet machine", indent=False, layout=wide
        )

        # Measuring, and the page.
        self._measure = widgets.Button(
            description="Measure and answer", button_style="primary", layout=wide
        )
        self._stop = widgets.Button(
            description="Stop", tooltip="what is finished is kept", disabled=True
        )
        self._status, self._page = widgets.HTML(), widgets.HTML()

        super().__init__(
            [
                widgets.HTML(f"<style>{_STYLE}</style>"),
                widgets.HBox([self._pick, self._path, large_files]),
                widgets.HBox([*self._questions.values()]),
                widgets.HBox([self._records, self._blocks, self._waits, self._measure, self._stop]),
                self._status,
                self._page,
            ]
        )
        self.add_class("bb-part")
        self._pick.observe(self._store_upload, "value")
        self._path.observe(self._show_file, "value")
        self._measure.on_click(self._ask)
        self._stop.on_click(self._interrupt)
        self._restore()

    def _restore(self) -> None:
        """Show the file that was asked about last, with its answers."""
        latest = load_latest_inquiry()
        if latest is None:
            return
        self._path.value = latest.file
        # The boxes have one number of records and of blocks for all questions.
        newest = latest.asked[0]
        alike = [one.name for one in latest.asked if replace(one, name=newest.name) == newest]
        for name, box in self._questions.items():
            box.value = name in alike
        self._records.value, self._blocks.value = newest.records, newest.blocks

    def _store_upload(self, _: object) -> None:
        """Store a copy of the file that was picked, for the cells to read."""
        for picked in self._pick.value:
            folder = locate_uploads()
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / Path(picked["name"]).name
            file.write_bytes(bytes(picked["content"]))
            # A file of the same name may have other contents: empty the path to cause a change.
            self._path.value = ""
            self._path.value = str(file)

    def _show_file(self, _: object) -> None:
        """Show how the file is read, and the answers that were measured before."""
        self._status.value = self._page.value = ""
        path = Path(self._path.value.strip())
        if not path.name:
            return
        file = str(path.expanduser().resolve())
        try:
            known = own_records.describe_file(file, DEFAULT_RECORDS)
            self._show_answers(file, "Measured before.")
        except InputError as error:
            self._status.value = _CARDS.refused(omit_folder(str(error), path))
            return
        self._records.value = min(DEFAULT_RECORDS, known.records)

    def _show_answers(self, file: str, status: str) -> None:
        """Show the page of all answers about a file."""
        inquiry = load_inquiry(file)
        names = [question.name for question in inquiry.asked]
        replies = answer_questions(names, inquiry.request_cells())
        status = status if names else "Not measured yet: tick questions, and measure."
        page = render_answer_page(inquiry, replies, status, measuring=False, has_boxes=True)
        self._show_page(page)

    def _show_page(self, page: str) -> None:
        frame = f'<iframe class="bb-page" title="the answers" srcdoc="{escape(page)}"></iframe>'
        self._page.value = frame

    def _ask(self, _: object) -> None:
        """Start to measure what answers the chosen questions."""
        chosen = [name for name, box in self._questions.items() if box.value]
        path = self._path.value.strip()
        if not path:
            formats = "JSON, CSV, Parquet or XML"
            self._status.value = _CARDS.refused(f"no file: pick one, or write its path: {formats}")
            return
        if not chosen:
            self._status.value = _CARDS.refused("no question: tick what you want to know")
            return
        file = str(Path(path).expanduser().resolve())
        command = [*processes.PYTHON, "-m", "benchbook.cli", "ask", file, *chosen]
        command += ["--records", str(self._records.value), "--blocks", str(self._blocks.value)]
        if self._waits.value:
            command.append("--wait")
        self._measure.disabled, self._stop.disabled = True, False
        self._task = asyncio.ensure_future(self._run(command, file))

    def _interrupt(self, _: object) -> None:
        """Stop as Ctrl-C does."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)

    async def _run(self, command: list[str], file: str) -> None:
        """Measure in another process, and show what it prints and the page that it writes."""
        page = locate_page(Inquiry(file, ()))
        # Jupyter tells its kernels to print colours, which a notebook would show as signs.
        environment = {
            name: value for name, value in os.environ.items() if name not in _COLOUR_VARIABLES
        }
        with tempfile.TemporaryFile() as log:
            # Started in the main thread: the process ends with the thread that started it.
            self._process = processes.spawn(
                command, env=environment, stdout=log, stderr=log, death_signal=signal.SIGTERM
            )
            status, start = None, time.monotonic()
            while status is None:
                await asyncio.sleep(_POLL_S)
                status = self._process.poll()
                # Without `seek`, because the process writes at the same position.
                size = os.fstat(log.fileno()).st_size
                printed = os.pread(log.fileno(), size, 0).decode(errors="replace").strip()
                so_far = format_duration(max(1, time.monotonic() - start))
                self._status.value = _CARDS.progress(status, printed, so_far)
                if page.is_file():
                    self._show_page(page.read_text(encoding="utf-8"))
        # A file that is gone has no answers any more: what was printed says so.
        with suppress(InputError):
            ended = "Not all was measured." if status else "Measured."
            self._show_answers(file, ended)
        self._measure.disabled, self._stop.disabled = False, True
