"""The aborts that txnlog lists, run on live brokers: each by itself, with a check before and after it."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abort_lines import Finished, Place, Transaction, abort_lines, bash, single_aborts, transaction_of, txnlog
from abort_record import Record
from cluster import Cluster
from deltalake import DeltaTable
from dump import partition_leaders
from lab import Hanging, Lab, wait_until
from partition_ends import Ends, all_ends, ends_of, ends_once_moved, read_committed
from recipe import Recipe


@dataclass
class AbortRun:
    """One run over a live cluster that has just been dumped to `SCRATCH/dump-1`."""

    recipe: Recipe
    lab: Lab
    scratch: Path
    record: Record

    @property
    def cluster(self) -> Cluster:
        """The live brokers."""
        return self.lab.cluster

    def all(self) -> None:
        """Everything from the first detection to the last check."""
        self.answering_again()
        self.act_on(self.detected("dump-1"))

    def act_on(self, script: str) -> None:
        """Run the abort list, and see that it did what it should and nothing else."""
        listed = [transaction_of(line) for line in abort_lines(script)]
        noted = {_noted(one) for one in self.lab.hanging if one.action == "ABORT"}
        claim = f"the list has {len(noted)} lines, one for each transaction that the recipe made to be aborted"
        self.record.check(set(listed) == noted and len(listed) == len(noted), claim)
        verdicts = self._rows("open_transactions")
        before = all_ends(self.cluster)
        self._abort_all(script)
        self._untouched(before, all_ends(self.cluster), verdicts, {one.place for one in listed})
        self._again(set(listed))

    def answering_again(self) -> None:
        """Bring back what was paused or stopped for the dump: the coordinator then ends what was pending there."""
        self.cluster.bring_back()
        for one in [one for one in self.lab.hanging if one.cause == "PENDING"]:
            self._wait_complete(str(one.transactional_id))
            self.lab.hanging.remove(one)
            self.record.say(
                f"{_noted(one)} (PENDING at the dump): its broker was paused, answers again, and the coordinator"
                " has ended the transaction; no abort."
            )
        self.lab.confirm()

    def _wait_complete(self, owner: str) -> None:
        client = self.cluster.client
        wait_until(lambda: client.transaction(owner).state == "CompleteCommit", f"{owner} complete", 120)

    def detected(self, dump: str) -> str:
        """Run detection on a dump; the abort list that follows from it."""
        self.record.say()
        self.detect(dump)
        return self._txnlog("abort-list", "--tables", "tables", "--unverified")

    def detect(self, dump: str) -> None:
        """Run detection on a dump of the scratch folder, into its folder `tables`."""
        self._txnlog("detect", dump, "--tables", "tables")

    def _txnlog(self, *arguments: str) -> str:
        finished = txnlog(self.scratch, *arguments)
        self.record.ran(shlex.join(("txnlog", *arguments)), finished)
        if finished.code:
            raise RuntimeError(f"txnlog {arguments}: {finished.error}")
        return finished.out

    def _rows(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = DeltaTable(self.scratch / "tables" / table).to_pyarrow_table().to_pylist()
        return found

    def _abort_all(self, script: str) -> None:
        """Run the script's lines one by one, and see what it does where it must refuse."""
        self.record.say("\nEach abort of the list, as it is printed, with BOOTSTRAP_SERVER and RUN=1 set:")
        path = self.scratch / "abort-list.sh"
        path.write_text(script)
        self.record.say()
        finished = self._bash("bash abort-list.sh", bootstrap=False)
        self.record.ran("bash abort-list.sh", finished)
        self.record.check(finished.code != 0, "without BOOTSTRAP_SERVER the script stops before its first abort")
        scripts = single_aborts(script)
        for line, alone in scripts.items():
            self._abort(line, alone)
        self._again_at_once(script, len(scripts))
        self.record.say(f"\n{len(scripts)} lines were run.")

    def _bash(self, line: str, bootstrap: bool = True) -> Finished:
        """Run bash, to the letter, with the shims on the path."""
        variables = {"BOOTSTRAP_SERVER": self.cluster.bootstrap if bootstrap else "", "RUN": "1"}
        return bash(line, self.scratch, self.recipe.release, variables)

    def _abort(self, line: str, script: str) -> None:
        """One abort: the partition must move to the next open transaction, or else to its end."""
        one = transaction_of(line)
        before, read_before = ends_of(self.cluster, one.place), read_committed(self.cluster, one.place)
        held = one.start_offset in self.open_starts(one.place)
        finished = self._bash(script)
        after = ends_once_moved(self.cluster, one.place, before)
        read_after, still_open = read_committed(self.cluster, one.place), self.open_starts(one.place)
        self.record.say()
        self.record.ran(line, finished)
        self.record.say(
            f"last stable offset {before.stable} -> {after.stable}, log end {before.log} -> {after.log};"
            f" read_committed {read_before} -> {read_after}"
        )
        gone = held and finished.code == 0 and one.start_offset not in still_open
        self.record.check(gone, f"{one} was open and is not any more")
        target = min(still_open, default=after.log)
        where = "the start of the next open transaction" if still_open else "the log end"
        held_up = before.stable == read_before.reached == max(one.start_offset, before.start)
        moved = held_up and after.stable == read_after.reached == target
        self.record.check(moved, f"the last stable offset, and with it read_committed, stands at {where}, {target}")
        discarded = one.start_offset not in read_after.offsets and set(read_before.offsets) <= set(read_after.offsets)
        self.record.check(discarded, "read_committed skips the aborted batch and still gives what it gave before")

    def _again_at_once(self, script: str, count: int) -> None:
        """The whole script once more: an old list must do no harm."""
        before, finished = all_ends(self.cluster), self._bash(script)
        self.record.say("\nThe whole script once more, as one that is out of date:")
        last = [line for line in finished.out.splitlines() if " tried: " in line]
        self.record.ran("bash abort-list.sh", Finished(finished.code, "\n".join(last), ""))
        ended = f"{count} tried: 0 aborted, {count} had ended, 0 not as in the dump, 0 failed"
        unmoved = last == [ended] and finished.code == 0 and all_ends(self.cluster) == before
        self.record.check(unmoved, "what is not open any more is skipped, and nothing is written")

    def open_starts(self, place: Place) -> set[int]:
        """Where the open transactions start that the leader shows."""
        return {one.start_offset for one in self.lab.open_now(*place)}

    def _untouched(
        self,
        before: Mapping[Place, Ends],
        after: Mapping[Place, Ends],
        verdicts: Sequence[Mapping[str, Any]],
        named: set[Place],
    ) -> None:
        """No partition that no line names may have changed."""
        self.record.say("\nOpen transactions that are not to be aborted, before -> after all aborts:")
        kept = [row for row in verdicts if row["action"] != "ABORT" and row["cause"] != "PENDING"]
        for row in sorted(kept, key=lambda row: (row["action"], row["topic"], row["partition"])):
            one = _of_row(row)
            was, now = before[one.place], after[one.place]
            self.record.say(
                f"{one}, {row['cause']}: last stable offset {was.stable} -> {now.stable},"
                f" log end {was.log} -> {now.log}"
            )
            same = was == now and one.start_offset in self.open_starts(one.place)
            self.record.check(same, f"{row['action']}: still open, nothing written")
        others = [place for place in before if place not in named]
        self.record.say()
        self.record.check(
            all(before[place] == after[place] for place in others),
            f"none of the {len(others)} partitions that no line names has changed, internal topics among them",
        )

    def _again(self, listed: set[Transaction]) -> None:
        """Dump the cluster once more: no candidate may be left."""
        self.record.say("\nThe cluster after the aborts, dumped again, into the same tables:")
        self.lab.hanging = [one for one in self.lab.hanging if _noted(one) not in listed]
        self.lab.confirm()
        time.sleep(3)  # until the brokers have checkpointed their high watermarks
        sample = self.recipe.sample(self.scratch / "dump-2")
        for node_id in self.cluster.nodes:
            sample.copy(self.lab, node_id)
        sample.write_notes(self.lab, partition_leaders(self.lab), "", ())
        left = {transaction_of(line) for line in abort_lines(self.detected("dump-2"))}
        self._resolved(listed)
        self.record.check(not left & listed, "the abort list has no line for any of them")
        young = {_noted(one) for one in self.lab.hanging if one.cause == "TOO_YOUNG"}
        claim = f"its lines, {len(left)}, are for transactions that were too young before and are late now"
        self.record.check(left <= young, claim)

    def _resolved(self, listed: set[Transaction]) -> None:
        """What `abort_candidates` says of the aborted transactions."""
        self.record.say("\nThe aborted rows of abort_candidates:")
        rows = {_of_row(row): row for row in self._rows("abort_candidates")}
        for one in sorted(listed):
            status, resolution = rows[one]["status"], rows[one]["resolution"]
            self.record.check(status == "RESOLVED", f"{one}: {status}, {resolution}")


def _of_row(row: Mapping[str, Any]) -> Transaction:
    return Transaction(row["topic"], row["partition"], row["start_offset"])


def _noted(one: Hanging) -> Transaction:
    return Transaction(one.first.topic, one.first.partition, one.first.base_offset)
