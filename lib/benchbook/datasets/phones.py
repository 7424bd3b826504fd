"""The records of study `replication`: generated smartphones, every attribute a string."""

from functools import partial

from benchbook.datasets.dataset import Dataset, build_dataset
from benchbook.datasets.streams import ColumnDraws, split_names
from benchbook.schema import Field, Schema

VERSION = 1

_NAMES = (
    "_id",
    "name",
    "network",
    "display",
    "cpu",
    "memory_card",
    "primary_camera",
    "battery",
    "price",
)
SCHEMA = Schema("smartphones", tuple(Field(name, "string") for name in _NAMES))

_MAKERS = split_names("Acer Asus BLU Gionee Honor HTC Huawei Lenovo LG Meizu Nokia OnePlus Oppo")
_LINES = split_names("Ace Edge Grand Max Mini Neo Note Play Plus Power Prime Pro Zoom")
_NETWORKS = (
    "GSM",
    "GSM / HSPA",
    "GSM / HSPA / LTE",
    "GSM / CDMA / HSPA / LTE",
    "GSM / CDMA / HSPA / EVDO / LTE",
)
_PANELS = ("TFT", "IPS LCD", "AMOLED", "Super AMOLED", "OLED", "LTPS IPS LCD")
_CORES = ("Quad-core", "Hexa-core", "Octa-core", "Dual-core")
_DESIGNS = (
    "Cortex-A7",
    "Cortex-A9",
    "Cortex-A53",
    "Cortex-A55",
    "Cortex-A73",
    "Kryo 260",
    "Kryo 385 Gold",
)
_CARDS = (
    "No",
    *(
        f"microSD, up to {size}"
        for size in ("32 GB", "128 GB (dedicated slot)", "256 GB (uses SIM 2 slot)")
    ),
)


def generate_smartphones(n: int, seed: int) -> Dataset:
    """Return `n` smartphones with the attributes that the replication paper names, and ``_id``.

    The paper prints no example and no size of a record, so the values are made up. A record has
    about 0.36 KB as JSON. Another column, or another order of draws, changes the measured data:
    raise `VERSION` then.
    """
    draw = ColumnDraws(seed, "smartphones", n)
    choices, numbers = draw.choices, draw.numbers
    rows = partial(zip, strict=True)
    name = rows(choices("maker", _MAKERS), choices("line", _LINES), numbers("model", 1, 9999))
    display = rows(choices("panel", _PANELS), numbers("inches", 35, 72), numbers("width", 48, 144))
    cpu = rows(choices("cores", _CORES), numbers("clock", 100, 299), choices("design", _DESIGNS))
    camera = rows(
        numbers("megapixels", 5, 108), numbers("aperture", 15, 28), numbers("focal", 22, 31)
    )
    columns = (
        draw.ids(),
        [f"{maker} {line} {model}" for maker, line, model in name],
        choices("network", _NETWORKS),
        [
            f"{panel}, 16M colors, {inch / 10} inches, {10 * width} x {20 * width} pixels"
            for panel, inch, width in display
        ],
        [f"{cores} {clock / 100} GHz {design}" for cores, clock, design in cpu],
        choices("memory_card", _CARDS),
        [f"{pixels} MP, f/{stop / 10}, {focal}mm (wide), PDAF" for pixels, stop, focal in camera],
        [
            f"Non-removable Li-Ion {10 * charge} mAh battery"
            for charge in numbers("battery", 150, 600)
        ],
        [f"About {price} EUR" for price in numbers("price", 60, 1400)],
    )
    return build_dataset("smartphones", SCHEMA, columns)
