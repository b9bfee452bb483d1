"""What is open in a partition by the latest dump that has it, with its verdict."""

from __future__ import annotations

from typing import Any

from txnlog.report.table_rows import rows_if_there, text_literal
from txnlog.sources.log_copy import Place
from txnlog.tables.layout import DUMP_FILES, OPEN_TRANSACTIONS, Root

Row = dict[str, Any]


def open_there(root: Root, of_cluster: str, place: Place, where: str = "true") -> list[Row]:
    """The rows of `open_transactions` that fulfil a condition in SQL, as `of_cluster` is one, in the log's order."""
    there = f"{of_cluster} AND topic = {text_literal(place.topic)} AND partition = {place.partition}"
    dumps = rows_if_there(root, DUMP_FILES, f"{there} AND kind = 'segment' AND copy_chosen", "as_of DESC")
    found = rows_if_there(root, OPEN_TRANSACTIONS, f"{there} AND {where}", "start_offset")
    return [row for row in found if row["as_of"] == dumps[0]["as_of"]] if dumps else []
