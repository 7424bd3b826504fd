"""The explorer's widgets: what they say is made elsewhere in this package, here it is put on the page."""

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Final

import ipywidgets as widgets
from pydantic import ValidationError

from benchbook import explorer, paths
from benchbook.datasets import own_records, record_files
from benchbook.digits import plural, quantity
from benchbook.evidence.measured import parameters
from benchbook.evidence.published import CellSettings
from benchbook.explorer import contrasts, documents, drawing, markup, own_claims, running
from benchbook.explorer.contrasts import Option, called_control, called_level, called_option
from benchbook.explorer.sources import HERE, REFERENCE, Source
from benchbook.inputs import InputError
from benchbook.plots import exhibit
from benchbook.plots.points import each
from benchbook.plots.provenance import provenance

STYLE: Final = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
_ACCEPTED: Final = ".csv,.tsv,.tab,.txt,.json,.jsonl,.ndjson,.parquet"
_WIDE: Final = widgets.Layout(width="auto")


class Page:
    """What a reader chose, and the parts of the page that show it: `look`, `claim`, `measure`, `documents`.

    Parameters
    ----------
    sources
        Where numbers come from, by their names; the first is shown first. None: what ran here, if anything did, and
        the reference run.
    """

    def __init__(self, sources: Mapping[str, Source] | None = None) -> None:
        self.sources = dict(_sources() if sources is None else sources)
        self._quiet = False
        self._controls: dict[str, widgets.Dropdown] = {}
        self._source = self._control("source", "Numbers of", self._comparable_sources())
        self._study = self._control("study", "Study", [])
        self._comparison = self._control("comparison", "Compare", [])
        self._factors = widgets.Box().add_class("bb-controls")
        self._answer, self._figure, self._files, self._claims, self._provenance = (_html() for _ in range(5))
        self._point = widgets.Dropdown(description="Block", layout=_WIDE)
        self._point.observe(lambda _: self._show_point(), "value")
        self._shown = widgets.VBox()
        self._registered, self._removal = _html(), widgets.HBox()
        self._removable = widgets.Dropdown(description="Claim", layout=widgets.Layout(flex="0 1 30rem"))
        self._chosen_study = ""
        self._follow: Callable[[], None] = lambda: None
        self.update()
        if ready := os.environ.get(explorer.READY):  # `benchbook explore` waits for it
            Path(ready).touch()

    @property
    def look(self) -> widgets.Widget:
        """The contrast: what is compared, the answer, its figure and all that stands behind it."""
        export = _button("Make files of this figure", self._export, "SVG, PDF and the data as CSV")
        first = widgets.Box([self._source, self._study, self._comparison]).add_class("bb-controls")
        points = widgets.VBox([self._point, self._provenance])
        behind = widgets.Accordion([points], titles=["Where each block comes from"])
        files = widgets.HBox([export, self._files])
        self._shown.children = [self._answer, self._figure, files, self._claims, behind]
        return _part(_html(f"<style>{STYLE}</style>"), first, self._factors, self._shown)

    @property
    def claim(self) -> widgets.Widget:
        """A claim of one's own about the contrast shown: registered with its margin, then judged."""
        claimed = widgets.Dropdown(options=["more", "less", "equal"], description="The first takes", layout=_WIDE)
        margin = widgets.FloatText(1.1, step=0.01, description="Margin", layout=_WIDE)
        why = widgets.Text(description="Why so much", placeholder="below that I would decide the same", layout=_WIDE)
        refusal = _html()

        def register() -> None:
            if not why.value.strip():
                why_not = "Say why the margin is what it is: what would you do otherwise beyond it?"
                refusal.value = markup.refused(why_not)
                return
            source, asked = self._now
            entries = own_claims.registered()
            try:
                claim = own_claims.claim(asked, claimed.value, margin.value, why.value.strip(), len(entries) + 1)
                own_claims.register(claim, self._shown_answer, source)
            except (InputError, ValidationError, OSError) as error:
                refusal.value = markup.refused(str(error))
                return
            refusal.value = ""
            self._show_registered()

        def remove() -> None:
            own_claims.remove(self._removable.value)
            self._show_registered()

        chosen = widgets.Box([claimed, margin, why]).add_class("bb-controls")
        tooltip = "it stays below, with its date: registered once more, it is not new"
        self._removal.children = [self._removable, _button("Remove this claim", remove, tooltip)]
        self._show_registered()
        go = widgets.HBox([_button("Register and judge", register)])
        return _part(chosen, go, refusal, self._registered, self._removal)

    @property
    def measure(self) -> widgets.Widget:
        """The cells of a study with other parameters, measured from here."""
        chosen, head, alone = _Parameters(), _html(), _html()

        def shown(*_: object) -> None:
            head.value = markup.terminal(runner.requests())

        def fill() -> None:
            chosen.fill(self._study.value, self._parameters(), shown)
            shown()

        def follow() -> None:
            if chosen.study != self._study.value:
                fill()

        def measured() -> None:
            self._measured_here()
            here = self.sources[HERE]
            lacks = chosen.study in here.studies and chosen.study not in _comparable(here)
            alone.value = markup.refused("Only one side is measured: measure the other, too.") if lacks else ""

        runner = _Runner(chosen.requests, measured)
        for control in (chosen.blocks, runner.noisy):
            control.observe(shown, "value")
        self._follow = follow
        fill()
        take = _button("Take the contrast above", fill, "the parameters of both sides")
        return _part(widgets.HBox([take]), chosen.box, head, runner.widget, alone)

    @property
    def documents(self) -> widgets.Widget:
        """One's own documents: a file, what is understood of it, some questions, the answers."""
        return _Documents(lambda: self._measured_here(move=False)).widget

    def update(self, _: object = None) -> None:
        """Show what is chosen; what cannot be had with it is set to the nearest that can.

        Until all of it is there, what is shown of the choice before is marked as waiting.
        """
        if self._quiet:
            return
        self._shown.add_class("bb-waiting")
        self._quiet = True
        try:
            self._choose()
        finally:
            self._quiet = False
        self._show()
        self._shown.remove_class("bb-waiting")
        self._follow()

    def _choose(self) -> None:
        source = self.sources[self._source.value]
        _offer(self._study, [(study, study) for study in _comparable(source)])
        measured = source.measured(self._study.value)
        comparisons = contrasts.comparisons(measured)
        _offer(self._comparison, [(name, name) for name in comparisons])
        # what is kept of a study's choice is not what another paper compares
        controls = self._controls if self._study.value == self._chosen_study else {}
        self._chosen_study = self._study.value
        wanted = {name: control.value for name, control in controls.items()}
        asked = contrasts.ask(measured, comparisons[self._comparison.value], wanted)
        chosen = {"operation": asked.quantity[0], "measure": asked.quantity[1:], "a": asked.a, "b": asked.b}
        shown = []
        for name, options in asked.options.items():
            called = [(called_option(asked.comparison, name, option), option) for option in options]
            control = self._controls.get(name) or self._control(name, called_control(name), called)
            _offer(control, called, {**asked.factors, **chosen}[name])
            shown.append(control)
        self._factors.children = shown
        self._now = source, asked

    def _show(self) -> None:
        source, asked = self._now
        self._shown_answer = answer = contrasts.answer(asked.pair)
        repetitions = {name: source.repetitions(side, asked.quantity) for name, side in asked.pair.sides.items()}
        self._drawn = drawn = drawing.draw(asked, answer, repetitions)
        figure, claims = markup.figure(drawn, answer), markup.claims(own_claims.bearing(source, asked))
        points = [(f"{int(point.block) + 1}, of {point.campaign or 'an undated campaign'}", int(point.block))
                  for point in each(answer.points)]  # fmt: skip
        self._quiet = True
        _offer(self._point, points)
        self._quiet = False
        self._show_point()
        self._answer.value, self._figure.value, self._claims.value = markup.answer(answer), figure, claims
        self._files.value = ""

    def _show_point(self) -> None:
        if self._quiet or self._point.value is None:
            return
        source, asked = self._now
        point = self._shown_answer.points.set_index("block").loc[self._point.value]
        parts = []
        for name in ("a", "b"):
            head = f"{asked.pair.words(name)}: {quantity(point[name], self._shown_answer.row.unit)}"
            parts.append(markup.provenance(head, source.provenance(str(point[f"cell_{name}"]), int(self._point.value))))
        self._provenance.value = f'<div class="bb bb-two">{"".join(parts)}</div>'

    def _show_registered(self) -> None:
        entries = own_claims.registered()
        self._registered.value = markup.own(self.sources, entries)
        standing = reversed(own_claims.standing(entries))
        named = [(f"{entry.number}. {entry.claim.says}", entry.claim.id) for entry in standing]
        _offer(self._removable, named)
        self._removal.layout.display = None if named else "none"

    def _export(self) -> None:
        source, asked = self._now
        points = self._shown_answer.points
        rows = source.means[source.means["cell_id"].isin({*points["cell_a"], *points["cell_b"]})]
        origin = provenance(rows, source.name)
        with tempfile.TemporaryDirectory() as folder:
            stem = Path(folder) / f"{asked.comparison.study}-{asked.quantity[0]}-{asked.quantity[2]}"
            links = [markup.link(path) for path in exhibit.save(self._drawn, stem, origin, ["svg", "pdf", "csv"])]
        self._files.value = f'<span class="bb bb-links">{" ".join(links)}</span>'

    def _parameters(self) -> list[CellSettings]:
        """Return the parameters of each side's cells, as they were given."""
        source, asked = self._now
        cells = [asked.pair.sides[name].cells[-1] for name in ("a", "b")]
        texts = source.means.set_index("cell_id")["parameters"]
        return [parameters(texts.loc[[cell]].iloc[0]) for cell in cells]

    def _measured_here(self, *, move: bool = True) -> None:
        """Take in what has just been measured, and show it."""
        self.sources[HERE] = here = Source.of_here()
        self._quiet = True
        chosen = HERE if move and self._study.value in _comparable(here) else self._source.value
        _offer(self._source, self._comparable_sources(), chosen)
        self._quiet = False
        self.update()
        self._show_registered()

    def _comparable_sources(self) -> list[tuple[str, str]]:
        return [(name, name) for name, source in self.sources.items() if _comparable(source)]

    def _control(self, name: str, words: str, options: list[tuple[str, Option]]) -> widgets.Dropdown:
        control = widgets.Dropdown(options=options, description=words, layout=_WIDE)
        control.observe(self.update, "value")
        self._controls[name] = control
        return control


