"""`listing.tsv`: what a broker's folder contained when it was listed, just before it was copied.

A file may grow between its stat and its reading, so that the copy's own time of an active segment says nothing of the
last bytes in it. A file that is as long in the copy as it was in the listing had all its bytes at the listed time.
"""

from __future__ import annotations

from txnlog.dump.opener import shown, small_content
from txnlog.errors import DumpError, FormatError

NAME = "listing.tsv"
# Some million files.
LARGEST_LISTING = 256 << 20
BEGUN = "# begun"
# In September 2001: no broker is older, and seconds in place of milliseconds are below it until the year 33658.
LEAST_MS = 10**12

# Size, and modification time in ms since 1970.
Listed = tuple[int, int]


def read_listing(path: str) -> dict[str, Listed]:
    """The files of the listing at `path`, relative to its folder.

    Its first line is `# begun` and when it was begun; each other one the path, the size and the modification time of a
    file. Fields have a tab between them, times are ms since 1970. `DumpError` names the file and the line.
    """
    try:
        lines = small_content(path, LARGEST_LISTING).decode("utf-8", "backslashreplace").split("\n")
    except (FormatError, OSError) as error:
        raise DumpError(f"{shown(path)}: {error}") from error
    name, _, begun = lines[0].partition("\t")
    if name != BEGUN or not _is_number(begun) or int(begun) < LEAST_MS:
        raise DumpError(f"{shown(path)}: line 1 is not '{BEGUN}', a tab, and a time in ms since 1970")
    files = dict[str, Listed]()
    for number, line in enumerate(lines[1:], 2):
        file, _, numbers = line.partition("\t")
        size, _, modified = numbers.partition("\t")
        if _is_number(size) and _is_number(modified) and file:
            files[file.removeprefix("./")] = int(size), int(modified)
        elif line:
            raise DumpError(f"{shown(path)}: line {number} is not a path, a size and a time in ms, with tabs between")
    return files


def complete_at(listed: Listed | None, size: int) -> int | None:
    """When a file had the size that it has in the copy, ms since 1970; None where the listing does not say so."""
    return listed[1] if listed and listed[0] == size and listed[1] >= LEAST_MS else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20
