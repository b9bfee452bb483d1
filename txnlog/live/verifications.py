"""`txnlog verify`: the state of each abort candidate in the live cluster, right before an abort."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from txnlog.errors import ClusterError
from txnlog.live.answers import Ends, Topic
from txnlog.live.cluster import LiveCluster, Place
from txnlog.tables.verdict_rows import VerificationRow

Row = dict[str, Any]


class Status(enum.StrEnum):
    """State of a candidate in the live cluster."""

    STILL_STUCK = "STILL_STUCK"
    BLOCKED_BY_EARLIER = "BLOCKED_BY_EARLIER"
    RESOLVED = "RESOLVED"
    GONE = "GONE"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Answer:
    """The cluster's answer about a candidate's partition; `trouble` is why it is incomplete."""

    topic_id: str | None = None
    leader: int | None = None
    ends: Ends | None = None
    is_gone: bool = False
    trouble: str | None = None


def chosen_cluster(candidates: Sequence[Row], runs: Iterable[Row], live_id: str, cluster: str | None) -> list[Row]:
    """The candidates of the live cluster: of `cluster` where that is named, else those whose dump had its id.

    `runs` are rows of the table, the latest of a cluster last. `ClusterError` where a dump is of another cluster.
    """
    ids = {run["cluster"]: run["cluster_id"] for run in runs if run.get("cluster_id")}
    if cluster is None:
        names = {name for name, one in ids.items() if one == live_id}
        if not names and candidates:
            raise _no_dump_of(live_id, sorted({row["cluster"] for row in candidates}), ids)
        return [row for row in candidates if row["cluster"] in names]
    if ids.get(cluster, live_id) != live_id:
        raise ClusterError(f"the cluster's id is {live_id}, the dumps of {cluster} are of {ids[cluster]}: another one")
    return [row for row in candidates if row["cluster"] == cluster]


def _no_dump_of(live_id: str, names: list[str], ids: Mapping[str, str]) -> ClusterError:
    """Which clusters the candidates are of: only one without an id may be the one that answers."""
    without = [name for name in names if name not in ids]
    if without:
        return ClusterError(
            f"the cluster's id is {live_id}, and no dump in the tables has it: if the candidates are of this cluster,"
            f" name theirs with --cluster ({', '.join(without)})"
        )
    known = ", ".join(f"{name} ({ids[name]})" for name in names)
    return ClusterError(f"the cluster's id is {live_id}, the dumps are of {known}: ask the brokers of one of these")


def verifications(candidates: Sequence[Row], live: LiveCluster, live_id: str) -> list[VerificationRow]:
    """A row of `verifications` for each candidate. The time is that before the first request."""
    asked_at = datetime.now(UTC)
    answers = _answers(live, {(row["topic"], row["partition"]) for row in candidates})
    return [_verified(row, answers[row["topic"], row["partition"]], live_id, asked_at) for row in candidates]


def _answers(live: LiveCluster, places: set[Place]) -> dict[Place, Answer]:
    topics = live.topics(topic for topic, _ in places)
    first = {place: _of_topic(topics[place[0]], place[1]) for place in places}
    ends = live.ends({place: answer.leader for place, answer in first.items() if answer.leader is not None})
    # Once more: offsets of a topic that was recreated meanwhile say nothing about the earlier topic.
    topics = live.topics(topic for topic, _ in ends)
    return {place: _with_ends(first[place], ends, topics, place) for place in places}


def _of_topic(topic: Topic | str | None, partition: int) -> Answer:
    if topic is None:
        return Answer(is_gone=True, trouble="the cluster has no such topic")
    if isinstance(topic, str):
        return Answer(trouble=f"the cluster does not describe the topic: {topic}")
    if partition not in topic.leaders:
        return Answer(topic.topic_id, is_gone=True, trouble="the topic has no such partition")
    leader = topic.leaders[partition]
    return Answer(topic.topic_id, leader, trouble=None if leader is not None else "the partition has no leader")


def _with_ends(
    answer: Answer, ends: Mapping[Place, Ends | str | None], topics: Mapping[str, Topic | str | None], place: Place
) -> Answer:
    if place not in ends:
        return answer
    found, again = ends[place], _of_topic(topics[place[0]], place[1])
    if again.topic_id != answer.topic_id:
        return again if again.trouble else Answer(again.topic_id, again.leader, trouble="the topic was just recreated")
    if isinstance(found, Ends):
        return Answer(answer.topic_id, answer.leader, found)
    reason = "it is no longer the leader" if found is None else found
    return Answer(
        answer.topic_id, answer.leader, trouble=f"broker {answer.leader}, which leads the partition: {reason}"
    )


def _verified(candidate: Row, answer: Answer, live_id: str, asked_at: datetime) -> VerificationRow:
    status, reason = status_of(candidate, answer)
    return VerificationRow(
        cluster=candidate["cluster"],
        topic=candidate["topic"],
        partition=candidate["partition"],
        producer_id=candidate["producer_id"],
        start_offset=candidate["start_offset"],
        verified_at=asked_at,
        status=status,
        reason=reason,
        cluster_id=live_id,
        topic_id=answer.topic_id,
        leader=answer.leader,
        log_start_offset=answer.ends.log_start_offset if answer.ends else None,
        last_stable_offset=answer.ends.last_stable_offset if answer.ends else None,
        high_watermark=answer.ends.high_watermark if answer.ends else None,
        as_of=candidate["as_of"],
    )


def status_of(candidate: Row, answer: Answer) -> tuple[Status, str]:
    """Whether the candidate still blocks its partition, and why.

    A leader whose log start has passed an open transaction keeps the last stable offset at the log start
    (`UnifiedLog.maybeIncrementFirstUnstableOffset`).
    """
    if answer.is_gone:
        return Status.GONE, answer.trouble or ""
    if None not in (answer.topic_id, candidate["topic_id"]) and answer.topic_id != candidate["topic_id"]:
        return Status.GONE, "the topic was deleted and recreated: its id has changed"
    if answer.ends is None:
        return Status.UNKNOWN, answer.trouble or ""
    return _by_offsets(candidate["start_offset"], answer.ends)


def _by_offsets(start: int, ends: Ends) -> tuple[Status, str]:
    stable, floor = ends.last_stable_offset, max(start, ends.log_start_offset)
    if stable > floor:
        return Status.RESOLVED, f"the last stable offset, {stable}, is above its start offset"
    if stable >= ends.high_watermark:
        return _nothing_held_back(start, floor, ends)
    if stable < floor:
        return Status.BLOCKED_BY_EARLIER, f"an earlier transaction keeps the last stable offset at {stable}"
    passed = f"; the log start offset, {floor}, is above its start offset" if floor > start else ""
    return Status.STILL_STUCK, f"the last stable offset is {stable}{passed}"


def _nothing_held_back(start: int, floor: int, ends: Ends) -> tuple[Status, str]:
    if floor > start:
        return Status.GONE, f"the log start offset, {floor}, is above its start offset, and the log is empty after it"
    return Status.UNKNOWN, f"the high watermark, {ends.high_watermark}, is not above its start offset"
