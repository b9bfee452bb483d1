"""The HTML report: one file that needs nothing else, and in which no name is anything but text."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.html import Elements, told
from tests.report_tables import blocked, file, night, transaction, written
from txnlog.cli import main
from txnlog.detection.causes import Cause
from txnlog.report import contents, page, timeline
from txnlog.report.remedy import remedy
from txnlog.report.words import lasting, short, size
from txnlog.tables.layout import OPEN_TRANSACTIONS, columns_of

MANY = 2_000
ROOT = Path(__file__).parents[3]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>'\"\u202e{{ 7 * 7 }}"


def rendered(folder: Path, *rows: dict[str, Any], **run: Any) -> str:
    return page.rendered(
        contents.of_tables(written(folder, rows, [night(**run)], [file(cluster=run.get("cluster", "payments"))])),
        "tables",
    )


def data(text: str, cluster: str = "c1") -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])[cluster]


def details(text: str) -> Any:
    return data(text)["details"]


def test_no_element_comes_from_elsewhere(tmp_path: Path) -> None:
    found = Elements(rendered(tmp_path, transaction()))
    links = [values[name] for _, values in found.tags for name in ("src", "href", "action") if name in values]
    assert [link for link in links if link and not link.startswith(("#", "data:,"))] == []


def test_hostile_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    names: dict[str, Any] = {"transactional_id": HOSTILE, "reason": HOSTILE, "cluster": HOSTILE, "opened_file": HOSTILE}
    plain = Elements(rendered(tmp_path / "plain", transaction()))
    found = Elements(rendered(tmp_path / "hostile", transaction(HOSTILE, **names), cluster=HOSTILE, dump=HOSTILE))
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in plain.tags]
    assert any(HOSTILE.replace("\u202e", "\\u202e") in text for text in found.texts)


def test_nothing_in_the_page_turns_the_direction_of_what_follows(tmp_path: Path) -> None:
    assert "\u202e" not in rendered(tmp_path, transaction(HOSTILE, transactional_id=HOSTILE))


def test_only_the_scripts_of_the_page_may_run_and_nothing_may_be_loaded(tmp_path: Path) -> None:
    found = Elements(rendered(tmp_path, transaction()))
    (policy,) = [str(values["content"]) for _, values in found.tags if values.get("http-equiv")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.split("style-src")[0]


def test_blocked_groups_have_a_table_of_their_own(tmp_path: Path) -> None:
    rows = [
        blocked("small", waiting_offsets=3),
        blocked(HOSTILE, not_known=HOSTILE),
        blocked("pending", waiting_offsets=None, blocking_topic="__consumer_offsets", action=None, cause=None),
        blocked("others", cluster="stock"),
    ]
    tables = written(tmp_path / "new", [transaction()], [night(), night(cluster="stock")], groups=rows)
    text = page.rendered(contents.of_tables(tables), "tables")
    assert "3 groups cannot read on, or cannot commit, until a transaction ends." in told(text)
    assert "1 group cannot read on" in told(text)
    columns = {each["title"]: each for each in data(text)["groups"]["columns"]}
    groups = columns["group"]["values"]
    assert groups == [HOSTILE.replace("\u202e", "\\u202e"), "small", "pending"]
    assert columns["open in"]["values"] == ["orders-0", "orders-0", "__consumer_offsets-0"]
    older = written(tmp_path / "old", [transaction()], [night()])
    assert "cannot read on" not in told(page.rendered(contents.of_tables(older), "tables"))


def test_the_headline_says_how_much_stands_still_and_what_is_oldest(tmp_path: Path) -> None:
    rows = [
        transaction(held_back_records=1_000),
        transaction("stock", 4, open_for_ms=90_000_000, held_back_records=234),
    ]
    text = told(rendered(tmp_path, *rows))
    assert "2 partitions are blocked" in text
    assert "hold back 1 234 records" in text
    assert "The oldest has been open for 1 d 1 h: stock-4" in text


def test_without_anything_late_the_page_says_so_and_that_the_dump_is_not_whole(tmp_path: Path) -> None:
    row = transaction(late=False, action="WAIT", cause="ONGOING")
    words = told(rendered(tmp_path, row, coordinator_partitions_missing=3, bytes_damaged=2_048))
    assert "Nothing hangs" in words
    assert "it lacks 3 partitions of __transaction_state. 2.0 KiB of it are damaged." in words


def test_each_row_opens_with_the_steps_of_its_remedy(tmp_path: Path) -> None:
    rows = [transaction(f"t{place}", cause=cause.value, action=cause.action) for place, cause in enumerate(Cause)]
    tables = contents.of_tables(written(tmp_path, rows, [night()]))
    found = details(page.rendered(tables, "tables"))
    said = [
        (each["remedy"], [(found["steps"][step]["says"], found["steps"][step]["commands"]) for step in each["steps"]])
        for each in found["rows"]
    ]
    wanted = [remedy(row, tables.states, "tables") for row in tables.transactions]
    assert sorted(said) == sorted(
        (each.says, [(step.says, [*step.commands]) for step in each.steps]) for each in wanted
    )


def test_what_is_under_way_is_not_said_to_be_over(tmp_path: Path) -> None:
    text = rendered(tmp_path, transaction(action="FENCE", cause="STUCK_ONGOING"))
    assert "must not be under way" not in text
    assert "whatever is Ongoing now ends" in text


def test_committed_data_comes_first_and_what_is_young_last(tmp_path: Path) -> None:
    rows = [
        transaction("young", late=False, action="WAIT", cause="ONGOING", held_back_records=9_999),
        transaction("large", held_back_records=900),
        transaction("kept", action="KEEP", cause="MARKER_LOST_COMMIT"),
    ]
    table = data(rendered(tmp_path, *rows))["transactions"]
    assert next(each["values"] for each in table["columns"] if each["title"] == "topic") == ["kept", "large", "young"]


def test_what_rows_share_is_in_the_page_once(tmp_path: Path) -> None:
    """Two thousand aborts of one topic: their steps are the same, and a timeline shows some of them."""
    rows = [transaction(start=number, producer_id=number) for number in range(MANY)]
    text = rendered(tmp_path, *rows)
    found = details(text)
    assert len(found["rows"]) == MANY
    assert len(found["steps"]) == 2
    assert len(found["timelines"]) == MANY // timeline.MOST_BARS
    for place, each in enumerate(found["rows"]):
        names = found["timelines"][each["timeline"]][1]["names"]
        assert f"{place}".join(("", " orders-writer")) in [name.replace("\u202f", "") for name in names]
    assert len(text) < 4 << 20


def test_every_row_and_every_column_but_the_remedy_is_in_the_page(tmp_path: Path) -> None:
    rows = [transaction(start=number, producer_id=number) for number in range(120)]
    table = data(rendered(tmp_path, *rows))["transactions"]
    assert table["rows"] == 120
    by_title = {column["title"]: column for column in table["columns"]}
    shown = {"start offset": "start_offset", "transactional id": "transactional_id",
             "records held back": "held_back_records", "open for": "open_for_ms"}  # fmt: skip
    assert len(by_title) == len(table["columns"])
    assert {shown.get(title, title) for title in by_title} - {"topic-partition"} == {
        field.name for field in columns_of(OPEN_TRANSACTIONS) if field.name != "remedy"
    }
    assert by_title["start offset"]["values"] == list(range(120))
    assert by_title["topic"] | {"index": 0} == {
        "title": "topic", "kind": "text", "shown": False, "values": ["orders"], "index": 0,
    }  # fmt: skip


def test_each_cluster_is_on_its_own_and_the_most_urgent_one_first(tmp_path: Path) -> None:
    rows = [
        transaction("young", cluster="a", late=False, action="WAIT", cause="ONGOING"),
        transaction("large", cluster="b", held_back_records=900),
        transaction("kept", cluster="c", action="KEEP", cause="MARKER_LOST_COMMIT"),
    ]
    runs = [night(cluster=name) for name in "abc"]
    text = page.rendered(contents.of_tables(written(tmp_path, rows, runs)), "tables")
    assert re.findall(r"<option value=.*?>(.*?)</option>", text) == ["c: 1 KEEP", "b: 1 ABORT", "a: nothing hangs"]
    found = [data(text, f"c{number}")["transactions"]["columns"] for number in (1, 2, 3)]
    assert [next(each["values"] for each in columns if each["title"] == "cluster") for columns in found] == [
        ["c"], ["b"], ["a"],
    ]  # fmt: skip


def test_a_card_counts_what_its_action_has(tmp_path: Path) -> None:
    rows = [
        transaction(start=1, held_back_records=60),
        transaction(start=2, held_back_records=60),
        transaction("stock", held_back_records=7),
        transaction("kept", action="KEEP", cause="MARKER_LOST_COMMIT"),
    ]
    text = rendered(tmp_path, *rows)
    assert re.findall(r'data-action="(\w+)"><b>(\d+)</b>', text) == [("KEEP", "1"), ("ABORT", "3")]
    assert "67 records held back in 2 partitions" in told(text)


def test_tables_without_any_run_are_said_to_be_empty(tmp_path: Path) -> None:
    text = page.rendered(contents.of_tables(written(tmp_path, [], [])), "tables")
    assert "There is no run in these tables yet" in told(text)


def test_the_files_of_the_page_are_package_data() -> None:
    packaging = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = packaging["tool"]["setuptools"]["package-data"]["txnlog"]
    shipped = {path for pattern in patterns for path in (ROOT / "txnlog").glob(pattern)}
    assert {path.name for path in shipped} >= {"report.html.j2", "style.css", *page.SCRIPTS}


def test_the_command_writes_the_page_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = written(tmp_path / "tables", [transaction()], [night()])
    place = tmp_path / "report.html"
    assert main(["report", "--tables", root.text, "--html", str(place)]) == 0
    assert capsys.readouterr().out.startswith(f"report: {place} (")
    assert place.read_text("utf-8").lstrip().startswith("<!doctype html>")


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = written(tmp_path / "tables", [], [])
    assert main(["report", "--tables", root.text, "--html", str(tmp_path / "no" / "r.html")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "the report cannot be written there: No such file or directory" in error


def test_the_page_needs_jinja_only_and_says_so_in_one_clear_line(tmp_path: Path) -> None:
    assert _report_without("plotly", tmp_path / "plotly").returncode == 0
    done = _report_without("jinja2", tmp_path / "jinja2")
    assert done.returncode == 3
    assert re.fullmatch(r"txnlog: the report needs Jinja: pip install 'txnlog\[report\]'\n", done.stderr)


def _report_without(package: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    root = written(tmp_path / "tables", [transaction()], [night()])
    # None in sys.modules is how Python says that a package is not there.
    script = (
        f"import sys; sys.modules[{package!r}] = None; from txnlog.cli import main;"
        f"sys.exit(main(['report', '--tables', {root.text!r}, '--html', {str(tmp_path / 'r.html')!r}]))"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(None, "unknown"), (0, "less than 1 s"), (61_000, "1 min 1 s"), (90_061_000, "1 d 1 h"), (3_600_000, "1 h")],
)
def test_durations_have_their_two_largest_units(milliseconds: int | None, words: str) -> None:
    assert lasting(milliseconds) == words


def test_sizes_and_names_stay_short() -> None:
    assert [size(value) for value in (512, 2_048, 5 << 40)] == ["512 B", "2.0 KiB", "5.0 TiB"]
    assert short("a" * 20 + "b" * 20, 11) == "aaaaa…bbbbb"
