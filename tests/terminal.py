"""What a terminal shows of a text with its codes for colours."""

from __future__ import annotations

import re

# Select Graphic Rendition: the only codes that txnlog may send.
COLOURS = re.compile(r"\x1b\[[\d;]*m")


def seen(text: str) -> list[str]:
    """The lines without the codes for colours; any other code stays."""
    return [COLOURS.sub("", line).rstrip() for line in text.split("\n")[:-1]]
