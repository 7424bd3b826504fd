"""Files of other systems: a shop's orders, a spreadsheet's export, an interface's answer."""

import csv
import io
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CITIES = ("Łódź", "São Paulo", "北京", "Zürich", "O'Fallon", "Saint-Étienne 🏔")


def write_orders(folder: Path, count: int = 40) -> Path:
    """Write orders as JSON Lines, with arrays of documents, nulls and missing fields."""
    draw = random.Random(1)
    lines = []
    for number in range(count):
        items = [
            {
                "sku": f"A-{draw.randrange(1000):03}",
                "quantity": draw.randrange(1, 9),
                "price": round(draw.random() * 100, 2),
            }
            for _ in range(draw.randrange(4))
        ]
        for item in items[:1]:
            item["note"] = draw.choice([None, "gift", ""])
        order = {
            "_id": f"order-{number}",
            "placed": f"2026-03-{1 + number % 28:02}T09:30:00+01:00",
            "status": draw.choice(["paid", "sent", "returned"]),
            "customer": {
                "name": f"Anna {number}",
                "address": {"city": draw.choice(CITIES), "zip": f"0{number:04}"},
            },
            "lines": items,
            "tags": ["new", "b2b"][: draw.randrange(3)],
            "discount": draw.choice([None, 5, 7.5]),
            "total": sum(item["price"] * 4 for item in items) // 1 / 4,
        }
        if number % 3 == 0:
            order["coupon"] = {"code": "SPRING", "used": number % 2 == 0}
        if number % 5 == 0:
            del order["tags"]
        lines.append(json.dumps(order, ensure_ascii=number % 2 == 0))
    path = folder / "orders.jsonl"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def write_export(folder: Path, count: int = 40) -> Path:
    """Write a spreadsheet's CSV: semicolons, decimal commas, a byte order mark, CRLF."""
    draw = random.Random(2)
    text = io.StringIO()
    rows = csv.writer(text, delimiter=";", lineterminator="\r\n")
    rows.writerow(["Nr", "Kunde", "Betrag", "Menge", "Datum", "Bemerkung", "PLZ", "Leer"])
    for number in range(count):
        amount = f"{draw.randrange(1, 999_999) / 100:,.2f}".translate(str.maketrans(",.", ".,"))
        remark = draw.choice(["", "zwei\r\nZeilen", 'sagt "ja"; gut', "Grüße"])
        quantity, day = draw.choice(["", str(draw.randrange(50))]), f"2026-01-{1 + number % 31:02}"
        rows.writerow(
            [number, f"Kunde {number}", amount, quantity, day, remark, f"0{number:04}", ""]
        )
    path = folder / "export.csv"
    path.write_bytes(b"\xef\xbb\xbf" + text.getvalue().encode())
    return path


def write_answer(folder: Path, count: int = 40) -> Path:
    """Write an interface's answer: an indented array, nested, with values of mixed types."""
    draw = random.Random(3)
    records = [
        {
            "id": 2**40 + number,
            "name": f"naïve – {draw.choice(CITIES)} \N{ZERO WIDTH JOINER}",
            "owner": {
                "login": "ada",
                "admin": False,
                "plan": {"seats": {"used": number, "limits": [1, [2, 3], []]}},
            },
            "labels": (
                [{"name": "bug", "color": {"hex": "#f00", "rgb": [255, 0, 0]}}] * draw.randrange(3)
            ),
            "value": draw.choice([1, "n/a", 0.5, {"from": 1, "to": None}]),
            "empty": {},
            "steps": draw.choice([[], [None, 1], ["a"]]),
            "parent": None if number % 2 else {"id": 2**40, "name": ""},
        }
        for number in range(count)
    ]
    path = folder / "answer.json"
    path.write_text(json.dumps(records, ensure_ascii=False, indent=2), encoding="utf-8")
    return path


FILES = {"orders": write_orders, "export": write_export, "answer": write_answer}


@dataclass(frozen=True)
class OddTable:
    """A table as one system writes it, with the options with which pandas reads it."""

    content: bytes
    options: Mapping[str, object] = field(default_factory=dict)  # of `pandas.read_csv`
    notes: str = ""  # what a note says of it
    rows: int = 30  # records