class _Parameters:
    """Fields to choose the parameters of a study's cells with."""

    def __init__(self) -> None:
        self.study = ""
        self.box = widgets.Box().add_class("bb-controls")
        self.blocks = widgets.BoundedIntText(5, min=1, max=30, description="blocks", layout=_WIDE)
        self._fields: dict[str, list[widgets.Widget]] = {}
        self._files: tuple[str, ...] = ()

    def fill(self, study: str, sides: list[CellSettings], changed: Callable[..., None]) -> None:
        """Show the parameters of both sides' cells, to be changed; records of one's own stay theirs."""
        self.study = study
        self._fields = {control.name: _fields(control) for control in running.controls(study, *sides)}
        self._files = tuple(dict.fromkeys(side["dataset_file"] for side in sides if side.get("dataset_file")))
        fields = [field for of_parameter in self._fields.values() for field in of_parameter]
        for field in fields:
            field.observe(changed, "value")
        self.box.children = [*fields, self.blocks]

    def requests(self) -> list[running.Request]:
        """Return what is chosen."""
        chosen: dict[str, tuple[object, ...]] = {}
        for name, fields in self._fields.items():
            values = [field.value for field in fields]
            chosen[name] = tuple(dict.fromkeys(values[0] if isinstance(values[0], tuple) else values))
        if self._files:
            chosen["dataset_file"] = self._files
        return running.requests(self.study, chosen, self.blocks.value)


