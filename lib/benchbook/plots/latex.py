"""LaTeX for a manuscript: tables by booktabs, figures with their captions, and escaped texts."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

import pandas as pd

_MOST_COLUMNS: Final = 4
"""Tables with more columns go over both columns of a page."""

_PAGE_POINTS, _COLUMN_POINTS = 410.0, 200.0
"""Widths of a page and of one of its two columns: LaTeX's article, narrower than journals."""

_GAP: Final = 3
"""Points on either side of a column."""

_LETTER_POINTS: Final = {"footnotesize": 4.3, "scriptsize": 3.8, "tiny": 3.2}
"""Mean width of a letter by the size of letters."""

_SOURCE: Final = re.compile(r"(.+?), (published|(?:(?:Python|Java|Node\.js), )?here)")
"""A column's quantity, and the source of its numbers."""

_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    "\u00a0": "~",
    "ă": r"\u{a}",
    "∞": r"$\infty$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
    "µ": r"\textmu{}",
    "μ": r"\textmu{}",
    "−": "$-$",
    "–": "--",
    "…": r"\dots{}",
    "±": r"$\pm$",
    "†": r"\dag{}",
}


def escape_text(text: object) -> str:
    """Return a text whose special characters LaTeX prints."""
    escaped = "".join(_SPECIAL.get(letter, letter) for letter in str(text))
    return re.sub(r'"([^"]*)"', r"``\1''", escaped)


def write_comment(about: Mapping[str, object]) -> str:
    """Return provenance as lines that LaTeX does not print."""
    lines = [f"% {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in about.items()]
    return "".join(f"{line}\n" for line in lines)


def write_figure(
    caption: Sequence[str],
    *,
    name: str,
    about: Mapping[str, object],
    width: float,
    wide: bool,
) -> str:
    """Return a figure that includes the drawing of that name.

    Parameters
    ----------
    caption
        Its sentences.
    about
        The provenance.
    width
        Of the drawing, in inches.
    wide
        Whether it goes over both columns of a page.
    """
    kind = "figure*" if wide else "figure"
    lines = [
        f"\\begin{{{kind}}}",
        r"  \centering",
        f"  \\includegraphics[width={width:g}in]{{{name}}}",
        f"  \\caption{{{_write_caption(caption)}}}",
        f"  \\label{{fig:{name}}}",
        f"\\end{{{kind}}}",
    ]
    return write_comment(about) + "\n".join(lines) + "\n"


def write_table(
    frame: pd.DataFrame, caption: Sequence[str], *, name: str, about: Mapping[str, object]
) -> str:
    """Return a frame of texts as a table that `booktabs` sets.

    Columns of one quantity (published and here) share a heading.
    """
    kind, points = "table", _COLUMN_POINTS
    if frame.shape[1] > _MOST_COLUMNS:
        kind, points = "table*", _PAGE_POINTS
    texts = frame.astype(str)
    # Each column's quantity and the source of its numbers, or its name alone.
    heads = []
    for column in frame.columns:
        parts = _SOURCE.fullmatch(str(column))
        heads.append((parts[1], parts[2]) if parts else ("", str(column)))
    size, places = _fit_columns(texts, [source for _, source in heads], points)
    lines = [
        f"\\begin{{{kind}}}",
        f"  \\centering\\{size}\\setlength{{\\tabcolsep}}{{{_GAP}pt}}",
        f"  \\caption{{{_write_caption(caption)}}}",
        f"  \\label{{tab:{name}}}",
        r"  \vspace{4pt}",
        _write_tabular(texts, heads, places).rstrip(),
        f"\\end{{{kind}}}",
    ]
    packages = "% needs \\usepackage{array,booktabs}\n"
    return packages + write_comment(about) + "\n".join(lines) + "\n"


def _write_caption(parts: Sequence[str]) -> str:
    sentences = [part[:1].upper() + part[1:].rstrip(".") + "." for part in parts if part]
    return " ".join(map(escape_text, sentences))


def _fit_columns(texts: pd.DataFrame, heads: Sequence[str], points: float) -> tuple[str, str]:
    """Return the size of a table's letters and the places of its columns, for a width in points.

    Columns are as wide as their texts where these fit. Else texts are set in lines: columns share
    the width, each at least as wide as its longest word.
    """
    columns = [[head, *texts.iloc[:, at]] for at, head in enumerate(heads)]
    points -= 2 * _GAP * len(columns)
    widths = [max(map(len, column)) for column in columns]
    if sum(widths) * _LETTER_POINTS["footnotesize"] <= points:
        kinds = ""
        for _, *cells in columns:
            has_numbers = any(re.match(r"[-+<>]? ?\d", cell) for cell in cells)
            kinds += "r" if has_numbers else "l"
        return "footnotesize", f"@{{}}{kinds}@{{}}"

    # The largest letters of which the longest words fit.
    words = [max(map(len, " ".join(column).split()), default=0) for column in columns]
    size = next(
        (size for size, letter in _LETTER_POINTS.items() if sum(words) * letter <= points), "tiny"
    )
    letter = _LETTER_POINTS[size]
    # What is left is shared by how much wider than their words the texts are.
    spare = max(points - sum(words) * letter, 0.0)
    wanted = sum(widths) - sum(words) or 1
    shares = []
    for word, width in zip(words, widths, strict=True):
        shares.append(word * letter + spare * (width - word) / wanted + 2 * _GAP)
    places = []
    for share in shares:
        dimension = f"\\dimexpr {share / sum(shares):.3f}\\linewidth-2\\tabcolsep"
        places.append(f">{{\\raggedright\\arraybackslash}}p{{{dimension}}}")
    return size, "".join(places)


def _write_tabular(texts: pd.DataFrame, heads: Sequence[tuple[str, str]], places: str) -> str:
    """Return rows and headings; columns of one quantity share a heading with a rule below it."""
    rules: list[str] = []
    first = 1
    for group, columns in groupby(heads, key=itemgetter(0)):
        last = first + len(list(columns)) - 1
        if group:
            rules.append(f"\\cmidrule(lr){{{first}-{last}}}")
        first = last + 1
    # One line of headings, unless columns share one.
    is_shared = len(rules) < sum(group != "" for group, _ in heads)
    if is_shared:
        texts = texts.set_axis(pd.MultiIndex.from_tuples(heads), axis="columns")
    styler = texts.style.hide(axis="index").format(escape_text)
    styler.format_index(escape_text, axis="columns")
    tabular = styler.to_latex(column_format=places, hrules=True, multicol_align="c")
    if is_shared:
        tabular = tabular.replace("\\\\\n", f"\\\\\n{''.join(rules)}\n", 1)
    return tabular
