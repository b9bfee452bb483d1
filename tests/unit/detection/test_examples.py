"""The worked examples of docs/examples.md: the page says of each what the detection says."""

from __future__ import annotations

import pytest

from tests.detection_cases import Found
from tests.worked_examples import EXAMPLES, PAGE, Example, page
from txnlog.detection.causes import Cause

CASES = [each.case for each in EXAMPLES]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.cause)
def test_it_is_an_example_of_its_cause(example: Example, found: Found) -> None:
    assert found.only(example.case)["cause"] == example.cause


def test_each_cause_has_one() -> None:
    assert sorted(each.cause for each in EXAMPLES) == sorted(Cause)


def test_the_page_is_what_the_detection_says(found: Found) -> None:
    assert PAGE.read_text("utf-8") == page(found), "run: python -m tests.worked_examples"
