"""One spelling of every fact: a structure is a `NamedTuple` of `Annotated[<python type>, <Wire>, "meaning."]`.

Everything else is derived from that: the `struct` format, the numpy dtype, the Arrow and Spark schemas, the comments
of table columns and the tables of the documentation.
"""

from __future__ import annotations

import functools
import struct
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Wire:
    """How a value stands on disk and in a table.

    `ddl` is the type's name in Spark SQL; `code` the big-endian `struct` code, empty where the width is not fixed;
    `structure` what a `struct` consists of.
    """

    ddl: str
    code: str = ""
    structure: type | None = None


INT8 = Wire("tinyint", "b")
INT16 = Wire("smallint", "h")
INT32 = Wire("int", "i")
UINT32 = Wire("bigint", "I")
INT64 = Wire("bigint", "q")
BOOLEAN = Wire("boolean")
TEXT = Wire("string")
TEXTS = Wire("array<string>")
TIMESTAMP = Wire("timestamp")
TOPIC_PARTITIONS = Wire("array<struct<topic:string,partition:int>>")
LISTED_PARTITIONS = Wire("array<struct<topic:string,partition:int,listed_at:timestamp>>")
GROUP_MEMBERS = Wire(
    "array<struct<member_id:string,client_id:string,client_host:string,"
    "partitions:array<struct<topic:string,topic_id:string,partition:int>>>>"
)
EPOCHS = Wire("array<int>")
LEADER_EPOCHS = Wire("array<struct<epoch:int,start_offset:bigint>>")
STEP_SECONDS = Wire("map<string,double>")


class Field(NamedTuple):
    """One column or one field of a wire structure."""

    name: str
    wire: Wire
    nullable: bool
    meaning: str


def _field(name: str, annotation: Any) -> Field:
    python_type = annotation.__origin__
    wire, meaning = annotation.__metadata__
    nullable = isinstance(python_type, types.UnionType) and type(None) in typing.get_args(python_type)
    return Field(name, wire, nullable, meaning)


@functools.cache
def fields(structure: type) -> tuple[Field, ...]:
    """The fields of a declared structure, in their order on disk."""
    hints = typing.get_type_hints(structure, include_extras=True)
    return tuple(_field(name, annotation) for name, annotation in hints.items())


@functools.cache
def packed(structure: type) -> struct.Struct:
    """The `struct.Struct` of a structure of fixed width: big endian, no padding, as Kafka writes."""
    return struct.Struct(">" + "".join(field.wire.code for field in fields(structure)))


@functools.cache
def numpy_dtype(structure: type) -> np.dtype[np.void]:
    """The numpy dtype with the same layout as `packed`."""
    return np.dtype([(field.name, ">" + np.dtype(field.wire.code).str[1:]) for field in fields(structure)])


def gathered(content: memoryview, places: npt.NDArray[np.int64], structure: np.dtype[Any]) -> npt.NDArray[Any]:
    """The structures (n) that start at `places`, which may overlap and lie anywhere."""
    # Without its fields: numpy would copy them one by one.
    opaque = np.dtype((np.void, structure.itemsize))
    every_byte = np.ndarray((len(content) - structure.itemsize + 1,), opaque, buffer=content, strides=(1,))
    found: npt.NDArray[np.void] = every_byte[places].view(structure)
    return found


def native(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The numbers in this machine's byte order, which Arrow asks for."""
    return column.astype(column.dtype.newbyteorder("="))


def joined(name: str, *structures: type) -> type:
    """A structure with the fields of all of them, each once, for rows that are of one of them: all may be null."""
    hints = {field.name: field for structure in structures for field in fields(structure)}
    annotations = {each.name: Annotated[Any | None, each.wire, each.meaning] for each in hints.values()}
    return type(name, (), {"__annotations__": annotations, "__doc__": "Rows of several structures, side by side."})
