"""Files of other systems: a shop's orders, a spreadsheet's export, an interface's answer."""

import csv
import io
import json
import random
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
