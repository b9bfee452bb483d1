"""The list of mutants keeps up with the code; `make mutants` shows that each turns its test red."""

from __future__ import annotations

from tests.mutants import ROOT, listed


def test_every_mutant_can_be_made_and_names_a_test_that_is_there() -> None:
    mutants = listed("")
    assert sum("/detection/" in mutant.file for mutant in mutants) >= 40
    assert len({mutant.says for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        file, _, rest = mutant.test.partition("::")
        function = rest.partition("[")[0]
        assert f"def {function}(" in (ROOT / file).read_text("utf-8"), mutant.test