class _Runner:
    """A button that measures, how far it is, and what it said."""

    def __init__(self, requests: Callable[[], list[running.Request]], then: Callable[[], None], words: str = "Measure"):
        self._asked, self._then = requests, then
        self._run: running.Run | None = None
        self._go = _button(words, self.start)
        self._stop = _button("Stop", self._end, "what is finished is kept")
        self.noisy = widgets.Checkbox(False, description="do not wait for a quiet machine", indent=False)
        self._bar = widgets.IntProgress(0, 0, 1, layout=widgets.Layout(width="12rem", visibility="hidden"))
        self._status = _html()
        self._stop.disabled = True
        self.widget = widgets.VBox([widgets.HBox([self._go, self._stop, self.noisy, self._bar]), self._status])

    def requests(self) -> list[running.Request]:
        """Return what it would measure now."""
        return [replace(request, noisy=self.noisy.value) for request in self._asked()]

    def start(self) -> None:
        """Measure, as the button does."""
        try:
            self._run = running.Run(self.requests(), self._tell).start()
        except InputError as error:
            self._status.value = markup.refused(str(error))
            return
        self._go.disabled, self._stop.disabled = True, False
        self._bar.layout.visibility = "visible"

    def _end(self) -> None:
        if self._run:
            self._run.stop()

    def _tell(self, run: running.Run) -> None:
        self._bar.max, self._bar.value = max(run.total, 1), run.done
        last = next((line for line in reversed(run.lines) if line), "starting")
        lines = escape("\n".join(run.lines))
        details = f"<details><summary>all that was said</summary><pre>{lines}</pre></details>"
        progress = f"{run.done} of {run.total} cells. {escape(last)}{details}"
        self._status.value = f'<div class="bb" role="status">{progress}</div>'
        if run.status is not None:
            self._go.disabled, self._stop.disabled = False, True
            self._then()


