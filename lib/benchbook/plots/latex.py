"""What a LaTeX manuscript can take in: tables by booktabs, figures with their captions, and texts escaped for it."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import pandas as pd

LONG: Final = 34
"""Characters from which a column's texts are set in lines."""

_MANY: Final = 4
"""Columns from which a table goes over both columns of a page."""

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


def comment(about: Mapping[str, Any]) -> str:
    """Return where numbers come from as lines that LaTeX does not print."""
    return "".join(f"% {name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in about.items())


def figure(title: str, notes: Sequence[str], *, name: str, about: Mapping[str, Any], width: float, wide: bool) -> str:
    """Return a figure that includes the drawing of that name, as wide as it was drawn; its notes are its caption."""
    kind = "figure*" if wide else "figure"
    return (
        f"{comment(about)}\\begin{{{kind}}}\n  \\centering\n  \\includegraphics[width={width:g}in]{{{name}}}\n"
        f"  \\caption{{{_caption(title, notes)}}}\n  \\label{{fig:{name}}}\n\\end{{{kind}}}\n"
    )


def table(frame: pd.DataFrame, *, title: str, notes: Sequence[str], name: str, about: Mapping[str, Any]) -> str:
    """Return a frame of texts as a table that `booktabs` sets.

    Columns that begin alike, up to their last comma (a quantity, published and here), share a heading.
    """
    kind = "table*" if frame.shape[1] > _MANY else "table"
    texts = frame.astype(str)
    places = "".join(_column(texts.iloc[:, at]) for at in range(frame.shape[1]))
    rows = ["    " + " & ".join(map(escaped, row)) + r" \\" for row in texts.itertuples(index=False, name=None)]
    lines = [
        *(f"\\begin{{{kind}}}", r"  \centering\footnotesize\setlength{\tabcolsep}{4pt}"),
        *(f"  \\caption{{{_caption(title, notes)}}}", f"  \\label{{tab:{name}}}"),
        *(f"  \\begin{{tabular}}{{@{{}}{places}@{{}}}}", r"    \toprule", *_heads([*frame.columns]), r"    \midrule"),
        *(*rows, r"    \bottomrule", r"  \end{tabular}", f"\\end{{{kind}}}"),
    ]
    return f"% needs \\usepackage{{booktabs}}\n{comment(about)}" + "\n".join(lines) + "\n"


def _caption(title: str, notes: Sequence[str]) -> str:
    return " ".join(escaped(part[:1].upper() + part[1:].rstrip(".") + ".") for part in (title, *notes) if part)


def _column(texts: "pd.Series[str]") -> str:
    """Return how a column is set: long texts in lines, numbers at the right, others at the left."""
    if max(map(len, texts), default=0) > LONG:
        return r"p{0.22\textwidth}"
    return "r" if texts.str.match(r"[-+<>]? ?\d").any() else "l"


def _heads(columns: Sequence[str]) -> list[str]:
    """Return the headings: one line, or two where columns share one."""
    split = [(str(name).rpartition(", ")[0], str(name).rpartition(", ")[2]) for name in columns]
    groups = [(group, [last for _, last in some]) for group, some in groupby(split, key=lambda one: one[0])]
    if not any(group and len(some) > 1 for group, some in groups):
        return ["    " + " & ".join(escaped(str(name)) for name in columns) + r" \\"]
    above: list[str] = []
    rules: list[str] = []
    beneath: list[str] = []
    at = 1
    for group, some in groups:
        above.append(f"\\multicolumn{{{len(some)}}}{{c}}{{{escaped(group)}}}" if group else " & " * (len(some) - 1))
        rules += [f"\\cmidrule(lr){{{at}-{at + len(some) - 1}}}"] if group else []
        beneath += map(escaped, some)
        at += len(some)
    return [f"    {' & '.join(above)} \\\\", f"    {''.join(rules)}", f"    {' & '.join(beneath)} \\\\"]
