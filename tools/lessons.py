"""Write the students' lessons from the teachers': without the solutions.

The teachers' notebooks, `notebooks/lessons/solutions`, are the source. ``python -m tools.lessons``
writes the others as `nbgrader generate_assignment` does with the settings of
`notebooks/lessons/nbgrader_config.py`.
"""

from pathlib import Path
from typing import Any, Final

import nbformat

from benchbook import paths

BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"
STUBS: Final = {"code": "pass  # your code here", "markdown": "*Your answer here.*"}


def list_teachers() -> list[Path]:
    """Return the teachers' notebooks, in the order of the lessons."""
    return sorted((paths.notebooks() / "lessons" / "solutions").glob("*.ipynb"))


def find_students(teacher: Path) -> Path:
    """Return the path of the students' notebook of a lesson."""
    return teacher.parents[1] / teacher.name


def release(notebook: Any) -> Any:
    """Return a copy of a teachers' notebook with a stub in place of each solution."""
    copy: Any = nbformat.from_dict(notebook)  # type: ignore[no-untyped-call]
    for cell in copy.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = remove_solutions(cell.source, STUBS[cell.cell_type])
    return copy


def remove_solutions(source: str, stub: str) -> str:
    """Return a cell's source with `stub` in place of each solution.

    Raises `ValueError` for a mark without its counterpart.
    """
    kept: list[str] = []
    inside = False
    for line in source.split("\n"):
        if BEGIN in line:
            if inside:
                raise ValueError(f"a solution begins in a solution: {line.strip()}")
            inside = True
            kept.append(line[: len(line) - len(line.lstrip())] + stub)
        elif END in line:
            if not inside:
                raise ValueError("a solution ends that never began")
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise ValueError("a solution does not end")
    return "\n".join(kept)


if __name__ == "__main__":
    for teacher in list_teachers():
        source = nbformat.read(teacher, 4)  # type: ignore[no-untyped-call]
        nbformat.write(release(source), find_students(teacher))  # type: ignore[no-untyped-call]
