"""What a terminal gets that a file or a log does not: a width to fit, and the step under way."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence

LOG = logging.getLogger("txnlog")


def width() -> int | None:
    """Columns of the terminal that stdout is; None where it is none, and nothing has to fit."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


@contextlib.contextmanager
def progress(steps: Sequence[str]) -> Iterator[Callable[[str], None]]:
    """A function that is told each step as it begins. On a terminal it shows the step, its number and what is left."""
    if not sys.stderr.isatty() or LOG.isEnabledFor(logging.INFO):
        yield lambda step: LOG.info("%s", told(step, steps))
        return
    from rich.console import Console

    with Console(stderr=True).status("…") as status:
        yield lambda step: status.update(told(step, steps))


def told(step: str, steps: Sequence[str]) -> str:
    """A step with its number and those behind it."""
    if step not in steps:
        return f"{step} …"
    number = steps.index(step) + 1
    left = steps[number:]
    return f"step {number} of {len(steps)}: {step} …" + (f" then {', '.join(left)}" if left else "")
