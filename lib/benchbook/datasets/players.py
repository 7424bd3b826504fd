"""The drivers study's records: football players, wide (89 attributes) and reduced (6)."""

from itertools import product
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchbook.datasets.dataset import Dataset, build_dataset
from benchbook.datasets.streams import (
    CITIES,
    FAMILY,
    NATIONS,
    ColumnDraws,
    Integers,
    pick_entries,
    split_names,
)
from benchbook.schema import Field, FieldType, Schema

VERSION = 1

TABLE_SIZE: Final = 18_000
"""Distinct records; a longer set repeats them with new ids, as the paper must have done."""

_PROFILE = split_names(
    """
    Index, ID, Name, Age, Photo, Nationality, Flag, Overall, Potential, Club, Club Logo, Value,
    Wage, Special, Preferred Foot, International Reputation, Weak Foot, Skill Moves, Work Rate,
    Body Type, Real Face, Position, Jersey Number, Joined, Loaned From, Contract Valid Until,
    Height, Weight
    """,
    ",",
)
_POSITIONS = split_names(
    "LS ST RS LW LF CF RF RW LAM CAM RAM LM LCM CM RCM RM LWB LDM CDM RDM RWB LB LCB CB RCB RB"
)
_SKILLS = split_names(
    """
    Crossing Finishing HeadingAccuracy ShortPassing Volleys Dribbling Curve FKAccuracy LongPassing
    BallControl Acceleration SprintSpeed Agility Reactions Balance ShotPower Jumping Stamina
    Strength LongShots Aggression Interceptions Positioning Vision Penalties Composure Marking
    StandingTackle SlidingTackle GKDiving GKHandling GKKicking GKPositioning GKReflexes
    """
)
_WIDE = (*_PROFILE, *_POSITIONS, *_SKILLS, "Release Clause")
_REDUCED = ("ID", "Name", "Age", "Nationality", "Overall", "Club")
_INTEGERS = {"Index", "ID", "Age", "Overall", "Potential", "Special", "Jersey Number", *_SKILLS}
_INTEGERS |= {"International Reputation", "Weak Foot", "Skill Moves"}

Flags = npt.NDArray[np.bool_]
Columns = dict[str, list[Any]]
"""Columns by the names of their attributes."""

