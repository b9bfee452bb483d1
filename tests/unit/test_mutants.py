"""The list of mutants keeps up with the code; `make mutants` shows that each turns its test red."""

from __future__ import annotations

import subprocess

from tests.mutants import PYTEST, ROOT, listed


def test_every_mutant_can_be_made_and_names_a_test_that_is_there() -> None:
    mutants = listed("")
    assert sum("/detection/" in mutant.file for mutant in mutants) >= 40
    assert len({mutant.says for mutant in mutants}) == len(mutants)
    files = sorted({mutant.test.partition("::")[0] for mutant in mutants})
    command = [*PYTEST, "--collect-only", *files]
    there = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    # One that is named without its parameters is all of them.
    known = {*there, *(test.partition("[")[0] for test in there)}
    assert [mutant.test for mutant in mutants if mutant.test not in known] == []
