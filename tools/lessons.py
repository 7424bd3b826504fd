"""From the teachers' lessons to the students': what stands between the marks of a solution is taken out.

The teachers' notebooks, `notebooks/lessons/solutions`, are the source: ``python -m tools.lessons`` writes the others
as `nbgrader generate_assignment` would, with the settings of `nbgrader_config.py` beside them.
"""

from pathlib import Path
from typing import Any, Final

import nbformat

from benchbook import paths

BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"
STUBS: Final = {"code": "pass  # your code here", "markdown": "*Your answer here.*"}


def teachers() -> list[Path]:
    """Return the teachers' notebooks, in the order of the lessons."""
    return sorted((paths.notebooks() / "lessons" / "solutions").glob("*.ipynb"))


def students(teacher: Path) -> Path:
    """Return where the students' notebook of a lesson lies."""
    return teacher.parents[1] / teacher.name


def released(notebook: Any) -> Any:
    """Return a copy of a teachers' notebook without its solutions, a stub in place of each."""
    made: Any = nbformat.from_dict(notebook)  # type: ignore[no-untyped-call]
    for cell in made.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = without_solution(cell.source, STUBS[cell.cell_type])
    return made


def without_solution(source: str, stub: str) -> str:
    """Return a cell's source with `stub` in place of each solution; raises `ValueError` where a mark has no mate."""
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
    for teacher in teachers():
        source = nbformat.read(teacher, 4)  # type: ignore[no-untyped-call]
        nbformat.write(released(source), students(teacher))  # type: ignore[no-untyped-call]
