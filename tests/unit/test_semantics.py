"""Each item of docs/semantics.md names tests that hold it, and they exist; tests name items that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/semantics.md").read_text("utf-8")
TEST_FILES = sorted((ROOT / "tests").rglob("test_*.py"))
HELD_BY = "Held by:"
TEST = re.compile(r"`([^`\s]+)::(\w+)`")
# How tests name an item: `test_39_...`; a case "40: ..." or "skew: 40: ..."; "item 17" or "items 4 and 6" in words.
IN_NAME = re.compile(r"test_(\d+)_")
IN_CASE = re.compile(r"(?:\w+: )?(\d+): (?:[a-z]|$)")
IN_WORDS = re.compile(r"\bitems? (\d+)(?: (?:and|to) (\d+))?", re.IGNORECASE)


def items(page: str) -> list[tuple[int, str]]:
    """The numbered items of the page, each up to the next item or heading."""
    blocks = re.split(r"^(?=\d+\. |#)", page, flags=re.MULTILINE)
    return [(int(number), block) for block in blocks if (number := block.partition(". ")[0]).isdecimal()]


def holding(item: str) -> list[tuple[str, str]]:
    """File and function of the tests that an item names."""
    return TEST.findall(item.partition(HELD_BY)[2])


@cache
def functions(file: Path) -> frozenset[str]:
    """The functions that pytest collects from a file: those on its first level."""
    nodes = ast.parse(file.read_text("utf-8")).body
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


def named(file: Path) -> set[int]:
    """The items that a file of tests names."""
    tree = ast.parse(file.read_text("utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found = [IN_NAME.match(name) for name in functions(file)] + [IN_CASE.match(text) for text in texts]
    numbers = [match[1] for match in found if match]
    numbers += [number for text in texts for pair in IN_WORDS.findall(text) for number in pair if number]
    return set(map(int, numbers))


ITEMS = items(PAGE)
NAMED = {file: named(file) for file in TEST_FILES}


def test_items_are_numbered_without_a_hole() -> None:
    assert [number for number, _ in ITEMS] == list(range(1, len(ITEMS) + 1))


@pytest.mark.parametrize(("number", "item"), ITEMS, ids=[f"item {number}" for number, _ in ITEMS])
def test_an_item_is_held_by_tests_that_exist(number: int, item: str) -> None:
    assert item.count(HELD_BY) == 1
    assert item.count("::") == len(holding(item)) > 0
    for name, function in holding(item):
        assert ROOT / name in TEST_FILES, f"{name} is no file of tests"
        assert function in functions(ROOT / name), f"{name} has no {function}"


def test_items_that_tests_name_exist() -> None:
    assert set().union(*NAMED.values()) <= {number for number, _ in ITEMS}


@pytest.mark.parametrize(("number", "item"), ITEMS, ids=[f"item {number}" for number, _ in ITEMS])
def test_an_item_names_each_file_of_tests_that_names_it(number: int, item: str) -> None:
    """A case that was written for an item is one that holds it."""
    mine = {str(file.relative_to(ROOT)) for file, numbers in NAMED.items() if number in numbers}
    assert mine - {name for name, _ in holding(item)} == set()
