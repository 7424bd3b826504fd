"""The papers' own analyses, recomputed from the numbers they print: what agrees, and what does not follow.

Two kinds, which ``data/findings/<study>.yaml`` states. A *check* holds one printed number, bound or ordering against
what other printed numbers make it; checks are counted. A *finding* says what does not follow, as printed, as
recomputed, and why. Both read ``data/published`` alone.

A file names its lists of words or numbers. In a key ``[source, row, column]`` of printed numbers, and in a sentence,
``{name}`` stands for a level of ``each``, of which every combination is a check of its own; in a key a list, or the
name of one in braces, makes it a list of numbers. `benchbook.papers.formulas` says what a formula may hold. What no
formula says is a function of the paper's own module, which ``code`` names: it yields checks, or returns values for a
finding's sentences by name.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from pydantic import Field, RootModel

from benchbook import papers, paths
from benchbook.evidence.claim_files import nearest_number, sections, stated_at
from benchbook.evidence.claims import Strict, Text
from benchbook.evidence.published import Number, printed_number, published
from benchbook.inputs import InputError
from benchbook.papers.formulas import Names, Printed, Value, evaluate, sentence
from benchbook.strict import Located, nearest, valid
from benchbook.studies import SLUGS

FindingKind: TypeAlias = Literal["misprint", "contradiction", "implausible", "unsupported", "not shown"]
"""``misprint``: a slip that another number corrects; ``contradiction``: two places cannot both be right;
``implausible``: possible on paper, not on a machine; ``unsupported``: a sentence that the numbers do not carry;
``not shown``: what the reader would need and does not get."""

Word: TypeAlias = str | int | float
Words: TypeAlias = Annotated[tuple[Word | tuple[Word, ...], ...], Field(min_length=1)]
"""A list of words or numbers, or of rows of them."""

Place: TypeAlias = tuple[Word | tuple[Word, ...], Word | tuple[Word, ...], Word | tuple[Word, ...]]
"""Source, row and column of a printed number; of several where a part is a list."""

Extreme: TypeAlias = Annotated[dict[Literal["least", "most"], Place], Field(min_length=1, max_length=1)]
"""The smallest or the largest of several printed numbers."""

SECTIONS: Final = ("study", "lists", "checks", "findings")

SIMILAR: Final = 1.25
"""Two times within this factor count as "close", "very similar" or "slightly" apart: lenient, so that what fails it
fails beyond doubt. The papers give no factor."""

_ROUNDED: Final = 1 + 1e-9
"""Leeway for the computer's own rounding, beside that of print."""

Compute: TypeAlias = Callable[..., float]
CheckKind: TypeAlias = Literal["number", "bound", "order", "likeness"]
"""``number``: a printed value; ``bound``: a limit that a value must keep; ``order``: which of two is larger;
``likeness``: that two are about the same."""


@dataclass(frozen=True)
class Check:
    """What one recomputation came to."""

    study: str
    kind: CheckKind
    says: str
    where: str  # it is printed
    of: str  # the sources that it is recomputed from
    printed: str  # the characters; for orders and likeness the claim about the ratio
    recomputed: float  # in the printed number's unit; for orders and likeness the ratio, first over second
    tolerance: float  # half the last printed digit's unit and what the sources' rounding adds; for likeness the factor
    agrees: bool
    key: tuple[str, str, str, str] | None = None  # the published number that is recomputed; None for orders
    used: tuple[tuple[str, str, str, str], ...] = ()  # those that it was computed from


def propagate(compute: Compute, *of: Number) -> tuple[float, float]:
    """Compute from printed values; return the result, and how far their rounding, one input at a time, may move it."""
    values = [number.value for number in of]
    middle = compute(*values)
    reach = 0.0
    for rank, number in enumerate(of):
        moved = ([*values[:rank], number.value + side * number.rounding, *values[rank + 1 :]] for side in (-1, 1))
        reach += max(abs(compute(*inputs) - middle) for inputs in moved)
    return middle, reach


def follows(claim: Number, compute: Compute, *of: Number, says: str, rounding: float | None = None) -> Check:
    """Return whether a printed number is what ``compute`` makes of the others, to its printed digits.

    ``rounding`` is half a unit of the last digit where the printed characters leave zeros out.
    """
    value, reach = propagate(compute, *of)
    tolerance = (claim.rounding if rounding is None else rounding) + reach
    agrees = abs(claim.value - value) <= tolerance * _ROUNDED
    return _check("number", says, claim, of, value, tolerance, agrees)


