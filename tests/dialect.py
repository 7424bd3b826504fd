"""Find words of the library's former dialect, and sentences that are too long.

`shared/STYLE.md`, *Prose*, has the patterns. Tests of pages, docs, messages and helps share this
list.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ONE_PER: Final = (
    r"\b(?:a|an|one) (?:row|line|file|column|point|mark|page|table|minute|figure|sheet|call)"
    r" an? \w+"
)
_SOME_PER: Final = (
    r"\b(?:cells?|blocks|repetitions|minutes|seconds?|us|bytes|dots"
    r"|contexts?|connections?|processes)"
    r" an? (?:block|cell|object|comment|repetition|document|record|attribute|book|insert|call|size"
    r"|claim|comparison|pair|inch)\b(?!'| has\b)"
)
DIALECT: Final = {
    r"\bwhoever\b": "name the person: a user, a reader",
    r"\bnobody\b": "name what is missing",
    r"\bsittings?\b": "machine-day, or one day",
    r"\bstood\b": "is, was, has",
    r"\black(?:s|ing)\b": "does not have, is missing",
    r"(?<!there )\b(?-i:is none)\b(?! of)": "say what it must be",
    _ONE_PER: "one ... per ...",
    _SOME_PER: "... per ...",
    r"\blanes?\b": "language",
    r"\brooms?\b": "network; space for room on a disk",
    r"\b(?<!container )(?<!storage )(?-i:[Ee]ngines?)\b": "database",
    r"\btwins?\b": "A/A check",
    r"\bvouch(?:es)?\b": "is unknown",
    r"\bparked\b": "given up",
    r"\bone's own\b": "your",
}  # fmt: skip
"""What is not written, as regular expressions that ignore case, and what to write instead."""

CODE_DIALECT: Final = DIALECT | {
    r"\A(?:Return|Yield|Print|Give|Say|Show|Write) (?:what|who)\b": "name the thing",
    r"\b(?:in comes?|out goe?s?)\b": "take, return",
    r"(?<!there )\bis no (?!longer|more)\w+": "is not a",
    r"\bbut for\b": "except",
    r"\bow(?:e|es|ed)\b": "missing",
    r", for (?:it|they|he|this|that|there) \w+": "because",
    r"\bof whom\b": "whose",
}
"""As `DIALECT`, for docstrings, comments and tests' names."""

MAX_WORDS: Final = 25
"""The most words of a sentence."""

_CODE: Final = re.compile(r"```.*?```|``[^`]*``|`[^`]*`", re.DOTALL)
_LINK: Final = re.compile(r"\]\([^)]*\)|<?https?://\S+")
_SLASH_COMMENT: Final = re.compile(r"/\*.*?\*/|(?<!\S)//[^\n]*", re.DOTALL)
_HASH_COMMENT: Final = re.compile(r"(?<!\S)#(?!!)[^\n]*")
_COMMENT_SIGN: Final = re.compile(r"^\s*(?:/\*+|\*+/?|//|#)|\*/\s*$")
_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])|\n\s*\n|\n(?=\s*[-*|#])")


def find_dialect(text: str) -> list[str]:
    """Return each word of the dialect in a text, with what to write instead.

    Code in backticks is not read.
    """
    return _find(DIALECT, text)


def find_code_dialect(text: str) -> list[str]:
    """Return the same for a docstring, a comment or a test's name."""
    return _find(CODE_DIALECT, text)


def _find(patterns: dict[str, str], text: str) -> list[str]:
    prose = _remove_code(text)
    found = []
    for pattern, instead in patterns.items():
        for match in re.finditer(pattern, prose, re.IGNORECASE):
            around = prose[max(0, match.start() - 40) : match.end() + 40]
            found.append(f"{match[0]!r} in {' '.join(around.split())!r}: {instead}")
    return found


def find_long_sentences(text: str, most: int = MAX_WORDS) -> list[str]:
    """Return the sentences of a text that have more words; code in backticks is not read."""
    sentences = [" ".join(part.split()) for part in _END.split(_remove_code(text))]
    return [sentence for sentence in sentences if count_words(sentence) > most]


def count_words(text: str) -> int:
    """Return how many words a text has: numbers and signs are none."""
    return len(re.findall(r"[^\W\d_][\w'’./-]*", text))


def read_literals(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each string of a Python file, without docstrings.

    What an f-string fills in is ``{}``.
    """
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inner = set[int]()
    for node in ast.walk(tree):
        # A docstring, or a text below a constant that says what it is.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in node.values if isinstance(part, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            ]
            yield node.lineno, "".join(parts)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner
        ):
            yield node.lineno, node.value


def read_comments(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each comment: Java, JavaScript, YAML, shell or make."""
    text = file.read_text(encoding="utf-8")
    pattern = _SLASH_COMMENT if file.suffix in (".java", ".js") else _HASH_COMMENT
    for comment in pattern.finditer(text):
        lines = [_COMMENT_SIGN.sub("", line) for line in comment[0].splitlines()]
        yield text.count("\n", 0, comment.start()) + 1, "\n".join(lines).strip()


def _remove_code(text: str) -> str:
    return _LINK.sub("]", _CODE.sub("CODE", text))
