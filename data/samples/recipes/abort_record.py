"""The text of `abort-run.txt` beside a sample: what was run, what it said, and whether each claim held."""

import re
import socket
from dataclasses import dataclass, field
from pathlib import Path

from abort_lines import Finished
from programs import REPOSITORY


@dataclass
class Record:
    """The text of `abort-run.txt` while it grows."""

    scratch: Path
    lines: list[str] = field(default_factory=list)
    passed: int = 0
    failures: list[str] = field(default_factory=list)

    def say(self, text: str = "") -> None:
        """Add text, without the names of this machine."""
        names = {str(self.scratch): "SCRATCH", str(REPOSITORY): "REPOSITORY", socket.gethostname(): "HOST"}
        for name, instead in names.items():
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", instead, text)
        self.lines += [line.rstrip() for line in text.splitlines()] or [""]

    def check(self, holds: bool, claim: str) -> None:
        """Note whether a claim holds."""
        self.passed += holds
        self.failures += [] if holds else [claim]
        self.say(f"{'passed' if holds else 'FAILED'}: {claim}")

    def ran(self, command: str, finished: Finished) -> None:
        """Note a command, what it said, and its exit code."""
        said = (finished.out, finished.error if finished.code else "", f"exit code {finished.code}")
        self.say("\n".join([f"$ {command}", *(text.strip() for text in said if text.strip())]))
