"""The reference pages of `docs/`, made from the code when the site is built.

A page asks for one by its name in a comment: ``<!-- reference: commands -->``.
"""

import argparse
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, get_args, get_origin

import yaml
from pydantic.fields import FieldInfo

from benchbook import paths
from benchbook.cli import command as command_line
from benchbook.grid.grid_file import load_grid
from benchbook.plots.claim_lines import VERDICT_STYLES
from benchbook.registry import plugins
from benchbook.report.crate import load_dictionary
from benchbook.results import schema
from benchbook.studies.catalogue import SLUGS, load_study
from tools import reference

_MARK: Final = re.compile(r"^<!-- reference: (\w+) -->$", re.MULTILINE)
_INTERVAL: Final = re.compile(r"\(([\d,.+−-]+) to ([\d,.+−-]+)\)")
_SEED_LIMIT: Final = 2**62


def fill_page(text: str) -> str:
    """Return a page with its marks replaced; raises `KeyError` for an unknown mark."""
    return _MARK.sub(lambda mark: PAGES[mark[1]](), text)


def render_commands() -> str:
    """Return the usage and the arguments of each command."""
    lines: list[str] = []
    for name, parser in _iterate_parsers(command_line.build_parser()):
        lines += _render_command(name, parser)
    return "\n".join(lines)