def bound(claim: Number, side: Literal["above", "below"], compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a value keeps a printed bound, up to the rounding of what it is computed from."""
    value, reach = propagate(compute, *of)
    excess = claim.value - value if side == "above" else value - claim.value
    return _check("bound", says, claim, of, value, reach, excess <= reach * _ROUNDED)


def limit(where: str, most: float, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a value keeps a limit that nobody prints, such as 100 % for shares that add up."""
    value, reach = propagate(compute, *of)
    return _check("bound", says, (where, f"at most {most:g}"), of, value, reach, value - most <= reach * _ROUNDED)


def less(where: str, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a ratio is less than 1 by more than the rounding of what it is computed from."""
    value, reach = propagate(compute, *of)
    return _check("order", says, (where, "less than 1"), of, value, reach, value + reach < 1)


def alike(where: str, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a ratio that a sentence calls close to 1 lies within the factor `SIMILAR`."""
    ratio = compute(*(number.value for number in of))
    return _check("likeness", says, (where, "about 1"), of, ratio, SIMILAR, 1 / SIMILAR <= ratio <= SIMILAR)


def _check(
    kind: CheckKind,
    says: str,
    claim: Number | tuple[str, str],
    of: tuple[Number, ...],
    recomputed: float,
    tolerance: float,
    agrees: bool,
) -> Check:
    """Return a check of a printed number, or of what a sentence claims: where, and of the ratio what."""
    where, printed, key = (claim.source, claim.printed, claim.key) if isinstance(claim, Number) else (*claim, None)
    used = tuple(number.key for number in of)
    sources = ", ".join(dict.fromkeys(source for _, source, _, _ in used)) or "itself"
    study = key[0] if key else used[0][0]
    return Check(study, kind, says, where, sources, printed, recomputed, tolerance, agrees, key, used)


@dataclass(frozen=True)
class Finding:
    """One place where a paper's text, tables and arithmetic do not fit, in own words and computed numbers.

    Its name is ``<study>.<what>``; ``why`` says what follows for whoever reads the paper.
    """

    name: str
    title: str
    kind: FindingKind
    source: str
    as_printed: str
    recomputed: str
    why: str

    @property
    def study(self) -> str:
        """The slug of the study."""
        return self.name.partition(".")[0]


class Lists(RootModel[dict[str, Words]]):
    """A file's lists by name."""


class CodeForm(Strict):
    """Checks that a function of the paper's own module makes."""

    code: str


class CheckForm(Strict):
    """A check, or one for every combination of levels, as a file states it."""

    # ``equal``: the printed number is what the formula gives; ``above`` and ``below``: the formula keeps the printed
    # bound, or the ``limit`` that nobody prints; ``less``: it is less than 1, as ``where`` says; ``alike``: about 1
    check: Literal["equal", "above", "below", "less", "alike"]
    says: Text
    where: str = ""
    # levels by name, or of several names in rows (``"format, table"``): a list, or the name of one
    each: dict[str, str | Words] = Field(default_factory=dict)
    printed: Place | None = None
    limit: float | None = None
    of: dict[str, Place | Extreme] = Field(default_factory=dict)  # what it is computed from, by names in the formula
    formula: str = ""  # without one it is the number in ``of``, or the first over the second
    rounding: str = ""  # a formula for half a unit of the last digit, where the printed characters leave zeros out


class FindingForm(Strict):
    """A finding as a file states it; ``values`` are formulas by name, and ``code`` a function that returns values."""

    name: Text
    title: Text
    kind: FindingKind
    source: Text
    of: dict[str, Place | Extreme] = Field(default_factory=dict)
    values: dict[str, str] = Field(default_factory=dict)
    code: str = ""
    printed: Text
    recomputed: Text
    why: Text


@dataclass(frozen=True)
class Recomputed:
    """What one file states, each form with where it stands."""

    study: str
    lists: Mapping[str, Words]
    stated: tuple[tuple[CheckForm | CodeForm, Located], ...]
    named: Mapping[str, tuple[FindingForm, Located]]

    def checks(self) -> Iterator[Check]:
        """Yield what each check comes to, in the order of the file; an InputError says what is wrong in which line."""
        for form, item in self.stated:
            with stated_at(item):
                if isinstance(form, CodeForm):
                    yield from self._code(form.code)()
                else:
                    for levels in self._levels(form.each):
                        yield self._check(form, item, self._names(levels))

    def finding(self, name: str) -> Finding:
        """Return a finding, computed anew; an InputError says what is wrong in which line."""
        form, item = self.named[name]
        with stated_at(item):
            names: dict[str, Value | Printed] = {**self._names({}), **self._printed(form.of, item, self._names({}))}
            if form.code:
                names |= self._code(form.code)()
            for value, formula in form.values.items():
                with stated_at(item.value["values"].value[value]):
                    names[value] = evaluate(formula, names)
            texts = []
            for part in ("printed", "recomputed", "why"):
                with stated_at(item.value[part]):
                    texts.append(sentence(getattr(form, part), names))
        return Finding(name, form.title, form.kind, form.source, *texts)

    def _code(self, name: str) -> Callable[[], Any]:
        """Return a function of the paper's own code."""
        known = vars(papers.load(self.study))
        if name not in known:
            raise ValueError(f"papers/{self.study} has no function {name!r}: {nearest(name, known)}")
        function: Callable[[], Any] = known[name]
        return function

    def _names(self, levels: Mapping[str, Word]) -> dict[str, Value | Printed]:
        """Return what a key and a formula may name: the lists, but for those of rows, and the levels."""
        lists = {name: np.array(words) for name, words in self.lists.items() if not isinstance(words[0], tuple)}
        return {**lists, **levels}

    def _levels(self, each: Mapping[str, str | Words]) -> Iterator[dict[str, Word]]:
        """Yield every combination of levels."""
        factors: list[list[dict[str, Word]]] = []
        for heading, words in each.items():
            if isinstance(words, str) and words not in self.lists:
                raise ValueError(f"no list {words!r}: {nearest(words, self.lists)}")
            names, factor = heading.split(", "), []
            for row in self.lists[words] if isinstance(words, str) else words:
                levels = row if isinstance(row, tuple) else (row,)
                if len(levels) != len(names):
                    raise ValueError(f"each: {row!r} is not a level for each of {heading}")
                factor.append(dict(zip(names, levels, strict=True)))
            factors.append(factor)
        for combination in product(*factors):
            yield {name: word for row in combination for name, word in row.items()}

    def _check(self, form: CheckForm, item: Located, names: Names) -> Check:
        """Return a check of one combination of levels."""
        of, claimed = self._printed(form.of, item, names), None
        if form.printed:
            with stated_at(item.value["printed"]):
                claimed = self._numbers(form.printed, names)
                names = {**names, "printed": claimed}
        names = {**names, **of}
        says, where = sentence(form.says, names), sentence(form.where, names)
        compute = _compute(form.formula or " / ".join(of), names, of)
        numbers = [number for given in of.values() for number in given.numbers]
        match form.check, claimed:
            case "equal", Printed(numbers=(claim,)):
                rounding = float(evaluate(form.rounding, names)) if form.rounding else None
                return follows(claim, compute, *numbers, says=says, rounding=rounding)
            case ("above" | "below") as side, Printed(numbers=(claim,)):
                return bound(claim, side, compute, *numbers, says=says)
            case "below", None if where and form.limit is not None:
                return limit(where, form.limit, compute, *numbers, says=says)
            case "less", None if where:
                return less(where, compute, *numbers, says=says)
            case "alike", None if where:
                return alike(where, compute, *numbers, says=says)
        raise ValueError(f"{form.check} asks for the printed number, or for where a sentence has no number")

    def _printed(self, of: Mapping[str, Place | Extreme], item: Located, names: Names) -> dict[str, Printed]:
        """Return the printed numbers by name; `item` is what holds their keys under ``of``."""
        numbers = {}
        for name, place in of.items():
            with stated_at(item.value["of"].value[name]):
                if isinstance(place, dict):
                    ((which, among),) = place.items()
                    extreme = min if which == "least" else max
                    of_all = self._numbers(among, names).numbers
                    numbers[name] = Printed((extreme(of_all, key=lambda number: number.value),))
                else:
                    numbers[name] = self._numbers(place, names)
        return numbers

    def _numbers(self, place: Place, names: Names) -> Printed:
        """Return the number at a place, or the numbers at all the places that its lists make."""
        parts = [_words(part, names) for part in place]
        keys = product(*([part] if isinstance(part, str) else part for part in parts))
        shape = tuple(len(part) for part in parts if not isinstance(part, str))
        return Printed(tuple(printed(self.study, *key) for key in keys), shape)


def _words(part: Word | tuple[Word, ...], names: Names) -> str | list[str]:
    """Return a part of a key with its names replaced; of each word, where it is a list or names one."""
    if isinstance(part, tuple):
        return [sentence(str(word), names) for word in part]
    for name in re.findall(r"{(\w+)}", str(part)):
        if isinstance(words := names.get(name), np.ndarray):
            return [sentence(str(part), {**names, name: word}) for word in words]
    return sentence(str(part), names)


def _compute(formula: str, names: Names, of: Mapping[str, Printed]) -> Compute:
    """Return what computes a formula from the values of its printed numbers, in their order."""

    def compute(*values: float) -> float:
        left = iter(values)
        moved = {name: given.shaped([next(left) for _ in given.numbers]) for name, given in of.items()}
        return float(evaluate(formula, {**names, **moved}))

    return compute


def printed(study: str, source: str, row: str, column: str) -> Number:
    """Return one number as a paper prints it; a ValueError says what the paper does not have, and the nearest."""
    number = printed_number(study, source, row, column)
    if number is None:
        raise ValueError(f"data/published/{study}.csv: {nearest_number(study, (source, row, column))}")
    return number


@cache
def read(path: Path) -> Recomputed:
    """Read what one file states of its study's paper.

    Raises
    ------
    benchbook.inputs.InputError
        When it has another form, with the line.
    """
    study, parts = sections(path, SECTIONS, "a file of findings")
    lists = valid(Lists, parts["lists"], "lists").root if "lists" in parts else {}
    stated: list[tuple[CheckForm | CodeForm, Located]] = []
    for item in parts["checks"].sequence("checks") if "checks" in parts else []:
        form: type[CheckForm | CodeForm] = CodeForm if "code" in item.mapping("a check") else CheckForm
        stated.append((valid(form, item, "a check"), item))
    named: dict[str, tuple[FindingForm, Located]] = {}
    for item in parts["findings"].sequence("findings") if "findings" in parts else []:
        finding = valid(FindingForm, item, "a finding")
        if (name := f"{study}.{finding.name}") in named:
            raise InputError(item.where, f"{name} stands here twice")
        named[name] = finding, item
    return Recomputed(study, lists, tuple(stated), named)


def _files(study: str | None = None) -> list[Recomputed]:
    return [read(paths.findings() / f"{slug}.yaml") for slug in SLUGS if study in (None, slug)]


def checks(study: str | None = None) -> pd.DataFrame:
    """Return every recomputation of one study, or of all: a row each, a column for each field of `Check`."""
    return pd.DataFrame([asdict(check) for file in _files(study) for check in file.checks()])


def findings(study: str | None = None) -> list[Finding]:
    """Return what does not follow, of one study or of all, computed anew."""
    return [file.finding(name) for file in _files(study) for name in file.named]


def finding(name: str) -> Finding:
    """Return one finding by its name; a KeyError lists the names."""
    files = {known: file for file in _files() for known in file.named}
    if name not in files:
        raise KeyError(f"no finding {name!r}: there are {', '.join(files)}")
    return files[name].finding(name)


def tally(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many checks of a table each study has: ``study, recomputed, agree, disagree``."""
    agrees = table.groupby("study", sort=False)["agrees"]
    counts = pd.DataFrame({"recomputed": agrees.size(), "agree": agrees.sum().astype(int)})
    return counts.assign(disagree=counts["recomputed"] - counts["agree"]).reset_index()


def coverage() -> dict[str, int]:
    """Return how many printed values there are, and what becomes of them.

    Returns
    -------
    dict
        ``printed``: rows of ``data/published``; ``recomputed``: those that other printed numbers give; ``used``:
        further ones that these or an ordering are computed from; ``texts``: versions and other text; ``alone``: numbers
        that nothing else printed leads to or needs, such as a machine's memory.
    """
    table, compared = published(), checks()
    keys = pd.MultiIndex.from_frame(table[["study", "source", "row", "column"]])
    recomputed = set(compared["key"].dropna())
    used = set(compared["used"].explode().dropna()) - recomputed
    texts = set(keys[table["value"].isna()]) - recomputed - used
    counts = {"recomputed": len(recomputed), "used": len(used), "texts": len(texts)}
    return {"printed": len(table), **counts, "alone": len(table) - sum(counts.values())}
