"""The clock of brokers and clients: the machine's, or one that is late and moved on by hand.

Brokers run under libfaketime then (Debian, Ubuntu: `apt-get install libfaketime`). Only the time of day is moved: how
long brokers wait for each other is measured by a clock that nobody moves.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DAY_MS = 86_400_000
PRELOADED = "faketime/libfaketimeMT.so.1"


def now_ms() -> int:
    """Milliseconds of the machine's clock."""
    return time.time_ns() // 1_000_000


@dataclass
class Clock:
    """Brokers read in `file` how many milliseconds their clock is slow; without one they follow the machine's."""

    file: Path | None = None
    slow_by_ms: int = 0

    def __post_init__(self) -> None:
        self._tell()

    @property
    def time_ms(self) -> int:
        """What it shows, in milliseconds."""
        return now_ms() - self.slow_by_ms

    def move_to(self, moment_ms: int) -> None:
        """Go forward to a moment, or stay where it has passed."""
        self.slow_by_ms = min(self.slow_by_ms, now_ms() - moment_ms)
        self._tell()

    def _tell(self) -> None:
        if self.file is not None:
            written = self.file.with_suffix(".written")
            written.write_text(f"-{self.slow_by_ms / 1000:.3f}\n")
            written.rename(self.file)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of a program that follows this clock."""
        if self.file is None:
            return os.environ
        library = next((found for found in Path("/usr/lib").glob(f"*/{PRELOADED}")), None)
        if library is None:
            raise FileNotFoundError(f"no {PRELOADED} below /usr/lib: install it (apt-get install libfaketime)")
        moved = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            # Without these two, Java's waits end at once.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "NO_FAKE_STAT": "1",
        }
        return os.environ | moved


def last_six_in_the_morning() -> int:
    """The last 06:00 UTC, in milliseconds."""
    return (now_ms() - DAY_MS // 4) // DAY_MS * DAY_MS + DAY_MS // 4
