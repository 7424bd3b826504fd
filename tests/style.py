"""Find what tests refuse in Python code: ``python tests/style.py lib/benchbook/plots``.

Each finder yields a line and what is wrong there. `FINDERS` has them by name.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from dialect import find_code_dialect

MAX_COLUMNS: Final = 100
MAX_FUNCTION_LINES: Final = 60
MAX_MODULE_LINES: Final = 600

Found = Iterator[tuple[int, str]]

_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_PARTICIPLE: Final = re.compile(
    r"_*(?:[a-z]+ed|made|told|held|kept|stood|given|shown|found|sought|taken|drawn|written|known"
    r"|begun|gone|said|met|left|sent|lacks|lacking|beside|over|apart|here|up|at_home|above|below"
    r"|between|by|(?:of|in|by|with|without|for|what|who|whose|where)_\w+|\w+_of)"
)
_VERBS: Final = ("embed", "expected", "timed")
"""What the pattern takes for a participle: a verb, and names of the studies' protocol."""


@dataclass(frozen=True)
class Module:
    """A Python file, with its text and syntax tree."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(ast.parse(self.text)))

    @cached_property
    def classes(self) -> list[tuple[str, int]]:
        """The names and lines of all classes."""
        nodes = [node for node in self.nodes if isinstance(node, ast.ClassDef)]
        return [(node.name, node.lineno) for node in nodes]

    @cached_property
    def constants(self) -> list[tuple[str, int]]:
        """The names and lines of the module's constants that others may import."""
        found = []
        for node in ast.iter_child_nodes(self.nodes[0]):
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AnnAssign):
                targets = [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id.isupper() and target.id[0] != "_":
                    found.append((target.id, node.lineno))
        return found


def find_walruses(module: Module) -> Found:
    for node in module.nodes:
        if isinstance(node, ast.NamedExpr):
            yield node.lineno, f"`:=` for {node.target.id}"


def find_crowded_comprehensions(module: Module) -> Found:
    for node in module.nodes:
        if isinstance(node, _COMPREHENSIONS):
            loops = len(node.generators)
            conditions = sum(len(generator.ifs) for generator in node.generators)
            if loops > 1 or conditions > 1:
                yield node.lineno, f"a comprehension with {loops} `for` and {conditions} `if`"


def find_nested_conditionals(module: Module) -> Found:
    for node in module.nodes:
        if isinstance(node, ast.IfExp):
            inner = [part for part in ast.walk(node) if isinstance(part, ast.IfExp)]
            if len(inner) > 1:
                yield node.lineno, "a conditional expression inside another"


def find_participles(module: Module) -> Found:
    """Yield functions that are named by a participle, an adverb or a preposition alone.

    PyMongo chose the names of a `CommandListener`'s methods.
    """
    named_by_pymongo: list[ast.stmt] = []
    for node in module.nodes:
        if isinstance(node, ast.ClassDef) and "CommandListener" in map(ast.unparse, node.bases):
            named_by_pymongo += node.body
    for node in module.nodes:
        if not isinstance(node, _FUNCTIONS) or node in named_by_pymongo:
            continue
        decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
        if "property" in decorators or "fixture" in decorators:
            continue
        if _PARTICIPLE.fullmatch(node.name) and node.name not in _VERBS:
            yield node.lineno, f"{node.name} is not a verb with its object"


def find_long_functions(module: Module) -> Found:
    """Yield functions of many lines; a docstring does not count."""
    for node in module.nodes:
        if isinstance(node, _FUNCTIONS):
            docstring = ast.get_docstring(node, clean=False) or ""
            lines = (node.end_lineno or node.lineno) - node.lineno - docstring.count("\n")
            if lines > MAX_FUNCTION_LINES:
                yield node.lineno, f"{node.name} has {lines} lines"


def find_long_modules(module: Module) -> Found:
    lines = len(module.text.splitlines())
    if lines > MAX_MODULE_LINES:
        yield 1, f"the module has {lines} lines"


def find_long_lines(module: Module) -> Found:
    for number, line in enumerate(module.text.splitlines(), start=1):
        if len(line) > MAX_COLUMNS:
            yield number, f"a line of {len(line)} columns"


def find_dialect(module: Module) -> Found:
    """Yield the dialect's words in docstrings and comments, and in tests' names."""
    texts = [*read_docstrings(module), *read_comments(module), *read_test_names(module)]
    for line, text in texts:
        for word in find_code_dialect(text):
            yield line, word


FINDERS: Final[dict[str, Callable[[Module], Found]]] = {
    "walruses": find_walruses,
    "crowded comprehensions": find_crowded_comprehensions,
    "nested conditionals": find_nested_conditionals,
    "participles": find_participles,
    "long functions": find_long_functions,
    "long modules": find_long_modules,
    "long lines": find_long_lines,
    "dialect": find_dialect,
}


def read_docstrings(module: Module) -> Found:
    """Yield docstrings, and texts below constants that say what they are for."""
    for node in module.nodes:
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def read_comments(module: Module) -> Found:
    """Yield comments; those of adjacent lines are one text."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        if block and line > last + 1:
            yield first, " ".join(block)
            block = []
        if not block:
            first = line
        block.append(token.string.lstrip("# "))
        last = line
    if block:
        yield first, " ".join(block)


def read_test_names(module: Module) -> Found:
    for node in module.nodes:
        if isinstance(node, _FUNCTIONS) and node.name.startswith("test_"):
            yield node.lineno, node.name.removeprefix("test_").replace("_", " ")


def read_modules(folder: Path) -> list[Module]:
    """Return the modules of a folder, or the one of a file."""
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]
    return [Module(path) for path in paths]


def main() -> None:
    for argument in sys.argv[1:]:
        for module in read_modules(Path(argument)):
            for finder in FINDERS.values():
                for line, what in finder(module):
                    print(f"{module.path}:{line}: {what}")


if __name__ == "__main__":
    main()
