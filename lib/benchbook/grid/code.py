"""Code as text that only what may move a measured value changes: of a module, of a notebook."""

import ast
import json
from pathlib import Path
from typing import Any

from benchbook.files.inputs import InputError, decode_utf8, read_bytes


def normalise_code(code: str) -> str:
    """Return Python code as text that comments, docstrings and layout do not change.

    Nor does Python's version. Raises `SyntaxError` or `ValueError` for what is not Python.
    """
    try:
        tree = ast.parse(code)
    except SystemError:
        # Python 3.11 raises it when the garbage collector ran code that parses, too.
        tree = ast.parse(code)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return _write_node(tree)


def _write_node(node: object) -> str:
    """Return a node of a syntax tree as text.

    Empty fields are left out, because newer versions of Python have more of them.
    """
    if isinstance(node, ast.AST):
        values = [value for _, value in ast.iter_fields(node)]
        fields = [_write_node(value) for value in values if value not in (None, [])]
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(_write_node(item) for item in node)}]"
    return repr(node)


def read_notebook_code(path: Path) -> list[str]:
    """Return the normalised code of a notebook's cells that measure.

    The cell of parameters is not part of it: a plan gives each cell all of its levels.

    Raises `InputError` when the file is not a notebook, has a cell that is not Python, or does not
    have exactly one cell of parameters.
    """
    name = f"{path.parent.name}/{path.name}"
    content = decode_utf8(read_bytes(path, 16 * 2**20, name), name)
    try:
        cells = json.loads(content)["cells"]
        parameter_cells = [cell for cell in cells if "parameters" in _list_tags(cell)]
        measuring = []
        for cell in cells:
            if cell["cell_type"] == "code" and "draw" not in _list_tags(cell):
                measuring.append(cell)
        sources = ["".join(cell["source"]) for cell in measuring]
        # Papermill inserts a cell's parameters after this one. Without it, the notebook's defaults
        # would be measured.
        has_parameters = [cell["cell_type"] for cell in parameter_cells] == ["code"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f"not a Jupyter notebook: {type(error).__name__}: {error}"
        raise InputError(name, reason) from error
    code = [_normalise(source, name, number) for number, source in enumerate(sources, 1)]
    if not has_parameters:
        raise InputError(
            name,
            f"{len(parameter_cells)} notebook cells have the tag parameters, and exactly one code "
            "cell must: give the code cell that sets the parameters the tag, and no other",
        )
    return [text for text, cell in zip(code, measuring, strict=True) if cell not in parameter_cells]


def _list_tags(cell: dict[str, Any]) -> list[str]:
    tags = cell["metadata"].get("tags", [])
    return tags if isinstance(tags, list) else []


def _normalise(source: str, notebook: str, number: int) -> str:
    """Return a notebook cell's code without what cannot move a measured value."""
    place = f"{notebook}, code cell {number}"
    try:
        return normalise_code(source)
    except SyntaxError as error:
        reason = f"line {error.lineno}: {error.msg} (only Python can be measured, no magics)"
        raise InputError(place, reason) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(place, f"not Python that can be read: {error}") from error
