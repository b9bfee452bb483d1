"""Text of several paragraphs, wrapped on a terminal: what people read, and commands that they copy."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from txnlog.report.output import printable
from txnlog.report.remedy import Step

INDENT = 2


class Paragraph(NamedTuple):
    """A paragraph, wrapped on a terminal. A command never is: its line is copied."""

    text: str
    indent: int = INDENT
    style: str = ""
    is_command: bool = False


def of_steps(steps: Iterable[Step]) -> Iterator[Paragraph]:
    """What to do, step by step."""
    for step in steps:
        yield Paragraph(step.says)
        for command in step.commands:
            yield Paragraph(command, 2 * INDENT, is_command=True)


def text_of(paragraphs: Iterable[Paragraph], width: int | None) -> str:
    """The paragraphs; with a `width` for a terminal, with its codes for colours."""
    if width is None:
        return "".join(f"{' ' * each.indent}{printable(each.text)}\n" for each in paragraphs)
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=True, highlight=False, markup=False, emoji=False)
    for each in paragraphs:
        if each.is_command:
            # The terminal itself continues a long line below, and it stays one line.
            text.write(f"{' ' * each.indent}{printable(each.text)}\n")
        else:
            shown = Text(printable(each.text), style=each.style, overflow="fold")
            console.print(Padding(shown, (0, 0, 0, each.indent)))
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())
