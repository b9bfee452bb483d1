"""What a terminal shows of a text with its codes for colours."""

from __future__ import annotations

from rich.text import Text


def seen(text: str) -> list[str]:
    """The lines without the codes."""
    return [Text.from_ansi(line).plain.rstrip() for line in text.splitlines()]