def _iterate_parsers(
    parser: argparse.ArgumentParser,
) -> Iterable[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield command.prog, command
                yield from _iterate_parsers(command)


def _render_command(name: str, parser: argparse.ArgumentParser) -> list[str]:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    lines = [
        f"## {name}",
        "",
        f"{_escape_sentence(parser.description or '')}",
        "",
        "```text",
        usage,
        "```",
        "",
    ]
    not_arguments = (argparse._HelpAction, argparse._SubParsersAction)
    arguments = [action for action in parser._actions if not isinstance(action, not_arguments)]
    rows = [
        [_render_argument(argument), _escape_sentence(argument.help or "")]
        for argument in arguments
    ]
    return [*lines, *(render_table(["argument", "what it says"], rows) if rows else []), ""]


def _render_argument(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return f"`{names}`"
    value = action.metavar or (
        f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()
    )
    return f"`{names} {value}`" if names else f"`{value}`"


def _escape_sentence(text: str) -> str:
    """Return a help text as a sentence, with Markdown's signs escaped."""
    return re.sub(r"([|*<>\[\]])", r"\\\1", text[:1].upper() + text[1:])


def render_parameters() -> str:
    """Return each study's parameters: type, default, and the levels of its grid."""
    lines: list[str] = []
    for slug in SLUGS:
        lines += _render_study(slug)
    return "\n".join(lines)


def _render_study(slug: str) -> list[str]:
    model, levels = load_study(slug).Parameters, _list_levels(slug)
    about = inspect.cleandoc(model.__doc__ or "").replace("``", "`")
    rows = [
        [
            f"`{name}`",
            _describe_type(field),
            f"`{field.default!r}`".replace("'", '"'),
            levels.get(name, ""),
        ]
        for name, field in model.model_fields.items()
    ]
    profiles = ", ".join(f"`{name}`" for name in load_grid(slug).profiles)
    head = [f"## {slug}", "", about, "", f"Profiles: {profiles}.", ""]
    return [*head, *render_table(["parameter", "type", "default", "levels in the grid"], rows), ""]


def _describe_type(field: FieldInfo) -> str:
    form: Any = field.annotation
    if get_origin(form) is Literal:
        return ", ".join(f"`{level}`" for level in get_args(form))
    name = form.__name__ if isinstance(form, type) else str(form)
    words = [
        {"int": "whole number", "float": "number", "str": "text", "bool": "`true` or `false`"}.get(
            name, name
        )
    ]
    if "None" in name:
        words = ["a file's path, or nothing"]
    for constraint in field.metadata:
        for sign, phrase in {
            "ge": "from {}",
            "gt": "above {}",
            "le": "to {}",
            "lt": "below {}",
        }.items():
            limit = getattr(constraint, sign, _SEED_LIMIT)
            if limit < _SEED_LIMIT:
                words.append(phrase.format(f"{limit:,}"))
    return " ".join(words)


def _list_levels(slug: str) -> dict[str, str]:
    """Return the levels of each parameter that a grid varies."""
    levels: dict[str, dict[str, None]] = {}
    for product in load_grid(slug).file.grid:
        for name, of_product in product.items():
            levels.setdefault(name, {}).update(dict.fromkeys(map(str, of_product)))
    return {name: ", ".join(f"`{level}`" for level in of_name) for name, of_name in levels.items()}


def render_columns() -> str:
    """Return the columns of observations, and the metrics with their units."""
    notes = {line.name: _escape_sentence(line.meaning) for line in load_dictionary()}
    values, cells = (
        [[f"`{column.name}`", f"{column.type}", notes.get(column.name, "")] for column in columns]
        for columns in (schema.VALUES, schema.CELLS)
    )
    parameters = [
        [f"`{line.name}`", notes[line.name]]
        for line in load_dictionary()
        if line.kind == "parameter"
    ]
    metrics = [
        [f"`{name}`", unit, notes.get(name, "")] for name, unit in schema.METRIC_UNITS.items()
    ]
    head = ["column", "type", "what it is"]
    parts: dict[str, list[str]] = {
        "Of a value": render_table(head, values),
        "Of its cell": render_table(head, cells),
        "Other parameters of its cell": render_table(["column", "what it is"], parameters),
        "Metrics": render_table(["metric", "unit", "what it is"], metrics),
    }
    lines: list[str] = []
    for title, rows in parts.items():
        lines += [f"## {title}", "", *rows, ""]
    return "\n".join(lines)


def render_plugin_groups() -> str:
    """Return the entry-point groups of plug-ins."""
    return "\n".join(f"- `benchbook.{group}`" for group in get_args(plugins.PluginGroup))


def render_verdict_counts() -> str:
    """Return the reference run's counts of verdicts, and the claims that do not hold."""
    return _colour_verdicts(_read_verdicts().partition("\n## ")[0], "verdicts.md")


def render_verdicts() -> str:
    """Return the reference run's page of verdicts."""
    return _colour_verdicts(_read_verdicts())


def _read_verdicts() -> str:
    """Return the committed page of verdicts without its title."""
    page = (paths.reference() / reference.PAGE).read_text(encoding="utf-8")
    return page.partition("\n")[2].replace("](../../docs/", "](")


def _colour_verdicts(text: str, target: str = "") -> str:
    """Colour the verdicts of tables, and link each study to its section of the page `target`.

    An interval stays on one line.
    """
    text = _INTERVAL.sub("(\\1&nbsp;to&nbsp;\\2)", text)
    for study in SLUGS:
        text = text.replace(f"\n| {study} |", f"\n| [{study}]({target}#{study}) |")
    for verdict, look in VERDICT_STYLES.items():
        mark = f'<span class="verdict" style="--verdict: {look.colour}">{verdict}</span>'
        text = text.replace(f"| {verdict} |", f"| {mark} |").replace(
            f"| **{verdict}** ", f"| {mark} "
        )
    return text


def render_install() -> str:
    """Return how to get the suite, with the address of its code from ``CITATION.cff``."""
    citation = yaml.safe_load((paths.root() / "CITATION.cff").read_text(encoding="utf-8"))
    address = citation.get("repository-code", "ADDRESS")
    code = f"[The code]({address})."
    if address == "ADDRESS":
        code = "The code has no public address yet: it will stand here."
    commands = f"git clone --depth 1 {address} benchbook\ncd benchbook\nmake run    # or make lab"
    needs = "You need Linux, WSL or, not tried yet, a Mac, with Python ≥ 3.11 and make."
    return f"{code} {needs}\n\n```sh\n{commands}\n```"


def render_table(
    head: list[str], rows: list[list[str]], rule: list[str] | None = None
) -> list[str]:
    """Return a table's lines in Markdown; `rule` aligns its columns, None: at the left."""
    return [f"| {' | '.join(cells)} |" for cells in (head, rule or ["---"] * len(head), *rows)]


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "commands": render_commands,
    "parameters": render_parameters,
    "observations": render_columns,
    "plugins": render_plugin_groups,
    "install": render_install,
    "holds": render_verdict_counts,
    "verdicts": render_verdicts,
}
"""The renderers by the names in marks."""
