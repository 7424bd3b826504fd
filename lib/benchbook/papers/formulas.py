"""Formulas over printed numbers, and sentences with formulas in them: ``takes {mean(times) / 1000:.1f} s``.

A formula is arithmetic as Python writes it: numbers, names, ``+ - * / % **``, comparisons, subscripts and the functions
of `FUNCTIONS`. A list of numbers is taken element by element. Of a printed number ``.printed`` is its characters,
``.row`` its row, ``.unit`` its unit, and ``.rounding`` half a unit of its last digit.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from statistics import fmean
from string import Formatter
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchbook import stats
from benchbook.evidence.published import Number
from benchbook.strict import nearest

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = float | str | Array


class FormulaError(ValueError):
    """A formula, or a sentence with one in it, is wrong; the message says how."""


@dataclass(frozen=True)
class Printed:
    """Printed numbers under one name: one, or a list or table of them."""

    numbers: tuple[Number, ...]
    shape: tuple[int, ...] = ()

    @property
    def values(self) -> list[float]:
        """What they mean, in one row."""
        return [number.value for number in self.numbers]

    def shaped(self, values: Sequence[float | str]) -> Value:
        """Return as many values in the shape of these numbers."""
        return np.array(values).reshape(self.shape) if self.shape else values[0]

    def read(self, attribute: str) -> Value:
        """Return what is known of each, beside its value."""
        return self.shaped([getattr(number, attribute) for number in self.numbers])


Names: TypeAlias = Mapping[str, Value | Printed]


def _extreme(whole: Callable[[Array], Any], each: np.ufunc) -> Callable[..., Any]:
    """Return a function that takes the extreme of one list, or of several element by element."""
    return lambda first, *others: reduce(each, others, first) if others else whole(first)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "argmax": np.argmax,
    "argmin": np.argmin,
    "count": np.count_nonzero,
    "diff": np.diff,
    "geometric_mean": lambda values: np.exp(np.log(values).mean(axis=-1)),  # of a table that of each row
    "max": _extreme(np.max, np.maximum),
    "mean": fmean,
    "min": _extreme(np.min, np.minimum),
    "round": round,
    "size": np.size,
    "sort": np.sort,
    "student": lambda a, b: stats.student(a, b).p,
    "sum": sum,
}
"""What a formula may call; ``student`` is the p-value of Student's unpaired test, ``size`` a count of all numbers."""

_ATTRIBUTES: Final = ("printed", "row", "unit", "rounding")
_OPERATORS: Final[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}


def evaluate(formula: str, names: Names) -> Value:
    """Return what a formula comes to.

    Raises
    ------
    FormulaError
        When it is none, or a name in it is not known.
    """
    try:
        value: Value = _value(_parsed(formula), names)
    except FormulaError:
        raise
    except (ArithmeticError, LookupError, SyntaxError, TypeError, ValueError) as error:
        raise FormulaError(f"{formula}: {error}") from error
    return value


@cache
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula.strip(), mode="eval").body


def _value(node: ast.AST | None, names: Names) -> Any:
    match node:
        case None:  # an open end of a slice
            return None
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            named = _named(name, names)
            return named.shaped(named.values) if isinstance(named, Printed) else named
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute in _ATTRIBUTES:
            if isinstance(named := _named(name, names), Printed):
                return named.read(attribute)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case (
            ast.BinOp(left=left, op=operation, right=right)
            | ast.Compare(left=left, ops=[operation], comparators=[right])
        ) if type(operation) in _OPERATORS:
            return _OPERATORS[type(operation)](_value(left, names), _value(right, names))
        case ast.Subscript(value=several, slice=place):
            return _value(several, names)[_value(place, names)]
        case ast.Slice(lower=lower, upper=upper, step=None):
            return slice(_value(lower, names), _value(upper, names))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            if name not in FUNCTIONS:
                raise FormulaError(f"no function {name!r}: {nearest(name, FUNCTIONS)}")
            return FUNCTIONS[name](*(_value(argument, names) for argument in arguments))
    raise FormulaError(f"{ast.unparse(node)} is not part of a formula")


def _named(name: str, names: Names) -> Value | Printed:
    if name not in names:
        raise FormulaError(f"nothing is called {name!r}: {nearest(name, names)}")
    return names[name]


def sentence(text: str, names: Names) -> str:
    """Return a text with what each ``{formula:form}`` in it comes to; of a list each, as a sentence lists them.

    Raises
    ------
    FormulaError
        When a formula is wrong, or its value has no such form.
    """
    parts = []
    try:
        for words, formula, form, _ in Formatter().parse(text):
            parts.append(words)
            if formula is not None:
                value = evaluate(formula, names)
                of_list = value if isinstance(value, np.ndarray) else [value]
                *first, last = (format(each, form or "") for each in of_list)
                parts.append(f"{', '.join(first)} and {last}" if first else last)
    except ValueError as error:
        raise FormulaError(str(error)) from error
    return "".join(parts)
