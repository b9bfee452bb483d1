"""docs/troubleshooting.md quotes messages that the code has, each under its exit code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from txnlog import errors

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/troubleshooting.md").read_text("utf-8")
# What differs from one message to the next.
SOMETHING = "…"


def text_of(node: ast.expr) -> str:
    """A literal, with `…` for what is put into it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    return str(node.value) if isinstance(node, ast.Constant) else SOMETHING


def raised() -> Iterator[tuple[int, str]]:
    """The exit code and the message of each error of ours that the code makes."""
    for source in (ROOT / "txnlog").rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                kind = getattr(errors, node.func.id, None)
                if kind is not None:
                    yield kind.exit_code, text_of(node.args[0])


def quoted() -> list[tuple[int, str]]:
    """The exit code and the message of each block of the page."""
    sections = re.findall(r"^## Exit code (\d).*?\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return [
        (int(code), message)
        for code, text in sections
        for message in re.findall(r"^```\ntxnlog: (.*)\n```$", text, re.MULTILINE)
    ]


def fixed(message: str) -> list[str]:
    """The words of a message that are always the same, in their order."""
    return [part for part in message.split(SOMETHING) if part]


def is_quote(quote: str, message: str) -> bool:
    """Whether the words of a quote stand in a message one after another, with something between where it says so."""
    return "\0".join(fixed(quote)) in "\0".join(fixed(message))


MESSAGES = list(raised())


@pytest.mark.parametrize(("code", "quote"), quoted())
def test_a_message_of_the_page_is_one_of_the_code_under_its_exit_code(code: int, quote: str) -> None:
    assert [message for its_code, message in MESSAGES if its_code == code and is_quote(quote, message)]


def test_there_are_more_than_twenty_of_every_exit_code() -> None:
    assert len(set(quoted())) >= 20
    assert {code for code, _ in quoted()} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("block", re.findall(r"^```\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL))
def test_each_block_is_one_line_of_txnlog(block: str) -> None:
    assert block.startswith("txnlog: ")
    assert "\n" not in block
