"""What Java's names stand for, asked once.

PySpark asks Java for each column anew what `functions` is, and whether it has a `col`. A short name Java looks up in
all packages that are imported, each in every jar: in a job of few rows a seventh of Java's time, and a fifth of all
that the two say to each other.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JVMView


class _Names(JVMView):  # type: ignore[misc]
    """A view of Java that keeps the classes it was asked for. Packages it does not: a jar may come later."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if type(found) is JavaClass:
            found.__class__ = _Members
            self.__dict__[name] = found
        return found


class _Members(JavaClass):  # type: ignore[misc]
    """A class that keeps its methods and the classes within. Static fields it does not: they may change."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaMember | JavaClass):
            self.__dict__[name] = found
        return found


def keep_names(view: object) -> None:
    """Let a session's view of Java (`_jvm`) keep what it learns; one of another kind is left as it is."""
    if type(view) is JVMView:
        view.__class__ = _Names
