"""One listing of a dump for all who read it."""

from __future__ import annotations

from pathlib import Path

from tests.writer import data, segment
from txnlog.dump.inventory import inventory
from txnlog.dump.shared_listing import listed, shared_listing
from txnlog.sources.data_sources import EvidenceSource


def files(dump: Path, listing: str) -> list[str]:
    return [file.file for file in EvidenceSource({"path": str(dump), "listing": listing}).inventory().files]


def test_a_source_reads_what_was_listed_and_lists_nothing(tmp_path: Path) -> None:
    first = segment(tmp_path, "orders-0", data(0))
    with shared_listing(inventory(tmp_path)) as listing:
        segment(tmp_path, "orders-1", data(0))
        assert files(tmp_path, listing) == [str(first.relative_to(tmp_path))]


def test_a_source_lists_by_itself_where_the_listing_is_not(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", data(0))
    with shared_listing(inventory(tmp_path)) as listing:
        pass
    assert listed(listing) is None
    assert len(files(tmp_path, listing)) == 1


def test_a_listing_of_another_dump_is_not_taken(tmp_path: Path) -> None:
    segment(tmp_path / "one", "orders-0", data(0))
    segment(tmp_path / "two", "payments-0", data(0))
    with shared_listing(inventory(tmp_path / "one")) as listing:
        assert files(tmp_path / "two", listing) == [f"payments-0/{0:020}.log"]


def test_what_nobody_else_may_write_to_is_not_left_behind(tmp_path: Path) -> None:
    with shared_listing(inventory(tmp_path)) as listing:
        assert Path(listing).stat().st_mode & 0o077 == 0
    assert not Path(listing).exists()


def test_a_listing_that_may_not_be_read_is_none(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", data(0))
    # As another user's file would, a folder cannot be opened, whoever asks.
    assert listed(str(tmp_path)) is None
    assert len(files(tmp_path, str(tmp_path))) == 1
