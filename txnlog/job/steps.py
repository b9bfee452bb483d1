"""The steps of a run, and how long each takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from txnlog.config import DetectOptions

STEPS = (
    "list the dump",
    "ask the cluster",
    "start Spark",
    "read the dump",
    "open the tables",
    "replay and judge",
    "write the verdicts",
    "write states and inventory",
    "write the run",
    "write the metrics",
)


def steps_of(options: DetectOptions) -> tuple[str, ...]:
    """The steps of a run with these options, in their order."""
    left_out = {"ask the cluster": options.bootstrap_server is None, "write the metrics": options.metrics is None}
    return tuple(step for step in STEPS if not left_out.get(step, False))


@dataclass(slots=True)
class Steps:
    """Seconds that each step took; `announce` is called with the name of each as it begins."""

    announce: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step."""
        self.announce(name)
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + round(time.monotonic() - start, 3)
