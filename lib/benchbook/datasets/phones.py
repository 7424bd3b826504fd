"""The replication study's records: smartphones, every attribute a string."""

from benchbook.datasets import Dataset, assemble
from benchbook.datasets.streams import choices, ids, names, numbers
from benchbook.schemas import Field, Schema

_NAMES = ("_id", "name", "network", "display", "cpu", "memory_card", "primary_camera", "battery", "price")
SCHEMA = Schema("smartphones", tuple(Field(name, "string") for name in _NAMES))

_MAKERS = names("Acer Asus BLU Gionee Honor HTC Huawei Lenovo LG Meizu Nokia OnePlus Oppo")
_LINES = names("Ace Edge Grand Max Mini Neo Note Play Plus Power Prime Pro Zoom")
_NETWORKS = ("GSM", "GSM / HSPA", "GSM / HSPA / LTE", "GSM / CDMA / HSPA / LTE", "GSM / CDMA / HSPA / EVDO / LTE")
_PANELS = ("TFT", "IPS LCD", "AMOLED", "Super AMOLED", "OLED", "LTPS IPS LCD")
_CORES = ("Quad-core", "Hexa-core", "Octa-core", "Dual-core")
_DESIGNS = ("Cortex-A7", "Cortex-A9", "Cortex-A53", "Cortex-A55", "Cortex-A73", "Kryo 260", "Kryo 385 Gold")
_CARDS = (
    "No",
    *(f"microSD, up to {size}" for size in ("32 GB", "128 GB (dedicated slot)", "256 GB (uses SIM 2 slot)")),
)


def smartphones(n: int, seed: int) -> Dataset:
    """Return `n` smartphones: name, network, display, CPU, memory card, primary camera, battery, price, and ``_id``.

    The attributes are those that the replication study names; it prints no value and no size. A record is about
    0.36 KB as JSON.
    """

    def draw(label: str, low: int, high: int) -> list[int]:
        return numbers(seed, f"smartphones.{label}", n, low, high)

    def chosen(label: str, table: tuple[str, ...]) -> list[str]:
        return choices(seed, f"smartphones.{label}", n, table)

    name = zip(chosen("maker", _MAKERS), chosen("line", _LINES), draw("model", 1, 9999), strict=True)
    display = zip(chosen("panel", _PANELS), draw("inches", 35, 72), draw("width", 48, 144), strict=True)
    cpu = zip(chosen("cores", _CORES), draw("clock", 100, 299), chosen("design", _DESIGNS), strict=True)
    camera = zip(draw("megapixels", 5, 108), draw("aperture", 15, 28), draw("focal", 22, 31), strict=True)
    columns = (
        ids(seed, "smartphones", n),
        [f"{maker} {line} {model}" for maker, line, model in name],
        chosen("network", _NETWORKS),
        [
            f"{panel}, 16M colors, {inch / 10} inches, {10 * width} x {20 * width} pixels"
            for panel, inch, width in display
        ],
        [f"{cores} {clock / 100} GHz {design}" for cores, clock, design in cpu],
        chosen("memory_card", _CARDS),
        [f"{pixels} MP, f/{stop / 10}, {focal}mm (wide), PDAF" for pixels, stop, focal in camera],
        [f"Non-removable Li-Ion {10 * charge} mAh battery" for charge in draw("battery", 150, 600)],
        [f"About {price} EUR" for price in draw("price", 60, 1400)],
    )
    return assemble("smartphones", SCHEMA, columns)
