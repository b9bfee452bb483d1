"""What Java's names stand for is asked once in a session, and means what it means without that."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.java_gateway import JavaPackage, JVMView
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from txnlog.spark.gateway import keep_names

QUESTION = "r\n"


@pytest.fixture
def asked(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Java is asked about names from now on."""
    client, questions = spark.sparkContext._jvm._gateway_client, list[str]()
    send = client.send_command

    def noted(command: str, *rest: Any, **named: Any) -> Any:
        if command.startswith(QUESTION):
            questions.append(command)
        return send(command, *rest, **named)

    monkeypatch.setattr(client, "send_command", noted)
    return questions


def test_a_column_asks_nothing_that_was_asked_before(spark: SparkSession, asked: list[str]) -> None:
    F.coalesce(F.col("one"), F.lit(1))
    asked.clear()
    F.coalesce(F.col("two") + 1, F.lit("x")).alias("three")
    assert asked == []


def test_a_view_that_keeps_nothing_asks_again(spark: SparkSession, asked: list[str]) -> None:
    fresh = JVMView(spark._jvm._gateway_client, "fresh", id=spark._jvm._id)
    for _ in range(2):
        _ = fresh.functions.col
    assert len(asked) == 4
    keep_names(fresh)
    asked.clear()
    for _ in range(2):
        assert fresh.functions.col("one").toString() == "one"
    assert len(asked) == 2


def test_what_may_change_is_asked_again(spark: SparkSession, asked: list[str]) -> None:
    view = spark._jvm
    # A static field, and a package, in which a jar that comes later may have a class.
    for _ in range(2):
        assert getattr(view, "java.lang.Integer").MAX_VALUE == 2**31 - 1
        assert isinstance(view.nothing_of_that_name, JavaPackage)
    assert sum("MAX_VALUE" in question for question in asked) == 2
    assert sum("nothing_of_that_name" in question for question in asked) == 2


def test_what_is_not_there_is_still_an_error(spark: SparkSession) -> None:
    with pytest.raises(Py4JError, match="no_such_function"):
        _ = spark._jvm.functions.no_such_function


def test_what_is_no_view_of_java_is_left_as_it_is() -> None:
    for other in (None, object()):
        kind = type(other)
        keep_names(other)
        assert type(other) is kind
