"""The widgets of ``notebooks/06_your_documents.ipynb``: a file, its fields, questions, a progress bar, the answers.

Questions, cells and answers are those of `benchbook ask`, which measures in another process, so that the notebook stays
usable. The last answers come back when the notebook runs again.
"""

import asyncio
import os
import signal
import subprocess
import tempfile
from html import escape
from pathlib import Path
from typing import Final

import ipywidgets as widgets

from benchbook import grid, processes
from benchbook.datasets import own_records
from benchbook.digits import plural
from benchbook.explorer import answer_page, asked, documents, replies
from benchbook.explorer.answer_page import CARDS, STYLE
from benchbook.inputs import InputError

_ACCEPTED: Final = ".csv,.tsv,.tab,.txt,.json,.jsonl,.ndjson,.parquet"
_EVERY_S: Final = 0.5
_COLOURED: Final = ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE")


class YourDocuments(widgets.VBox):  # type: ignore[misc]
    """Asks questions of a file that is picked, and shows the answers."""

    def __init__(self) -> None:
        wide = widgets.Layout(width="auto")
        self._pick = widgets.FileUpload(accept=_ACCEPTED, description="Pick a file")
        hint = "or its path, such as export.csv or export.csv#decimal=comma"
        self._path = widgets.Text(placeholder=hint, layout=widgets.Layout(width="32rem"), continuous_update=False)
        self._understood = widgets.HTML()
        self._questions = {name: widgets.Checkbox(name == "json-or-xml", description=question.text, indent=False)
                           for name, question in documents.QUESTIONS.items()}  # fmt: skip
        self._records = widgets.BoundedIntText(documents.RECORDS, 1, 1_000_000, description="records", layout=wide)
        self._blocks = widgets.BoundedIntText(documents.BLOCKS, 1, 100, description="blocks", layout=wide)
        self._measure = widgets.Button(description="Measure and answer", button_style="primary", layout=wide)
        self._stop = widgets.Button(description="Stop", tooltip="what is finished is kept", disabled=True)
        self._bar = widgets.IntProgress(0, 0, 1, layout=widgets.Layout(width="16rem", visibility="hidden"))
        self._scope, self._status, self._answers = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self._process: subprocess.Popen[bytes] | None = None
        self._pick.observe(self._take, "value")
        self._path.observe(self._look, "value")
        self._records.observe(self._describe, "value")
        self._blocks.observe(self._describe, "value")
        self._measure.on_click(self._ask)
        self._stop.on_click(self._interrupt)
        super().__init__([
            widgets.HTML(f"<style>{STYLE}</style>"),
            widgets.HBox([self._pick, self._path]),
            self._understood,
            widgets.HBox([*self._questions.values()]),
            widgets.HBox([self._records, self._blocks]),
            self._scope,
            widgets.HBox([self._measure, self._stop, self._bar]),
            self._status,
            self._answers,
        ])  # fmt: skip
        self.add_class("bb-part")
        self._restore()

    def _restore(self) -> None:
        """Show what was asked last, with its answers."""
        last = asked.latest()
        if last is None:
            return
        self._path.value = last.file
        for name, box in self._questions.items():
            box.value = name in last.questions
        self._records.value, self._blocks.value = last.records, last.blocks
        try:
            self._show(list(last.questions), last.requests(), "Answers below, as they were measured before.")
        except InputError:  # the file has changed, and its answers went with it
            return

    def _take(self, _: object) -> None:
        """Keep a copy of the file that was picked, for the cells to read."""
        for picked in self._pick.value:
            folder = asked.folder()
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / Path(picked["name"]).name
            file.write_bytes(bytes(picked["content"]))
            # A file that is picked again may hold something else.
            self._path.value = ""
            self._path.value = str(file)

    def _look(self, _: object) -> None:
        """Show what is understood of the file, before anything is measured."""
        self._answers.value = self._status.value = self._understood.value = self._scope.value = ""
        path = self._path.value.strip()
        if not path:
            return
        try:
            known = own_records.understood(Path(path).expanduser())
        except InputError as error:
            self._understood.value = CARDS.refused(documents.without_folder(str(error), Path(path)))
            return
        fields = documents.field_rows(known)
        self._understood.value = CARDS.understood(known.words, known.notes, fields)
        self._records.value = min(documents.RECORDS, known.records)
        self._describe()

    def _describe(self, _: object = None) -> None:
        """Say how much of the file is measured."""
        self._scope.value = ""
        path = self._path.value.strip()
        try:
            known = own_records.understood(Path(path).expanduser()) if path else None
        except InputError:
            return
        if known:
            scope = documents.describe_scope(self._records.value, known.records, self._blocks.value)
            self._scope.value = f'<div class="bb bb-small">{escape(scope)}</div>'

    def _ask(self, _: object) -> None:
        """Start measuring what answers the chosen questions."""
        chosen = [name for name, box in self._questions.items() if box.value]
        path = self._path.value.strip()
        try:
            if not path:
                raise InputError("no file", "pick one, or write its path: JSON, CSV or Parquet")
            if not chosen:
                raise InputError("no question", "tick what you want to know")
            requests = documents.requests(path, chosen, self._records.value, self._blocks.value)
        except InputError as error:
            self._status.value = CARDS.refused(str(error))
            return
        sizes = ["--records", str(self._records.value), "--blocks", str(self._blocks.value)]
        file = Path(path).expanduser().resolve()
        command = [*processes.PYTHON, "-m", "benchbook.cli", "ask", str(file), *chosen, *sizes]
        self._measure.disabled, self._stop.disabled = True, False
        self._answers.value = ""
        self._bar.value, self._bar.layout.visibility = 0, "visible"
        self._task = asyncio.ensure_future(self._run(command, chosen, requests))

    def _interrupt(self, _: object) -> None:
        """Stop as Ctrl-C does."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)

    async def _run(self, command: list[str], chosen: list[str], requests: list[documents.Request]) -> None:
        """Measure in a process of its own, show how far it is, and at the end the answers."""
        cells = _cells(requests)
        self._bar.max = max(len(cells), 1)
        # Jupyter's kernels are told to colour what they print, which a notebook would show as it is sent.
        plain = {name: value for name, value in os.environ.items() if name not in _COLOURED}
        with tempfile.TemporaryFile() as log:
            # In the main thread, with which the process dies.
            self._process = processes.spawn(command, env=plain, stdout=log, stderr=log, death_signal=signal.SIGTERM)
            while self._process.poll() is None:
                done = sum(cell.path.is_file() for cell in cells)
                self._bar.value = done
                words = f"{done} of {plural(len(cells), 'cell')} measured"
                self._status.value = f'<div class="bb" role="status">{words}</div>'
                await asyncio.sleep(_EVERY_S)
            log.seek(0)
            said = escape(log.read().decode(errors="replace"))
        self._bar.layout.visibility = "hidden"
        self._measure.disabled, self._stop.disabled = False, True
        try:
            self._show(chosen, requests, "Measured. Answers below.", said)
        except InputError as error:
            self._answers.value = CARDS.refused(str(error))

    def _show(self, chosen: list[str], requests: list[documents.Request], status: str, said: str = "") -> None:
        """Show the answers, with a line that says so and what was printed meanwhile."""
        answers = replies.answers(chosen, requests)
        path = Path(self._path.value)
        known = own_records.understood(path.expanduser())
        scope = documents.describe_scope(self._records.value, known.records, self._blocks.value)
        texts = answer_page.write_text(answers), replies.write_csv(answers)
        details = f"<details><summary>what was printed</summary><pre>{said}</pre></details>" if said else ""
        self._status.value = f'<div class="bb" role="status">{status}{details}</div>'
        self._answers.value = CARDS.answers(answers, scope, *texts, path.name)


def _cells(requests: list[documents.Request]) -> list[grid.Cell]:
    """Return the cells that are measured; a request that refuses the records has none, and its answer says why."""
    cells: list[grid.Cell] = []
    for request in requests:
        try:
            cells += [cell for cell in request.plan().cells if not cell.missing]
        except grid.NoneFitsError:
            continue
    return cells
