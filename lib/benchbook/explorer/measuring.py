"""The widgets of the explorer that measure: the parameters of a study's cells, and a run that a button begins."""

from collections.abc import Callable
from dataclasses import replace
from html import escape

import ipywidgets as widgets

from benchbook.evidence.published import CellSettings
from benchbook.explorer import markup, running
from benchbook.explorer.contrasts import called_control, called_level
from benchbook.explorer.small_widgets import WIDE, button
from benchbook.inputs import InputError


class ParameterFields:
    """Fields to choose the parameters of a study's cells with."""

    def __init__(self) -> None:
        self.study = ""
        self.box = widgets.Box().add_class("bb-controls")
        self.blocks = widgets.BoundedIntText(5, min=1, max=30, description="blocks", layout=WIDE)
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


class Runner:
    """A button that measures, how far it is, and what it said."""

    def __init__(self, requests: Callable[[], list[running.Request]], then: Callable[[], None], words: str = "Measure"):
        self._asked, self._then = requests, then
        self._run: running.Run | None = None
        self._go = button(words, self.start)
        self._stop = button("Stop", self._end, "what is finished is kept")
        self.noisy = widgets.Checkbox(False, description="do not wait for a quiet machine", indent=False)
        self._bar = widgets.IntProgress(0, 0, 1, layout=widgets.Layout(width="12rem", visibility="hidden"))
        self._status = widgets.HTML()
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


def _fields(control: running.Control) -> list[widgets.Widget]:
    """Return what a parameter is chosen with: of both sides' values one list, or two fields for numbers."""
    words = called_control(control.name)
    if control.options:
        sides = tuple(value for value in control.values if value in control.options) or control.options[:1]
        both = [(" and ".join(called_level(control.name, value) for value in sides), sides)] if sides[1:] else []
        options = [*both, *((called_level(control.name, option), (option,)) for option in control.options)]
        return [widgets.Dropdown(options=options, value=sides, description=words, layout=WIDE)]
    named = [words, *(f"and {words}" for _ in control.values[1:])]
    return [widgets.IntText(value, description=name, layout=WIDE)
            for name, value in zip(named, control.values, strict=True)]  # fmt: skip
