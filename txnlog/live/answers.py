"""What librdkafka's answers mean: topics, offsets, and the errors among them."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from txnlog.errors import SetupError

try:
    from confluent_kafka import KafkaError, Uuid

    # confluent_kafka.admin does not declare the names that it takes from its own modules as exported.
    from confluent_kafka.admin import ListOffsetsResultInfo  # type: ignore[attr-defined]
except ImportError as absent:
    raise SetupError("the package confluent-kafka is missing: pip install 'txnlog[kafka]'") from absent

NO_SUCH_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
NO_SUCH_PARTITION = (*NO_SUCH_TOPIC, KafkaError._UNKNOWN_PARTITION)
NO_ANSWER = "no answer"
_URL_SAFE = str.maketrans("+/", "-_")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the cluster; `leaders` has the broker that leads each partition, None where none does."""

    topic_id: str
    leaders: dict[int, int | None]


@dataclass(frozen=True, slots=True)
class Ends:
    """Offsets of a partition: log start, high watermark (where read_uncommitted consumers end), last stable offset."""

    log_start_offset: int
    high_watermark: int
    last_stable_offset: int


def is_answered(future: Future[Any]) -> bool:
    """Whether a broker answered, even if the answer is that there is no such topic."""
    if not future.done():
        return False
    error = future.exception(0)
    return error is None or code_of(error) in NO_SUCH_TOPIC


def offset_of(answer: ListOffsetsResultInfo) -> int | str:
    """The offset; librdkafka gives -1 and no error where a leader did not answer in time."""
    return int(answer.offset) if answer.offset >= 0 else NO_ANSWER


def as_kafka_writes(topic_id: Uuid) -> str:
    """The id as `partition.metadata` has it (`Uuid.toString` of Kafka): this client takes two other letters."""
    return str(topic_id).translate(_URL_SAFE).rstrip("=")


def topic_of(found: Any) -> Topic:
    """A topic as the client describes it."""
    leaders = {each.id: each.leader.id if each.leader is not None else None for each in found.partitions}
    return Topic(
        as_kafka_writes(found.topic_id), {each: None if leader == -1 else leader for each, leader in leaders.items()}
    )


def code_of(error: BaseException) -> int | None:
    """The code of an error of librdkafka; None of another one."""
    cause = error.args[0] if error.args else None
    return cause.code() if isinstance(cause, KafkaError) else None


def ends_of(start: Any, end: Any, stable: Any) -> Ends | str | None:
    """The offsets of a partition, or why one of them is not known."""
    answers = (start, end, stable)
    if all(isinstance(each, int) for each in answers):
        return Ends(start, end, stable)
    return next((each for each in answers if isinstance(each, str)), None)