_MONTHS = split_names("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
_CLUBS = tuple(prefix + city for city, prefix in product(CITIES, ("", "FC ", "AC ", "Real ")))
_DEGREES = ("High", "Medium", "Low")
_WORK_RATES = tuple(f"{attack}/ {defence}" for attack, defence in product(_DEGREES, repeat=2))
_RATINGS = tuple(f"{rating}{bonus}" for rating, bonus in product(range(100), ("", "+2")))


def generate_players(n: int, seed: int, attributes: int = 89) -> Dataset:
    """Return `n` players, with the attribute names of the public FIFA 19 player table.

    The paper (Table 1) has 18 thousand records of 89 mostly textual attributes and 1.37 KB, and a
    set of 6 of those attributes and 0.13 KB. The public table is likely its source, but it does not
    say so. Here a mean record with its ``_id`` has the same sizes as JSON, within 2 %, whether a KB
    is 1,000 or 1,024 B. For that, pictures are file names without a folder, and half of the
    position ratings have no bonus. Values look plausible and are of no real player. Every tenth
    player is a goalkeeper and has empty position ratings, as in that table.

    Parameters
    ----------
    n
        Records; beyond 18,000 they repeat with new ids.
    seed
        The seed of all columns.
    attributes
        89, or 6 of the same records; ``_id`` is added to them.
    """
    if attributes not in (89, 6):
        raise ValueError(f"players have 89 or 6 attributes, not {attributes}")
    chosen = _WIDE if attributes == 89 else _REDUCED
    table = _generate_columns(ColumnDraws(seed, "players", min(n, TABLE_SIZE)), attributes == 89)
    rounds = -(-n // TABLE_SIZE)
    columns = [
        ColumnDraws(seed, "players", n).ids(),
        *((table[name] * rounds)[:n] for name in chosen),
    ]
    kinds: list[FieldType] = [
        "integer" if name in _INTEGERS else "string" for name in ("_id", *chosen)
    ]
    schema = Schema("players", tuple(map(Field, ("_id", *chosen), kinds)))
    return build_dataset(f"wide-{attributes}", schema, columns)


def _generate_columns(draw: ColumnDraws, everything: bool) -> Columns:
    """Return the columns by name: those of the reduced set, or all."""
    overall = draw.bell("Overall", 46, 94)
    thousands = np.maximum(overall - 45, 1) ** 3 // 2 * 5
    initials = draw.choices("initial", "ABCDEFGHIJKLMNOPRSTVWZ")
    families = draw.choices("family", FAMILY)
    columns: Columns = {
        "Name": [
            f"{initial}. {family}" for initial, family in zip(initials, families, strict=True)
        ],
        "Age": draw.bell("Age", 16, 40).tolist(),
        "Nationality": draw.choices("Nationality", NATIONS),
        "Overall": overall.tolist(),
        "Club": draw.choices("Club", _CLUBS),
        "ID": (150_000 + 5 * np.arange(draw.count) + draw.integers("ID", 0, 4)).tolist(),
    }
    if everything:
        goalkeeper = draw.integers("goalkeeper", 0, 9) == 0
        # A player's picture is named by the ID.
        columns |= {
            "Index": list(range(draw.count)),
            "Photo": [f"{number}.png" for number in columns["ID"]],
        }
        for name in ("Flag", "Club Logo"):
            columns[name] = [f"{number}.png" for number in draw.numbers(name, 1, 999)]
        columns |= _generate_profile(draw, overall) | _generate_contract(draw, thousands)
        places = draw.integers("Position", 1, len(_POSITIONS))
        columns["Position"] = pick_entries(("GK", *_POSITIONS), np.where(goalkeeper, 0, places))
        columns |= {name: _generate_ratings(draw, name, overall, goalkeeper) for name in _POSITIONS}
        columns |= {name: _generate_skills(draw, name, overall, goalkeeper) for name in _SKILLS}
    return columns


def _format_money(thousands: Integers) -> list[str]:
    """Return amounts as the table prints them: ``€950K``, ``€1.5M``."""
    return [f"€{k / 1000:.3g}M" if k >= 1000 else f"€{k}K" for k in thousands.tolist()]


def _generate_profile(draw: ColumnDraws, overall: Integers) -> Columns:
    """Return the columns that describe the player."""
    heights, weights = draw.bell("Height", 62, 81), draw.bell("Weight", 120, 220)
    stars = {name: draw.bell(name, 1, 5).tolist() for name in ("Weak Foot", "Skill Moves")}
    return stars | {
        "Potential": np.minimum(overall + draw.integers("Potential", 0, 12), 95).tolist(),
        "Special": (overall * 22 + draw.integers("Special", 0, 300)).tolist(),
        "International Reputation": np.maximum((overall - 60) // 7, 1).tolist(),
        "Preferred Foot": draw.choices("Preferred Foot", ("Right", "Right", "Right", "Left")),
        "Work Rate": draw.choices("Work Rate", _WORK_RATES),
        "Body Type": draw.choices("Body Type", ("Lean", "Normal", "Normal", "Stocky")),
        "Real Face": draw.choices("Real Face", ("No", "No", "No", "Yes")),
        "Jersey Number": draw.numbers("Jersey Number", 1, 99),
        "Height": [f"{inches // 12}'{inches % 12}" for inches in heights.tolist()],
        "Weight": [f"{pounds}lbs" for pounds in weights.tolist()],
    }


def _generate_contract(draw: ColumnDraws, thousands: Integers) -> Columns:
    """Return the columns of the contract; one player in ten is on loan."""
    joined = zip(
        draw.choices("month", _MONTHS),
        draw.numbers("day", 1, 28),
        draw.numbers("year", 2008, 2018),
        strict=True,
    )
    lenders = draw.choices("Loaned From", _CLUBS)
    loaned = (draw.integers("loan", 0, 9) == 0).tolist()
    return {
        "Value": _format_money(thousands),
        "Wage": [f"€{k}K" for k in np.maximum(thousands // 150, 1).tolist()],
        "Joined": [f"{month} {day}, {year}" for month, day, year in joined],
        "Loaned From": [
            lender if lent else "" for lender, lent in zip(lenders, loaned, strict=True)
        ],
        "Contract Valid Until": [
            str(year) for year in draw.numbers("Contract Valid Until", 2019, 2024)
        ],
        "Release Clause": _format_money(thousands * 19 // 10),
    }


def _generate_ratings(
    draw: ColumnDraws, name: str, overall: Integers, goalkeeper: Flags
) -> list[str]:
    """Return the ratings on one position, such as ``88`` or ``88+2``; a goalkeeper has none."""
    rating = overall - draw.bell(name, 0, 24)
    index = 2 * rating + draw.integers(f"{name}.bonus", 0, 1)
    return pick_entries(("", *_RATINGS), np.where(goalkeeper, 0, index + 1))


def _generate_skills(
    draw: ColumnDraws, name: str, overall: Integers, goalkeeper: Flags
) -> list[int]:
    """Return one skill: close to the overall mark for the player's kind, low for the other kind."""
    own = goalkeeper == name.startswith("GK")
    spread = draw.bell(name, 0, 20)
    skills: list[int] = np.where(
        own, np.minimum(overall + 8 - spread, 96), 2 + spread // 2
    ).tolist()
    return skills
