"""The list of mutants keeps up with the code; `make mutants` shows that each turns its test red."""

from __future__ import annotations

import ast
import re
from functools import cache

from tests.mutants import ROOT, Mutant, listed

# Words that a test makes of a number; no file has them.
NUMBERED = re.compile(r"attack \d+")


def test_every_mutant_can_be_made_and_names_a_test_that_is_there() -> None:
    mutants = listed("")
    assert sum("/detection/" in mutant.file for mutant in mutants) >= 40
    assert len({mutant.says for mutant in mutants}) == len(mutants)
    assert [mutant.test for mutant in mutants if not is_there(mutant)] == []


def is_there(mutant: Mutant) -> bool:
    """Whether its test is in its file, as far as that says so without being run: `make mutants` asks pytest."""
    file, _, name = mutant.test.partition("::")
    function, _, parameters = name.removesuffix("]").partition("[")
    functions, text = parsed(file)
    # One that is named without its parameters is all of them.
    words = [parameters] if parameters in text else re.split(": |-", parameters)
    return function in functions and all(each in text or NUMBERED.fullmatch(each) for each in words)


@cache
def parsed(file: str) -> tuple[set[str], str]:
    """The functions of a file, and its text."""
    text = (ROOT / file).read_text("utf-8")
    return {each.name for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)}, text
