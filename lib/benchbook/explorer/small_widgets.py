"""The small widgets that the explorer's parts are made of."""

from collections.abc import Callable
from typing import Final

import ipywidgets as widgets

from benchbook.explorer.contrasts import Option

WIDE: Final = widgets.Layout(width="auto")
"""The layout of what is as wide as it has to be."""


def offer(control: widgets.Dropdown, options: list[tuple[str, Option]], value: Option = None) -> None:
    """Give a control its options; it keeps its value where that is among them."""
    values = [option for _, option in options]
    if value not in values:
        value = control.value if control.value in values else next(iter(values), None)
    if list(control.options) != options:
        control.options = options
    if control.value != value:
        control.value = value


def button(words: str, act: Callable[[], object], tooltip: str = "") -> widgets.Button:
    """Return a button that does something."""
    # with a layout of its own, which may be hidden
    button = widgets.Button(description=words, tooltip=tooltip, layout=widgets.Layout(width="auto"))
    button.on_click(lambda _: act())
    return button


def part(*children: widgets.Widget) -> widgets.VBox:
    """Return one of the page's parts, its children one below the other."""
    return widgets.VBox(children).add_class("bb-part")
