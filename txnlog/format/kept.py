"""Functions compiled with numba, and kept for processes to come. Raises ImportError where numba is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for arguments of these types, or take what an earlier process has kept of that."""

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return njit(signature, nogil=True, cache=True)(function)
        except RuntimeError:  # there is no folder to keep it in
            return njit(signature, nogil=True)(function)

    return decorate