def draw_table(count: int = 30) -> list[list[str]]:
    """Return a header and rows of a whole number, a fraction, a text, a boolean and a day."""
    draw = random.Random(4)
    texts = ["two words", "Köln", 'say "yes"', "a, b", "x; y", "line\nbreak", "№ 5", "O'Fallon"]
    rows = [["number", "share", "text", "flag", "day"]]
    for number in range(count):
        share = f"{draw.uniform(-1e6, 1e6):.{draw.randrange(1, 15)}f}"
        text, day = draw.choice(texts), f"2026-01-{1 + number % 31:02}"
        rows.append([str(number * 977 - 5), share, text, draw.choice(["True", "False"]), day])
    return rows


def write_rows(
    rows: Sequence[Sequence[str]], delimiter: str = ",", end: str = "\n", *, quote: bool = False
) -> str:
    """Return rows as delimited text."""
    text = io.StringIO()
    quoting = csv.QUOTE_ALL if quote else csv.QUOTE_MINIMAL
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    return text.getvalue()


def make_odd_tables() -> dict[str, OddTable]:
    """Return tables with oddities that real files have, by their names."""
    rows = draw_table()
    simple = [[cell.translate(_PLAIN) for cell in row] for row in rows]
    plain = write_rows(rows)
    missing = [[*row] for row in rows]
    for place, mark in enumerate(("NA", "N/A", "nan", "NaN", "NULL", "null", "None", "#N/A"), 1):
        for column in (0, 1, 3, 4):
            missing[place * 3][column] = mark
    exported = [[r"\N" if cell == "N/A" else cell for cell in row] for row in missing]
    short = [row[:3] if place % 7 == 3 else row for place, row in enumerate(rows)]
    comma = [[row[0], row[1].replace(".", ","), *row[2:]] for row in rows]
    twice = [["number", "share", "text", "flag", "number"], *rows[1:]]
    table = OddTable
    return {
        "plain": table(plain.encode()),
        "quoted": table(write_rows(rows, quote=True).encode()),
        "windows": table(write_rows(rows, end="\r\n").encode()),
        "old-mac": table(write_rows(simple, end="\r").encode()),
        "mixed-ends": table(
            write_rows(simple, end="\r\n").replace("\r\n", "\n", 9).encode()),
        "no-last-end": table(plain.rstrip("\n").encode()),
        "semicolons": table(write_rows(rows, ";").encode(), {"sep": ";"}),
        "tabs": table(write_rows(rows, "\t").encode(), {"sep": "\t"}),
        "pipes": table(write_rows(rows, "|").encode(), {"sep": "|"}),
        "blanks": table(write_rows(simple, " ", quote=True).encode(), {"sep": " "}),
        "decimal-comma": table(write_rows(comma, ";").encode(), {"sep": ";", "decimal": ","}),
        "excel": table(
            b"sep=;\r\n" + write_rows(comma, ";", "\r\n").encode(),
            {"sep": ";", "decimal": ",", "skiprows": 1},
        ),
        "mark": table(b"\xef\xbb\xbf" + write_rows(rows, ";", "\r\n", quote=True).encode(),
            {"sep": ";"}),
        "utf-16": table(write_rows(rows, "\t", "\r\n").encode("utf-16"),
            {"sep": "\t", "encoding": "utf-16"}),
        "cp1252": table(write_rows(rows).replace("№", "€").encode("cp1252"),
            {"encoding": "cp1252"}, "read as cp1252"),
        "world-bank": table(
            ('"Data Source","Indicators",\n\n"Last Updated","2026-01-02",\n\n' + plain).encode(),
            {"skiprows": 4}, "The header is line 5"),
        "nasa": table(
            ("# This file\n# COLUMN number: a number, any\n#\n" + plain).encode(),
            {"skiprows": 3}, "The header is line 4"),
        "short-rows": table(write_rows(short).encode(), notes="without the last values"),
        "trailing-delimiter": table(
            write_rows([[*row, ""] for row in rows]).encode(), {"usecols": range(5)}),
        "blank-lines": table(write_rows(simple).replace("\n", "\n\n").encode()),
        "empty-rows": table((write_rows(simple) + ",,,,\n,,,,\n").encode(),
            {"nrows": 30}, "of empty cells only"),
        "blanks-after-delimiter": table(
            "\n".join(", ".join(f'"{c}"' if p == 2 else c for p, c in enumerate(row))
                for row in simple).encode(), {"skipinitialspace": True}),
        "missing": table(write_rows(missing).encode(), notes="Taken as absent: 'NA' 4 times"),
        "mysql": table(write_rows(exported, "\t").encode(),
            {"sep": "\t", "na_values": r"\N"}, "Taken as absent"),
        "same-names": table(write_rows(twice).encode()),
    }  # fmt: skip


_PLAIN = str.maketrans({",": None, ";": None, "\n": " ", '"': None})
