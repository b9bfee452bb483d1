"""Compiled twins: the two loops that Python takes longest for, once more in code that numba compiles.

| loop | twin | seconds a GiB with it and without, 200-byte and 1 KiB batches |
|---|---|---|
| from batch to batch through a segment | `txnlog.format.compiled_walk` | 1.1 and 4.2; 0.4 and 1.1 |
| numbers in lines of the tool's text | `txnlog.dump_log.compiled_text` | 4.2 and 8.2; 4.8 and 8.8 (of text) |

A twin finds what its other finds. It is used where numba is installed (`pip install 'txnlog[fast]'`), and not before a
process has done so much without it that it pays to load it, which takes a second or two. `Twin` alone decides that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


class Twin:
    """The compiled twin of some code, for those who have got through `enough` without it."""

    def __init__(self, module: str, name: str, enough: int) -> None:
        self._place = module, name
        self._left = enough
        self._loaded: Callable[..., Any] | None = None

    def after(self, work: int) -> Callable[..., Any] | None:
        """The twin, now that so much more is done or to be done; None where it does not pay yet or cannot be had."""
        if self._left > 0:
            self._left -= work
            if self._left <= 0:
                self._loaded = loaded(*self._place)
        return self._loaded


def loaded(module: str, name: str) -> Callable[..., Any] | None:
    """A compiled function; None where numba is not installed, or the processor lacks what it is compiled for."""
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except ImportError:
        return None
    return found


def compiled(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for arguments of these types, or take what an earlier process has kept of that."""
    from numba import njit

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return njit(signature, nogil=True, cache=True)(function)
        except RuntimeError:  # there is no folder to keep it in
            return njit(signature, nogil=True)(function)

    return decorate
