"""CSV that a spreadsheet opens without running what a text says."""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pandas as pd

_FORMULA: Final = re.compile(r"[=+\-@\t\r]")
"""What a text begins with that spreadsheets take for a formula."""

_NUMBER: Final = re.compile(r"[-+][\d.,]+(e[-+]?\d+)?( \([-+]?[\d.,]+ to [-+]?[\d.,]+\))?( [%\w]+)?")
"""A number in words, perhaps with its interval and its unit."""


def quote_formula(text: str) -> str:
    """Return a text with an apostrophe before it where a spreadsheet would take it for a formula."""
    is_formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def quote_formula_in_sql(text: str) -> str:
    """Return the SQL of what `quote_formula` returns of a text, which is given in SQL."""
    is_formula = f"regexp_matches({text}, '^{_FORMULA.pattern}')"
    is_number = f"regexp_full_match({text}, '{_NUMBER.pattern}')"
    return f"CASE WHEN {is_formula} AND NOT {is_number} THEN chr(39) || {text} ELSE {text} END"


def to_csv(frame: "pd.DataFrame") -> str:
    """Return a frame as CSV, its texts as `quote_formula` gives them; numbers stay as they are."""
    quoted = frame.copy()
    for position, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufcmM":
            column = [quote_formula(value) if isinstance(value, str) else value for value in frame.iloc[:, position]]
            quoted.isetitem(position, column)
    written: str = quoted.to_csv(index=False, lineterminator="\n")
    return written
