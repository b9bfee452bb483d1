"""What `kafka-transactions.sh` answers about a live cluster, and what `txnlog` answers about its dump."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from clock import now_ms
from dump import partition_leaders
from lab import Lab

from txnlog.cli import main

FILE = "answers.json"
# To start Kafka's tool takes seconds.
IDS_OF_A_STATE, PARTITIONS, AT_ONCE = 2, 6, 2
Row = Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """A command, and the rows that the live tool and txnlog print for it. `asked` is when, ms since 1970."""

    arguments: Sequence[str]
    asked: int
    kafkas: Sequence[Row]
    ours: Sequence[Row]


def ask(lab: Lab) -> None:
    """Ask the live tool about the ids, some of them, and some partitions; note what it prints beside the cluster."""
    printed = lab.cluster.transactions("list")
    asked = now_ms()
    leaders = partition_leaders(lab)
    places = [place for place in sorted(leaders) if lab.cluster.is_up(leaders[place])][:PARTITIONS]
    questions = [
        *(["describe", "--transactional-id", each] for each in _some_of_each_state(_tabbed(printed))),
        *(["describe-producers", "--topic", topic, "--partition", str(partition)] for topic, partition in places),
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda question: lab.cluster.transactions(*question), questions))
    noted = {"asked": asked, "answers": [[["list"], printed], *zip(questions, answers, strict=True)]}
    (lab.cluster.folder.parent / FILE).write_text(json.dumps(noted))


def _some_of_each_state(rows: Iterable[Row]) -> list[str]:
    chosen: dict[str, list[str]] = {}
    for row in rows:
        chosen.setdefault(row["TransactionState"], []).append(row["TransactionalId"])
    return [each for ids in chosen.values() for each in ids[:IDS_OF_A_STATE]]


def answers(scratch: Path, tables: str) -> list[Answer]:
    """The answers noted in a scratch folder, each beside ours."""
    noted = json.loads((scratch / FILE).read_text())
    return [
        Answer(arguments, noted["asked"], _tabbed(printed), _padded(_command(*arguments, "--tables", tables)))
        for arguments, printed in noted["answers"]
    ]


def _command(*arguments: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(arguments) == 0
    return printed.getvalue()


def _tabbed(printed: str) -> list[Row]:
    heading, *lines = ([cell.strip() for cell in line.split("\t")] for line in printed.splitlines() if "\t" in line)
    return [dict(zip(filter(None, heading), line, strict=False)) for line in lines]


def _padded(printed: str) -> list[Row]:
    heading, *lines = printed.splitlines()
    starts = [(match[0], match.start()) for match in re.finditer(r"\S+", heading)]
    ends = [start for _, start in starts[1:]] + [None]
    return [{name: line[start:end].strip() for (name, start), end in zip(starts, ends, strict=True)} for line in lines]
