"""Texts of `kafka-dump-log.sh`, each read once: what was printed of each file, and that file's row of `DumpFileRow`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.listing import unreadable
from txnlog.errors import StoreError
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.sources.joined_splits import Piece, put_together
from txnlog.sources.listed import NAMES, WRITTEN_BY_BROKERS, listed_row
from txnlog.sources.text import printed_files
from txnlog.sources.text_summary import Printed, piece_of_text

CUT_BY_HEADING = "the section after it begins in the middle of a log, perhaps of this one"
AFTER_OTHERS = (
    "other topics' logs were printed into the same file before it: print coordinators into a file of their own"
)
# A piece of a row of `DumpFileRow`, and the columns of it that are known without reading.
PieceOfText = tuple[dict[str, Any], Piece]


class TextReading:
    """A text, or a split of one, that is read from its start to its end; then `pieces` are those of its files' rows."""

    def __init__(self, file: DumpFile) -> None:
        self._file = file
        self.pieces: list[PieceOfText] = []

    def found(self) -> Iterator[tuple[DumpFile, Printed]]:
        """What was printed: of segments some batches at a time, of other files their entries where they are whole."""
        file, is_continued = self._file, self._file.split.is_continued
        entries: list[tuple[DumpFile, pa.RecordBatch]] = []
        try:
            for printed, section in printed_files(file):
                yield from entries
                entries = []
                piece = Piece(file.file, file.split.start, len(self.pieces), is_continued)
                is_continued = False
                for found in piece_of_text(printed, section, piece, printed.topic in WRITTEN_BY_BROKERS):
                    if isinstance(found, pa.RecordBatch):
                        entries.append((printed, found))
                    else:
                        yield printed, found
                self.pieces.append((listed_row(printed), piece))
        except (OSError, StoreError) as error:
            index = len(self.pieces)
            failed = Piece(file.file, file.split.start, index, failure=unreadable(error), size=file.size)
            self.pieces.append((listed_row(file), failed))
        # Only a log goes on in the next split: what looks like entries and goes on is forged.
        if not file.split.is_cut:
            yield from entries


def text_rows(pieces: Iterable[PieceOfText]) -> list[dict[str, Any]]:
    """The rows of `DumpFileRow` of one text, by all its pieces in their order."""
    printed: list[tuple[dict[str, Any], list[Piece]]] = []
    failed: list[PieceOfText] = []
    for known, piece in pieces:
        if piece.failure is not None:
            failed.append((known, piece))
        elif piece.is_continued and printed and printed[-1][0]["file"] == known["file"]:
            printed[-1][1].append(piece)
        else:
            printed.append((known, [piece]))
    rows: list[dict[str, Any]] = []
    follows_others = False
    for known, of_one in printed:
        read, is_out_of_place = put_together(known, of_one)
        if known["topic"] == TRANSACTION_STATE and follows_others:
            # Who may write to a topic may forge the lines of another, and those of coordinators cost the most.
            read |= {"problem": AFTER_OTHERS, "damaged_to": NOTHING_FOLLOWS}
        follows_others |= known["topic"] != TRANSACTION_STATE and known["kind"] == FileKind.SEGMENT.value
        if is_out_of_place:
            # A heading that was forged within a log hides the rest of that log, and it is unknown which log that is.
            rows = [row | {"problem": CUT_BY_HEADING, "damaged_to": NOTHING_FOLLOWS} for row in rows]
        rows.append(known | read)
    return [*rows, *_lost(failed)]


def _lost(failed: list[PieceOfText]) -> Iterator[dict[str, Any]]:
    """The row of what could not be read of a text."""
    if failed:
        known, size = failed[0][0], sum(piece.size for _, piece in failed)
        hidden = NOTHING_FOLLOWS if known["topic"] else None
        lost = {"size_in_bytes": size, "bytes_damaged": size, "damaged_to": hidden, "problem": failed[0][1].failure}
        yield known | lost


def rows_of_pieces(pieces: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of `DumpFileRow` of long texts, by rows of `EvidenceRow` that have pieces of them."""
    found = [({name: row[name] for name in NAMES}, Piece.from_json(row["piece"])) for row in pieces]
    found.sort(key=lambda each: each[1].place)
    return [row for _, of_text in itertools.groupby(found, lambda each: each[1].text) for row in text_rows(of_text)]
