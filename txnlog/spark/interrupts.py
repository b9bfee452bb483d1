"""Ctrl-C while Spark starts and works: one line on the terminal, and no Java process is left."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from txnlog.errors import SetupError


@contextmanager
def heeded_afterwards() -> Iterator[None]:
    """An interrupt counts when the block has ended: a JVM whose start nobody awaits would neither stop nor be quiet.

    A second one counts at once. And it ends with the handler that was there before: PySpark's asks the JVM to cancel
    its jobs, in the middle of another question.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupts = []

    def note(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        if len(interrupts) > 1:
            signal.default_int_handler(number, frame)

    logging.getLogger().addFilter(_is_no_broken_question)
    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    except SetupError:
        # The interrupt has ended what was asked, too: a Java that says its version, or the JVM that starts.
        if not interrupts:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt


def _is_no_broken_question(record: logging.LogRecord) -> bool:
    """Whether it is something else than what py4j writes, with a page of stack, where an interrupt ends a question."""
    return not record.getMessage().endswith("while sending command.")
