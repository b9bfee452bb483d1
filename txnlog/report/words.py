"""Counts, sizes, times and names as people read them in the report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from txnlog.report.output import counted, printable

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))


def number(value: int | None) -> str:
    """`12 345`: narrow spaces within, which no locale takes for a decimal sign."""
    return "—" if value is None else f"{value:,}".replace(",", "\u202f")


def amount(value: int, noun: str) -> str:
    """`1 record`, `12 345 records`, with the number as pages show it."""
    return counted(value, noun, number)


def lasting(milliseconds: int | None) -> str:
    """A duration in its two largest units: `2 d 4 h`, `5 min 41 s`."""
    if milliseconds is None:
        return "unknown"
    parts, rest = [], max(0, milliseconds)
    for unit, size in _UNITS:
        if rest >= size:
            parts.append(f"{rest // size} {unit}")
            rest %= size
    return " ".join(parts[:2]) or "less than 1 s"


def size(value: int) -> str:
    """Bytes in the unit that keeps them short: `512 B`, `1.4 GiB`."""
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def moment(value: datetime | None) -> str:
    """An instant to the second, in UTC."""
    return "unknown" if value is None else f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def short(value: Any, length: int = 28) -> str:
    """A name on one line, cut in its middle: names differ at their ends."""
    text = printable(value)
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[-tail:]}"
