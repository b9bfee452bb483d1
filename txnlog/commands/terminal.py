"""Output for a terminal only: the width to fit, and the current step."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence

LOG = logging.getLogger("txnlog")


def width() -> int | None:
    """The width of the terminal; None if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


@contextlib.contextmanager
def progress(steps: Sequence[str]) -> Iterator[Callable[[str], None]]:
    """A function to call when a step begins. On a terminal it shows the step, its number and the steps left."""
    if not sys.stderr.isatty() or LOG.isEnabledFor(logging.INFO):
        yield lambda step: LOG.info("%s; %s", numbered(step, steps), steps_after(step, steps) or "then done")
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    # The list of steps left is cut at the terminal's width: a wrapped line would jump.
    left = TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), left)
    with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as shown:
        task = shown.add_task("", total=len(steps), left="")
        yield lambda step: shown.update(task, description=numbered(step, steps), left=steps_after(step, steps))


def numbered(step: str, steps: Sequence[str]) -> str:
    """A step with its number."""
    return f"step {steps.index(step) + 1} of {len(steps)}: {step}" if step in steps else step


def steps_after(step: str, steps: Sequence[str]) -> str:
    """The steps after a step; empty after the last."""
    following = steps[steps.index(step) + 1 :] if step in steps else ()
    return f"then {', '.join(following)}" if following else ""