class _Documents:
    """A file that a person chose, what is understood of it, the questions asked of it and their answers."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._upload = widgets.FileUpload(accept=_ACCEPTED, description="Choose a file")
        self._path = widgets.Text(
            description="or its path", placeholder="orders.jsonl", layout=_WIDE, continuous_update=False
        )
        self._stated = {
            "delimiter": _stated("Delimiter", record_files.DELIMITERS),
            "decimal": _stated("Decimal mark", record_files.DECIMALS),
        }
        self._reading = widgets.Box([*self._stated.values()], layout=widgets.Layout(display="none"))
        self._understood, self._replies = _html(), _html()
        self._ticks = {name: widgets.Checkbox(True, description=question.text, indent=False)
                       for name, question in documents.QUESTIONS.items()}  # fmt: skip
        first = documents.PLANS[0]
        plans = [(plan.words, plan) for plan in documents.PLANS]
        self._plan = widgets.Dropdown(options=plans, description="Time", layout=_WIDE)
        self._count = widgets.BoundedIntText(first.records, min=1, max=100_000, description="records", layout=_WIDE)
        most = documents.MOST_BLOCKS
        self._blocks = widgets.BoundedIntText(first.blocks, min=2, max=most, description="blocks", layout=_WIDE)
        self._runner = _Runner(self._requests, self._answered, "Measure and answer")
        self._more = _button("Measure more", self._decide, "what is measured already is not measured again")
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
        return _part(chooser, reading, self._understood, questions, amount, *answers)

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
            # What was chosen lies elsewhere: this is a copy of it.
            self._understood.value = markup.refused(str(error).replace(str(file), file.name))
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


def _sources() -> dict[str, Source]:
    """Return what ran here and the reference run, each if it has anything."""
    sources = {HERE: Source.of_here(), REFERENCE: Source.of_reference()}
    if ran := {name: source for name, source in sources.items() if source.studies}:
        return ran
    nowhere = f"nothing ran here, and there is no reference run in {paths.reference()}: restore it from git"
    raise FileNotFoundError(nowhere)


def _comparable(source: Source) -> list[str]:
    """Return the studies of which a source has two sides of something; the reference run, of all: it takes no look."""
    if source.name == REFERENCE:
        return source.studies
    return [study for study in source.studies if contrasts.comparisons(source.measured(study))]


def _offer(control: widgets.Dropdown, options: list[tuple[str, Option]], value: Option = None) -> None:
    """Give a control its options; it keeps its value where that is among them."""
    values = [option for _, option in options]
    if value not in values:
        value = control.value if control.value in values else next(iter(values), None)
    if list(control.options) != options:
        control.options = options
    if control.value != value:
        control.value = value


def _fields(control: running.Control) -> list[widgets.Widget]:
    """Return what a parameter is chosen with: of both sides' values one list, or two fields for numbers."""
    words = called_control(control.name)
    if control.options:
        sides = tuple(value for value in control.values if value in control.options) or control.options[:1]
        both = [(" and ".join(called_level(control.name, value) for value in sides), sides)] if sides[1:] else []
        options = [*both, *((called_level(control.name, option), (option,)) for option in control.options)]
        return [widgets.Dropdown(options=options, value=sides, description=words, layout=_WIDE)]
    named = [words, *(f"and {words}" for _ in control.values[1:])]
    return [widgets.IntText(value, description=name, layout=_WIDE)
            for name, value in zip(named, control.values, strict=True)]  # fmt: skip


def _stated(words: str, marks: Mapping[str, str]) -> widgets.Dropdown:
    """Return what states one of a delimited file's marks, in place of what is sniffed."""
    options = [("as it looks", ""), *((f"{name} {mark}".strip(), name) for name, mark in marks.items())]
    return widgets.Dropdown(options=options, description=words, layout=_WIDE)


def _button(words: str, act: Callable[[], object], tooltip: str = "") -> widgets.Button:
    button = widgets.Button(description=words, tooltip=tooltip, layout=widgets.Layout(width="auto"))
    button.on_click(lambda _: act())
    return button


def _html(text: str = "") -> widgets.HTML:
    return widgets.HTML(text)


def _part(*children: widgets.Widget) -> widgets.VBox:
    return widgets.VBox(children).add_class("bb-part")
