"""One socket to one broker: a request, its answer, and the error codes that waiting cures."""

import socket
import struct
import time
from collections.abc import Callable
from typing import TypeVar

from wire import NO_TAGS, Reader, i16, i32, string

T = TypeVar("T")
CLIENT_ID = "txnlog-samples"
# Coordinator loading, not available, not here, transactions still completing; leader not known here yet.
RETRIABLE = frozenset({3, 5, 6, 14, 15, 16, 51})


class ProtocolError(Exception):
    """A broker answered with an error code."""

    def __init__(self, request: str, code: int) -> None:
        super().__init__(f"{request}: error code {code}")
        self.code = code


class Connection:
    """One socket to one broker."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=30)
        self._correlation_id = 0

    def request(self, api_key: int, version: int, body: bytes, flexible: bool = False) -> Reader:
        """Send one request, wait for its answer and stand at the first field after the header."""
        self._correlation_id += 1
        header = i16(api_key) + i16(version) + i32(self._correlation_id) + string(CLIENT_ID)
        message = header + (NO_TAGS if flexible else b"") + body
        self._socket.sendall(i32(len(message)) + message)
        size = struct.unpack(">i", self._receive(4))[0]
        response = Reader(self._receive(size))
        response.number("i")
        if flexible:
            response.tags()
        return response

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            data += piece
        return data

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def retrying(request: str, send: Callable[[], tuple[int, T]], seconds: float = 30) -> T:
    """Send until the error code is none, or one that waiting does not cure."""
    deadline = time.monotonic() + seconds
    while True:
        code, answer = send()
        if code == 0:
            return answer
        if code not in RETRIABLE or time.monotonic() > deadline:
            raise ProtocolError(request, code)
        time.sleep(0.1)
