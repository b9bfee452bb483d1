"""What the pages of the documentation show: blocks of code, and the commands of txnlog in them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
# Made from the code, with what `--help` prints.
GENERATED = ("commands.md", "tables.md")
PAGES = [README, *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in GENERATED)]


def blocks(page: Path) -> list[str]:
    """The blocks of code, of whatever language."""
    return re.findall(r"^```\w*\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    """The command lines of txnlog in the blocks, without a prompt; a line that is continued is one."""
    lines = "\n".join(blocks(page)).replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?txnlog ", line)]


def arguments(command: str) -> list[str]:
    """The arguments of a command line, without where its output goes."""
    return shlex.split(command.partition(" >")[0])[1:]


def outputs(page: Path) -> dict[str, list[str]]:
    """What the blocks that begin with a prompt show below it, by command."""
    shown = [block.splitlines() for block in blocks(page) if block.startswith("$ txnlog ")]
    return {lines[0].removeprefix("$ "): lines[1:] for lines in shown}
