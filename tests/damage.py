"""Files that a test changes as a fault would."""

from pathlib import Path


def flip_bit(path: Path, bit: int) -> None:
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    replace_content(path, content)


def replace_content(path: Path, content: bytes) -> None:
    """Write a new file of that name: one that is rewritten in a clock's tick looks unchanged."""
    new = path.with_name("new")
    new.write_bytes(content)
    new.replace(path)
