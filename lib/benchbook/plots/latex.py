"""What a LaTeX manuscript can take in: tables by booktabs, figures with their captions, and texts escaped for it."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

import pandas as pd

_MANY: Final = 4
"""Columns from which a table goes over both columns of a page."""

_PAGE, _COLUMN = 410.0, 200.0
"""Points of width of a page and of one of its two columns, of LaTeX's article, whose are narrower than journals'."""

_GAP: Final = 3
"""Points on either side of a column."""

_LETTERS: Final = {"footnotesize": 4.3, "scriptsize": 3.8, "tiny": 3.2}
"""Points that a letter takes on average, by the size of letters."""

_SOURCE: Final = re.compile(r"(.+?), (published|(?:(?:Python|Java|Node\.js), )?here)")
"""A column's quantity, and whose numbers it holds."""

_SPECIAL: Final = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"<": "$<$", ">": "$>$", "|": r"\textbar{}", "∞": r"$\infty$", "≥": r"$\geq$", "≤": r"$\leq$", "×": r"$\times$"},
    **{"µ": r"\textmu{}", "μ": r"\textmu{}", "−": "$-$", "–": "--", "…": r"\dots{}", "±": r"$\pm$", "†": r"\dag{}"},
}


def escaped(text: str) -> str:
    """Return a text as LaTeX prints it, whatever stands in it."""
    text = "".join(_SPECIAL.get(letter, letter) for letter in text)
    return re.sub(r'"([^"]*)"', r"``\1''", text)


def comment(about: Mapping[str, object]) -> str:
    """Return where numbers come from as lines that LaTeX does not print."""
    return "".join(f"% {name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in about.items())


def figure(
    title: str, notes: Sequence[str], *, name: str, about: Mapping[str, object], width: float, wide: bool
) -> str:
    """Return a figure that includes the drawing of that name, as wide as it was drawn; its notes are its caption."""
    kind = "figure*" if wide else "figure"
    return (
        f"{comment(about)}\\begin{{{kind}}}\n  \\centering\n  \\includegraphics[width={width:g}in]{{{name}}}\n"
        f"  \\caption{{{_caption(title, notes)}}}\n  \\label{{fig:{name}}}\n\\end{{{kind}}}\n"
    )


def table(frame: pd.DataFrame, *, title: str, notes: Sequence[str], name: str, about: Mapping[str, object]) -> str:
    """Return a frame of texts as a table that `booktabs` sets.

    Columns that begin alike, up to their last comma (a quantity, published and here), share a heading.
    """
    wide = frame.shape[1] > _MANY
    kind, network = ("table*", _PAGE) if wide else ("table", _COLUMN)
    texts = frame.astype(str)
    # what columns of one quantity share in their names, and what is a column's own: whose numbers they are
    parts = [_SOURCE.fullmatch(str(name)) for name in frame.columns]
    heads = [(part[1], part[2]) if part else ("", str(name)) for part, name in zip(parts, frame.columns, strict=True)]
    size, places = _set(texts, [last for _, last in heads], network)
    rows = ["    " + " & ".join(map(escaped, row)) + r" \\" for row in texts.itertuples(index=False, name=None)]
    lines = [
        *(f"\\begin{{{kind}}}", f"  \\centering\\{size}\\setlength{{\\tabcolsep}}{{{_GAP}pt}}"),
        *(f"  \\caption{{{_caption(title, notes)}}}", f"  \\label{{tab:{name}}}", r"  \vspace{4pt}"),
        *(f"  \\begin{{tabular}}{{{places}}}", r"    \toprule", *_heads(heads), r"    \midrule"),
        *(*rows, r"    \bottomrule", r"  \end{tabular}", f"\\end{{{kind}}}"),
    ]
    return f"% needs \\usepackage{{array,booktabs}}\n{comment(about)}" + "\n".join(lines) + "\n"


def _caption(title: str, notes: Sequence[str]) -> str:
    return " ".join(escaped(part[:1].upper() + part[1:].rstrip(".") + ".") for part in (title, *notes) if part)


def _set(texts: pd.DataFrame, heads: Sequence[str], network: float) -> tuple[str, str]:
    """Return the size of a table's letters and how its columns are set, for so many points of width.

    Where the texts have network side by side each column is as wide as it must be; else all are set in lines, and share
    the width, each at least as wide as its longest word.
    """
    columns = [[head, *texts.iloc[:, at]] for at, head in enumerate(heads)]
    gaps = 2 * _GAP * len(columns)
    natural = [max(map(len, column)) for column in columns]
    if sum(natural) * _LETTERS["footnotesize"] + gaps <= network:
        numeric = [any(re.match(r"[-+<>]? ?\d", text) for text in column[1:]) for column in columns]
        return "footnotesize", "@{}" + "".join("r" if number else "l" for number in numeric) + "@{}"
    words = [max(len(word) for text in column for word in text.split() or [""]) for column in columns]
    size = next((size for size, points in _LETTERS.items() if sum(words) * points + gaps <= network), [*_LETTERS][-1])
    spare = max(network - gaps - sum(words) * _LETTERS[size], 0.0)
    wanted = sum(natural) - sum(words) or 1
    points = [
        word * _LETTERS[size] + spare * (most - word) / wanted + 2 * _GAP
        for word, most in zip(words, natural, strict=True)
    ]
    shares = (f"p{{\\dimexpr {width / sum(points):.3f}\\linewidth-2\\tabcolsep}}" for width in points)
    return size, "".join(f">{{\\raggedright\\arraybackslash}}{share}" for share in shares)


def _heads(heads: Sequence[tuple[str, str]]) -> list[str]:
    """Return the headings: one line, or two where columns share one."""
    groups = [(group, [last for _, last in several]) for group, several in groupby(heads, key=lambda head: head[0])]
    if not any(group and len(lasts) > 1 for group, lasts in groups):
        return ["    " + " & ".join(escaped(f"{group}, {last}" if group else last) for group, last in heads) + r" \\"]
    above: list[str] = []
    rules: list[str] = []
    beneath: list[str] = []
    at = 1
    for group, lasts in groups:
        above.append(f"\\multicolumn{{{len(lasts)}}}{{c}}{{{escaped(group)}}}" if group else " & " * (len(lasts) - 1))
        rules += [f"\\cmidrule(lr){{{at}-{at + len(lasts) - 1}}}"] if group else []
        beneath += map(escaped, lasts)
        at += len(lasts)
    return [f"    {' & '.join(above)} \\\\", f"    {''.join(rules)}", f"    {' & '.join(beneath)} \\\\"]
