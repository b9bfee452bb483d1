"""`txnlog report --transactional-id`: a page of what an id has open and of its past, in which names are text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import report_tables
from tests.html import Elements, told
from tests.id_tables import ID, ended, tables
from tests.tables_by_hand import at
from txnlog.cli import main
from txnlog.report import id_page
from txnlog.report.transaction_query import Wanted
from txnlog.tables.layout import Root

SHOWN = ID.replace("\u202e", "\\u202e")


def page(root: Root) -> str:
    return id_page.rendered(root, Wanted(None, ID))


def test_it_has_what_is_open_with_its_remedy_and_the_past_of_this_id_alone(tmp_path: Path) -> None:
    opened = [report_tables.transaction(transactional_id=ID), report_tables.transaction("refunds")]
    words = told(page(tables(tmp_path, opened)))
    assert "1 open transaction: 1 ABORT." in words
    assert "orders-0 from offset 42" in words
    assert "refunds" not in words
    assert "no transaction listed it" in words
    assert "abort-list" in words
    assert "1 COMMIT" in words
    assert "1 ABORT" in words
    assert "Producers that were fenced" in words
    assert "epoch 0 NEW_PRODUCER 7 1" in words
    assert "How long its transactions took, in ms" in words
    assert "COMMIT CLIENT 1000 7 orders-3" in words
    assert "ABORT CLIENT 1000 7 orders-3" in words
    assert "8888" not in words


def test_what_it_does_not_have_is_said(tmp_path: Path) -> None:
    assert "It has nothing open in the latest dump." in told(page(tables(tmp_path / "past")))
    opened = [report_tables.transaction(transactional_id=ID)]
    words = told(page(tables(tmp_path / "open", opened, [], [])))
    assert "No record of it is kept" in words
    assert "Producers that were fenced" not in words


def test_a_name_is_text_and_nothing_else(tmp_path: Path) -> None:
    opened = [report_tables.transaction(ID, transactional_id=ID, reason=ID)]
    past = [ended(1, partitions=[{"topic": ID, "partition": 0, "listed_at": at(1)}])]
    found = Elements(page(tables(tmp_path, opened, past=past)))
    tags = {tag for tag, _ in found.tags}
    assert not tags & {"script", "img", "iframe", "object", "form"}
    assert [values for _, values in found.tags if any(name.startswith("on") for name in values)] == []
    links = [values[name] for _, values in found.tags for name in ("src", "href", "action") if name in values]
    assert links == ["data:,"]
    assert any(text.strip() == SHOWN for text in found.texts)


def test_of_many_transactions_the_latest_are_there_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(id_page, "MOST", 2)
    words = told(page(tables(tmp_path, past=[ended(1), ended(3), ended(5, "ABORT")])))
    assert "Transactions The latest 2 of 3." in words
    assert "The latest 2 of 5 events." in words
    assert words.count("COMMIT CLIENT") == 1


def test_the_command_writes_the_page_or_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, file = tables(tmp_path / "tables"), tmp_path / "id.html"
    arguments = ["report", "--tables", root.text, "--html", str(file), "--transactional-id"]
    assert main([*arguments, ID]) == 0
    assert SHOWN in told(file.read_text())
    assert main([*arguments, "checkout-7"]) == 2
    assert "no record of 'checkout-7' is kept" in capsys.readouterr().err
    assert main([*arguments, ID, "--cluster", "nope"]) == 2
    assert "--cluster: nope is not in the tables; they have payments" in capsys.readouterr().err
