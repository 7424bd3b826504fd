"""The widgets of the explorer for one's own documents: a file, what is understood of it, questions, the answers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import ipywidgets as widgets

from benchbook import paths
from benchbook.datasets import own_records, record_files
from benchbook.digits import plural
from benchbook.explorer import documents, markup, running
from benchbook.explorer.measuring import Runner
from benchbook.explorer.small_widgets import WIDE, button, part
from benchbook.inputs import InputError

_ACCEPTED: Final = ".csv,.tsv,.tab,.txt,.json,.jsonl,.ndjson,.parquet"


class OwnFile:
    """A file that a person chose, what is understood of it, the questions asked of it and their answers."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._upload = widgets.FileUpload(accept=_ACCEPTED, description="Choose a file")
        self._path = widgets.Text(
            description="or its path", placeholder="orders.jsonl", layout=WIDE, continuous_update=False
        )
        self._stated = {
            "delimiter": _stated("Delimiter", record_files.DELIMITERS),
            "decimal": _stated("Decimal mark", record_files.DECIMALS),
        }
        self._reading = widgets.Box([*self._stated.values()], layout=widgets.Layout(display="none"))
        self._understood, self._replies = widgets.HTML(), widgets.HTML()
        self._ticks = {name: widgets.Checkbox(True, description=question.text, indent=False)
                       for name, question in documents.QUESTIONS.items()}  # fmt: skip
        first = documents.PLANS[0]
        plans = [(plan.words, plan) for plan in documents.PLANS]
        self._plan = widgets.Dropdown(options=plans, description="Time", layout=WIDE)
        self._count = widgets.BoundedIntText(first.records, min=1, max=100_000, description="records", layout=WIDE)
        most = documents.MOST_BLOCKS
        self._blocks = widgets.BoundedIntText(first.blocks, min=2, max=most, description="blocks", layout=WIDE)
        self._runner = Runner(self._requests, self._answered, "Measure and answer")
        self._more = button("Measure more", self._decide, "what is measured already is not measured again")
        self._unstated = False  # whether the controls are being emptied for another file
        self._asked: list[running.Request] = []
        self._given: list[documents.Reply] = []
        self._in_file = first.records
        self._upload.observe(self._uploaded, "value")
        self._plan.observe(self._planned, "value")
        self._path.observe(self._other, "value")
        for control in self._stated.values():
            control.observe(self._look, "value")
        self._forget()

    @property
    def widget(self) -> widgets.Widget:
        """What is shown, from top to bottom."""
        chooser = widgets.Box([self._upload, self._path]).add_class("bb-controls")
        questions = widgets.Box([*self._ticks.values()]).add_class("bb-controls")
        amount = widgets.Box([self._plan, self._count, self._blocks]).add_class("bb-controls")
        reading = self._reading.add_class("bb-controls")
        answers = (self._runner.widget, self._replies, widgets.HBox([self._more]))
        return part(chooser, reading, self._understood, questions, amount, *answers)

    def _file(self) -> str:
        """Return the file's path, and what is stated of the file."""
        words = [f"{name}={control.value}" for name, control in self._stated.items() if control.value]
        return str(self._path.value).strip() + (f"#{'+'.join(words)}" if words else "")

    def _uploaded(self, _: object) -> None:
        if self._upload.value:
            folder = paths.results() / ".own"
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / Path(self._upload.value[0]["name"]).name
            file.write_bytes(bytes(self._upload.value[0]["content"]))
            # A file that is chosen again may hold something else.
            self._path.value = ""
            self._path.value = str(file)

    def _other(self, _: object) -> None:
        """Look at another file, of which nothing is stated yet."""
        self._unstated = True
        for control in self._stated.values():
            control.value = ""
        self._unstated = False
        self._look()

    def _look(self, _: object = None) -> None:
        """Show what is understood of the file, before anything is measured of it."""
        if self._unstated:
            return
        self._forget()
        self._understood.value = ""
        self._reading.layout.display = "none"
        if not self._path.value.strip():
            return
        file = Path(self._path.value.strip())
        try:
            known = own_records.understood(Path(self._file()).expanduser())
        except InputError as error:
            self._understood.value = markup.refused(documents.without_folder(str(error), file))
            self._reading.layout.display = None if file.suffix.lower() in record_files.TEXTS else "none"
            return
        self._understood.value = markup.understood(known)
        self._reading.layout.display = None if known.delimiter else "none"
        self._in_file = known.records
        self._ticks["arrays"].value = any(field.type == "array" for field in known.fields)
        self._planned()

    def _planned(self, _: object = None) -> None:
        self._count.value = min(self._plan.value.records, self._in_file)
        self._blocks.value = self._plan.value.blocks

    def _forget(self) -> None:
        self._replies.value, self._more.layout.display = "", "none"

    def _chosen(self) -> list[str]:
        return [name for name, tick in self._ticks.items() if tick.value]

    def _requests(self) -> list[running.Request]:
        if not self._path.value.strip():
            raise InputError("no file", "choose one, or write its path: JSON, CSV or Parquet")
        if not self._chosen():
            raise InputError("no question", "tick what you want to know")
        self._forget()
        try:
            self._asked = documents.requests(self._file(), self._chosen(), self._count.value, self._blocks.value)
        except InputError:
            # The button says so.
            self._understood.value = ""
            raise
        return self._asked

    def _answered(self) -> None:
        self._given = documents.answers(self._chosen(), self._asked)
        self._replies.value = "".join(map(markup.reply, self._given))
        if (blocks := max((reply.blocks for reply in self._given), default=0)) > self._blocks.value:
            self._more.description = f"Measure {plural(blocks - self._blocks.value, 'more block')}"
            self._more.layout.display = None
        self._then()

    def _decide(self) -> None:
        """Measure as many blocks more as would decide what is open."""
        self._blocks.value = max(reply.blocks for reply in self._given)
        self._runner.start()


def _stated(words: str, marks: Mapping[str, str]) -> widgets.Dropdown:
    """Return what states one of a delimited file's marks, in place of what is sniffed."""
    options = [("as it looks", ""), *((f"{name} {mark}".strip(), name) for name, mark in marks.items())]
    return widgets.Dropdown(options=options, description=words, layout=WIDE)
