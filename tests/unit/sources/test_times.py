"""Instants and durations as people write them."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from txnlog.errors import FormatError, OptionError
from txnlog.times import LATEST_MS, instant_ms, milliseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("900000", 900_000),
        (900_000, 900_000),
        ("15ms", 15),
        ("900s", 900_000),
        (" 15 m ", 900_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        ("0", 0),
    ],
)
def test_a_duration_is_read_in_milliseconds(text: str | int, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize("text", ["", "m", "-5", "1.5h", "5 weeks", "15M", "1h30m", "9" * 5000])
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(OptionError, match="write it as 900000, 900s, 15m, 2h or 1d"):
        milliseconds(text)


MOMENT = 1_795_253_926_141


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-21T09:38:46.141Z",
        "2026-11-21T09:38:46.141+00:00",
        "2026-11-21 11:38:46.141+02:00",
        "2026-11-21T04:08:46.141-05:30",
        " 2026-11-21T09:38:46.141Z ",
        str(MOMENT),
        MOMENT,
        datetime(2026, 11, 21, 11, 38, 46, 141_000, timezone(timedelta(hours=2))),
    ],
)
def test_an_instant_is_read_with_its_zone(text: str | int | datetime) -> None:
    assert instant_ms(text) == MOMENT


@pytest.mark.parametrize("text", ["2026-11-21T09:38:46", "2026-11-21", datetime(2026, 11, 21)])  # noqa: DTZ001
def test_an_instant_without_a_zone_is_refused(text: str | datetime) -> None:
    with pytest.raises(OptionError, match=r"has no time zone: add Z or an offset such as \+02:00"):
        instant_ms(text)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z", "-1", "9" * 5000, "1795253926.141"])
def test_what_is_no_instant_is_refused_with_examples(text: str) -> None:
    with pytest.raises(OptionError, match="write it as 2026-01-31T02:00:00Z or epoch milliseconds"):
        instant_ms(text)


@pytest.mark.parametrize("value", [True, 1.5, date(2026, 1, 31), ["2026"], None])
def test_a_value_of_another_type_is_no_instant(value: object) -> None:
    """A manifest can hold any type of TOML."""
    with pytest.raises(OptionError, match="is not a time"):
        instant_ms(value)


@pytest.mark.parametrize("moment", [-1, LATEST_MS + 1, 2**63, "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59-01:00"])
def test_an_instant_that_no_table_can_hold_is_refused(moment: int | str) -> None:
    with pytest.raises(OptionError, match="outside the years 1970 to 9999"):
        instant_ms(moment)


@given(st.integers(0, LATEST_MS))
def test_every_instant_that_is_written_is_read_again(moment: int) -> None:
    """To the millisecond: floating point would lose one now and then."""
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment)
    assert instant_ms(instant) == moment
    assert instant_ms(instant.isoformat(timespec="milliseconds")) == moment


def test_errors_are_one_line_and_survive_pickling() -> None:
    """Executors send them to the driver."""
    error = FormatError("a reason", 5)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.position, again.reason) == ("byte 5: a reason", 5, "a reason")
