"""A page of HTML as a browser reads it."""

from __future__ import annotations

from html.parser import HTMLParser


class Elements(HTMLParser):
    """Tags with their attributes, and texts, as a browser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "td":
            # Cells stand apart.
            self.texts.append(" ")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def told(text: str) -> str:
    """The words of a page, with one space between any two."""
    return " ".join("".join(Elements(text).texts).split())
