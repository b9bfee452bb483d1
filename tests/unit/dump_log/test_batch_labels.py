"""What `kafka-dump-log` prints is named as in the bytes of a log."""

from __future__ import annotations

from txnlog.dump_log.batch_labels import CONTROL_TYPES
from txnlog.format.control import MARKER_NAMES, MARKERS, ControlType


def test_each_control_record_has_a_word() -> None:
    assert set(MARKER_NAMES) == {each.name for each in MARKERS}
    assert {*MARKER_NAMES, *CONTROL_TYPES.values()} == {each.name for each in ControlType} | {"UNKNOWN"}
