"""The names that a notebook's cells of parameters assign, read from IPython's history.

A misspelt parameter is a name like any other to Python, and papermill only warns of it.
"""

import ast
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

_INJECTED: Final = "# Parameters\n"
"""How a cell begins that papermill inserted."""


def find_unknown_names(names: Mapping[str, Any], parameters: Collection[str]) -> list[str]:
    """Return the names that the executed cells of parameters assign but that are no parameters.

    Parameters
    ----------
    names
        A notebook's names (``globals()``), among them IPython's history ``In``; without it, no
        names are looked at.
    parameters
        The names of the study's parameters.
    """
    unknown: list[str] = []
    for source in _select_parameter_cells(names.get("In", ()), parameters):
        unknown += [name for name in _list_assigned(source) if name not in parameters]
    return unknown


def _select_parameter_cells(history: Iterable[str], parameters: Collection[str]) -> list[str]:
    """Return the cell that last assigned most parameters, and papermill's newest one after it."""
    cells: list[str] = []
    for source in history:
        if source.startswith(_INJECTED):
            cells = [*cells[:1], source]
        elif 2 * len({*_list_assigned(source)} & {*parameters}) > len(parameters):
            cells = [source]
    return cells


def _list_assigned(source: str) -> list[str]:
    """Return the names that a cell assigns outside of functions and classes."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError):
        # Not Python alone, such as a magic.
        return []
    assigned = []
    for statement in statements:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        assigned += [target.id for target in targets if isinstance(target, ast.Name)]
    return assigned
