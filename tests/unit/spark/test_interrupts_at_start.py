"""An interrupt while Spark starts is said to be one, whatever it has made of the start."""

from __future__ import annotations

import signal

import pytest

from txnlog.errors import SetupError
from txnlog.spark.interrupts import heeded_afterwards


def interrupted() -> None:
    signal.raise_signal(signal.SIGINT)
    raise SetupError("java -version does not work")


def test_what_fails_after_an_interrupt_was_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt), heeded_afterwards():
        interrupted()


def test_what_fails_by_itself_is_said() -> None:
    with pytest.raises(SetupError, match="does not work"), heeded_afterwards():
        raise SetupError("java -version does not work")
