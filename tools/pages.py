"""The reference pages of `docs/`, made of the code itself when the site is built: so they cannot differ from it.

A page asks for one by its name in a comment: ``<!-- reference: commands -->``.
"""

import argparse
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from benchbook import cli, grid, paths, plugins, studies
from benchbook.plots.verdicts import LOOKS
from benchbook.results import schema
from tools import crate, reference

_MARK: Final = re.compile(r"^<!-- reference: (\w+) -->$", re.MULTILINE)
_INTERVAL: Final = re.compile(r"\(([\d,.+−-]+) to ([\d,.+−-]+)\)")
_SEED_LIMIT: Final = 2**62


def filled(text: str) -> str:
    """Return a page with what it asks for in the place of its marks; `KeyError` when there is no such thing."""
    return _MARK.sub(lambda mark: PAGES[mark[1]](), text)


def commands() -> str:
    """Return what each command takes, as its parser has it."""
    return "\n".join(part for name, parser in _parsers(cli._parser()) for part in _command(name, parser))


def _parsers(parser: argparse.ArgumentParser) -> Iterable[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield command.prog, command
                yield from _parsers(command)


def _command(name: str, parser: argparse.ArgumentParser) -> list[str]:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    lines = [f"## {name}", "", f"{_sentence(parser.description or '')}", "", "```text", usage, "```", ""]
    not_arguments = (argparse._HelpAction, argparse._SubParsersAction)
    arguments = [action for action in parser._actions if not isinstance(action, not_arguments)]
    rows = [[_written(argument), _sentence(argument.help or "")] for argument in arguments]
    return [*lines, *(table(["argument", "what it says"], rows) if rows else []), ""]


def _written(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return f"`{names}`"
    value = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper())
    return f"`{names} {value}`" if names else f"`{value}`"


def _sentence(text: str) -> str:
    """Return a help text as prose: what a Markdown table or its emphasis would take as its own is escaped."""
    return re.sub(r"([|*<>\[\]])", r"\\\1", text[:1].upper() + text[1:])


def parameters() -> str:
    """Return each study's parameters: type, default, and the levels that the paper's grid has."""
    return "\n".join(line for slug in studies.SLUGS for line in _study(slug))


def _study(slug: str) -> list[str]:
    model, levels = studies.load(slug).Parameters, _levels(slug)
    about = inspect.cleandoc(model.__doc__ or "").replace("``", "`")
    rows = [
        [f"`{name}`", _type(field), f"`{field.default!r}`".replace("'", '"'), levels.get(name, "")]
        for name, field in model.model_fields.items()
    ]
    profiles = ", ".join(f"`{name}`" for name in grid.load(slug).profiles)
    head = [f"## {slug}", "", about, "", f"Profiles: {profiles}.", ""]
    return [*head, *table(["parameter", "type", "default", "levels in the grid"], rows), ""]


def _type(field: FieldInfo) -> str:
    form: Any = field.annotation
    if get_origin(form) is Literal:
        return ", ".join(f"`{level}`" for level in get_args(form))
    name = form.__name__ if isinstance(form, type) else str(form)
    words = [{"int": "whole number", "float": "number", "str": "text", "bool": "`true` or `false`"}.get(name, name)]
    if "None" in name:
        words = ["a file's path, or nothing"]
    for constraint in field.metadata:
        for sign, phrase in {"ge": "from {}", "gt": "above {}", "le": "to {}", "lt": "below {}"}.items():
            limit = getattr(constraint, sign, _SEED_LIMIT)
            if limit < _SEED_LIMIT:
                words.append(phrase.format(f"{limit:,}"))
    return " ".join(words)


def _levels(slug: str) -> dict[str, str]:
    """Return for each parameter that a grid varies its levels there."""
    levels: dict[str, dict[str, None]] = {}
    for product in grid.load(slug).file.grid:
        for name, of_product in product.items():
            levels.setdefault(name, {}).update(dict.fromkeys(map(str, of_product)))
    return {name: ", ".join(f"`{level}`" for level in of_name) for name, of_name in levels.items()}


def observations() -> str:
    """Return the columns of observations, and the metrics with their units, as schema and dictionary have them."""
    notes = {line.name: _sentence(line.meaning) for line in crate.dictionary()}
    values, cells = (
        [[f"`{column.name}`", f"{column.type}", notes.get(column.name, "")] for column in columns]
        for columns in (schema.VALUES, schema.CELLS)
    )
    parameters = [[f"`{line.name}`", notes[line.name]] for line in crate.dictionary() if line.kind == "parameter"]
    metrics = [[f"`{name}`", unit, notes.get(name, "")] for name, unit in schema.UNITS.items()]
    head = ["column", "type", "what it is"]
    parts: dict[str, list[str]] = {
        "Of a value": table(head, values),
        "Of its cell": table(head, cells),
        "Other parameters of its cell": table(["column", "what it is"], parameters),
        "Metrics": table(["metric", "unit", "what it is"], metrics),
    }
    return "\n".join(line for title, rows in parts.items() for line in (f"## {title}", "", *rows, ""))


def announced() -> str:
    """Return the entry-point groups that plug-ins announce themselves in."""
    return "\n".join(f"- `benchbook.{group}`" for group in get_args(plugins.Group))


def holds() -> str:
    """Return "Does it hold?" of the reference run: how many claims have which verdict, and those that do not hold."""
    return _colour(_read_verdicts().partition("\n## ")[0], "verdicts.md")


def verdicts() -> str:
    """Return the verdicts of the reference run, which are a page of Markdown already."""
    return _colour(_read_verdicts())


def _read_verdicts() -> str:
    """Return the committed page of verdicts without its title."""
    page = (paths.reference() / reference.PAGE).read_text(encoding="utf-8")
    return page.partition("\n")[2].replace("](../../docs/", "](")


def _colour(text: str, target: str = "") -> str:
    """Return tables with each verdict in its colour, and each study as a link to its section of the page `target`.

    An interval stays on one line.
    """
    text = _INTERVAL.sub("(\\1&nbsp;to&nbsp;\\2)", text)
    for study in studies.SLUGS:
        text = text.replace(f"\n| {study} |", f"\n| [{study}]({target}#{study}) |")
    for verdict, look in LOOKS.items():
        mark = f'<span class="verdict" style="--verdict: {look.colour}">{verdict}</span>'
        text = text.replace(f"| {verdict} |", f"| {mark} |").replace(f"| **{verdict}** ", f"| {mark} ")
    return text


def table(head: list[str], rows: list[list[str]], rule: list[str] | None = None) -> list[str]:
    """Return a table's lines in Markdown; its `rule` says how columns are aligned, None: at the left."""
    return [f"| {' | '.join(cells)} |" for cells in (head, rule or ["---"] * len(head), *rows)]


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "commands": commands,
    "parameters": parameters,
    "observations": observations,
    "plugins": announced,
    "holds": holds,
    "verdicts": verdicts,
}
"""What a page can ask for, by its name in the mark."""
