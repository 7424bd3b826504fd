"""The explorer's page: what it says is made elsewhere in this package, here it is put together."""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import ipywidgets as widgets
from pydantic import ValidationError

from benchbook import explorer, paths
from benchbook.digits import quantity
from benchbook.evidence.measured import parameters
from benchbook.evidence.published import CellSettings
from benchbook.explorer import contrasts, drawing, markup, own_claims
from benchbook.explorer.contrasts import Option, called_control, called_option
from benchbook.explorer.measuring import ParameterFields, Runner
from benchbook.explorer.own_file import OwnFile
from benchbook.explorer.small_widgets import WIDE, button, offer, part
from benchbook.explorer.sources import HERE, REFERENCE, Source
from benchbook.inputs import InputError
from benchbook.plots import exhibit
from benchbook.plots.points import each
from benchbook.plots.provenance import provenance

STYLE: Final = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")


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
        self._answer, self._figure, self._files, self._claims, self._provenance = (widgets.HTML() for _ in range(5))
        self._point = widgets.Dropdown(description="Block", layout=WIDE)
        self._point.observe(lambda _: self._show_point(), "value")
        self._shown = widgets.VBox()
        self._registered, self._removal = widgets.HTML(), widgets.HBox()
        self._removable = widgets.Dropdown(description="Claim", layout=widgets.Layout(flex="0 1 30rem"))
        self._chosen_study = ""
        self._follow: Callable[[], None] = lambda: None
        self.update()
        if ready := os.environ.get(explorer.READY):  # `benchbook explore` waits for it
            Path(ready).touch()

    @property
    def look(self) -> widgets.Widget:
        """The contrast: what is compared, the answer, its figure and all that stands behind it."""
        export = button("Make files of this figure", self._export, "SVG, PDF and the data as CSV")
        first = widgets.Box([self._source, self._study, self._comparison]).add_class("bb-controls")
        points = widgets.VBox([self._point, self._provenance])
        behind = widgets.Accordion([points], titles=["Where each block comes from"])
        files = widgets.HBox([export, self._files])
        self._shown.children = [self._answer, self._figure, files, self._claims, behind]
        return part(widgets.HTML(f"<style>{STYLE}</style>"), first, self._factors, self._shown)

    @property
    def claim(self) -> widgets.Widget:
        """A claim of one's own about the contrast shown: registered with its margin, then judged."""
        claimed = widgets.Dropdown(options=["more", "less", "equal"], description="The first takes", layout=WIDE)
        margin = widgets.FloatText(1.1, step=0.01, description="Margin", layout=WIDE)
        why = widgets.Text(description="Why so much", placeholder="below that I would decide the same", layout=WIDE)
        refusal = widgets.HTML()

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
        self._removal.children = [self._removable, button("Remove this claim", remove, tooltip)]
        self._show_registered()
        go = widgets.HBox([button("Register and judge", register)])
        return part(chosen, go, refusal, self._registered, self._removal)

    @property
    def measure(self) -> widgets.Widget:
        """The cells of a study with other parameters, measured from here."""
        chosen, head, alone = ParameterFields(), widgets.HTML(), widgets.HTML()

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

        runner = Runner(chosen.requests, measured)
        for control in (chosen.blocks, runner.noisy):
            control.observe(shown, "value")
        self._follow = follow
        fill()
        take = button("Take the contrast above", fill, "the parameters of both sides")
        return part(widgets.HBox([take]), chosen.box, head, runner.widget, alone)

    @property
    def documents(self) -> widgets.Widget:
        """One's own documents: a file, what is understood of it, some questions, the answers."""
        return OwnFile(lambda: self._measured_here(move=False)).widget

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
        offer(self._study, [(study, study) for study in _comparable(source)])
        measured = source.measured(self._study.value)
        offer(self._comparison, [(name, name) for name in contrasts.comparisons(measured)])
        # what is kept of a study's choice is not what another paper compares
        controls = self._controls if self._study.value == self._chosen_study else {}
        self._chosen_study = self._study.value
        wanted = {name: control.value for name, control in controls.items()}
        asked = contrasts.ask(measured, self._comparison.value, wanted)
        chosen = {"operation": asked.quantity[0], "measure": asked.quantity[1:], "a": asked.a, "b": asked.b}
        shown = []
        for name, options in asked.options.items():
            called = [(called_option(asked.comparison, name, option), option) for option in options]
            control = self._controls.get(name) or self._control(name, called_control(name), called)
            offer(control, called, {**asked.factors, **chosen}[name])
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
        offer(self._point, points)
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
        offer(self._removable, named)
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
        offer(self._source, self._comparable_sources(), chosen)
        self._quiet = False
        self.update()
        self._show_registered()

    def _comparable_sources(self) -> list[tuple[str, str]]:
        return [(name, name) for name, source in self.sources.items() if _comparable(source)]

    def _control(self, name: str, words: str, options: list[tuple[str, Option]]) -> widgets.Dropdown:
        control = widgets.Dropdown(options=options, description=words, layout=WIDE)
        control.observe(self.update, "value")
        self._controls[name] = control
        return control


def _sources() -> dict[str, Source]:
    """Return what ran here and the reference run, each if it has anything."""
    sources = {HERE: Source.of_here(), REFERENCE: Source.of_reference()}
    if ran := {name: source for name, source in sources.items() if source.studies}:
        return ran
    nowhere = f"nothing ran here, and there is no reference run in {paths.reference()}: {paths.remedy()}"
    raise FileNotFoundError(nowhere)


def _comparable(source: Source) -> list[str]:
    """Return the studies of which a source has two sides of something; the reference run, of all: it takes no look."""
    if source.name == REFERENCE:
        return source.studies
    return [study for study in source.studies if contrasts.comparisons(source.measured(study))]
