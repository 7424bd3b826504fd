"""List lines of students' copies that no honest answer needs: their points may be forged.

``python -m tools.forgeries ../course/autograded`` reads the copies that nbgrader has graded.
"""

import ast
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchbook import paths

MODULES: Final = (
    "collections",
    "functools",
    "itertools",
    "json",
    "math",
    "matplotlib",
    "numpy",
    "pandas",
    "random",
    "re",
    "scipy",
    "statistics",
    "time",
)
"""What an answer may import besides the imports of its lesson."""

SUSPECT_FUNCTION: Final = re.compile(
    "compile|delattr|eval|exec|getattr|globals|locals|open|setattr|vars"
)
"""Functions of Python that reach any name or file."""

SUSPECT_NAME: Final = re.compile(
    r".*__.*|(f|gi|tb|write)_.*|builtins|display_formatter|get_ipython|importlib|marking|modules"
    r"|os|save|savetxt|sys|to_csv|tofile"
)
"""Names that lead to the checks, to Jupyter or to files, also after a point."""


def find_suspect_lines(copy: Path) -> list[str]:
    """Return the lines of a copy that set, name or import what its lesson does not need.

    Parameters
    ----------
    copy
        A notebook in a folder with the lesson's name.
    """
    given = read_code(paths.notebooks() / "lessons" / "solutions" / f"{copy.parent.name}.ipynb")
    found = []
    for code in read_code(copy):
        if code in given:
            continue
        try:
            nodes = list(ast.walk(ast.parse(code)))
        except (SyntaxError, ValueError):  # such as lines of Jupyter that begin with % or !
            found.append(f"not Python alone: {code.strip()[:60]!r}")
            continue
        suspects = set()
        for node in nodes:
            if isinstance(node, ast.expr | ast.stmt) and is_suspect(node, given):
                suspects.add(node.lineno)
        lines = code.split("\n")
        found += [lines[number - 1].strip() for number in sorted(suspects)]
    return found


def read_code(notebook: Path) -> list[str]:
    """Return the sources of a notebook's code cells."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def is_suspect(node: ast.AST, given: Sequence[str]) -> bool:
    """Return whether a part of a student's code can change how it is graded.

    Parameters
    ----------
    given
        The code of the lesson, whose imports are allowed.
    """
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names]
        modules = names if isinstance(node, ast.Import) else [node.module or ""]
        is_common = all(name.partition(".")[0] in MODULES for name in modules)
        return not is_common and ast.unparse(node) not in "\n".join(given).split("\n")
    if isinstance(node, ast.Attribute):
        return not isinstance(node.ctx, ast.Load) or bool(SUSPECT_NAME.fullmatch(node.attr))
    if isinstance(node, ast.Name):
        return bool(SUSPECT_FUNCTION.fullmatch(node.id) or SUSPECT_NAME.fullmatch(node.id))
    return False


def main() -> None:
    """Print the suspect lines of all copies in a folder, by copy."""
    folder = Path(sys.argv[1])
    for copy in sorted(folder.glob("*/*/*.ipynb")):
        for line in find_suspect_lines(copy):
            print(f"{copy.relative_to(folder)}: {line}")


if __name__ == "__main__":
    main()
