"""Instants and durations as people write them, in milliseconds as Kafka counts them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from txnlog.errors import OptionError

_DURATION = re.compile(r"(\d{1,18})\s*(ms|s|m|h|d)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_MS = re.compile(r"\d{1,18}")
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, None: 1}
# Delta and Arrow hold microseconds; a producer's timestamp may be any int64 of milliseconds.
EARLIEST_MS = 0
LATEST_MS = 253_402_300_799_999


def milliseconds(text: str | int) -> int:
    """A duration: `900000`, `900s`, `15m`, `2h`, `1d`; a bare number counts milliseconds."""
    match = _DURATION.fullmatch(str(text).strip())
    if match is None:
        raise OptionError(f"{text!r} is not a duration: write it as 900000, 900s, 15m, 2h or 1d")
    return int(match[1]) * _MILLISECONDS[match[2]]


def instant_ms(text: object) -> int:
    """An instant in ms since 1970: ISO 8601 with a time zone, or epoch milliseconds. Without a zone it is refused."""
    if isinstance(text, int) and not isinstance(text, bool):
        return _within_range(text, text)
    if isinstance(text, str) and _EPOCH_MS.fullmatch(text.strip()):
        return _within_range(int(text), text)
    moment = text if isinstance(text, datetime) else _iso_instant(text)
    if moment.tzinfo is None:
        raise OptionError(f"{text!s} has no time zone: add Z or an offset such as +02:00")
    return _within_range(epoch_ms(moment), text)


def epoch_ms(moment: datetime) -> int:
    """An instant with a time zone in whole ms since 1970."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def moment_of(epoch_ms: int) -> datetime:
    """The instant so many ms after 1970, in UTC."""
    return _EPOCH + timedelta(milliseconds=epoch_ms)


def iso_8601(moment_ms: int) -> str:
    """An instant as ISO 8601 in UTC, with milliseconds."""
    return moment_of(moment_ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_literal(moment: datetime) -> str:
    """An instant with a time zone as an SQL literal, of both Spark and delta-rs."""
    return f"TIMESTAMP '{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"


def _iso_instant(text: object) -> datetime:
    try:
        return datetime.fromisoformat(text.strip() if isinstance(text, str) else "")
    except ValueError as error:
        raise OptionError(f"{text!r} is not a time: write it as 2026-01-31T02:00:00Z or epoch milliseconds") from error


def _within_range(moment: int, text: object) -> int:
    if not EARLIEST_MS <= moment <= LATEST_MS:
        raise OptionError(f"{text!s} lies outside the years 1970 to 9999")
    return moment


def within_calendar(milliseconds: str) -> str:
    """An expression of ms since 1970 as SQL; null outside the years 1970 to 9999."""
    return f"if({milliseconds} BETWEEN {EARLIEST_MS} AND {LATEST_MS}, {milliseconds}, NULL)"
