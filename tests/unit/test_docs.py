"""The documentation says what the code does: generated pages are equal to it, and the rest names everything."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

import txnlog
from tests import pages
from txnlog.commands.parser import parser
from txnlog.config import OPTIONS, detect_options, read_config
from txnlog.detection.causes import Action
from txnlog.detection.rules import RULES
from txnlog.detection.verdicts import Confidence
from txnlog.dump.manifest import read_manifest
from txnlog.tables.layout import TABLES, columns_of

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
VERDICTS = (ROOT / "docs/verdicts.md").read_text("utf-8")
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS]
SETTINGS = sorted((ROOT / "conf").glob("*.toml"))
# Flags that pages name and that are not txnlog's.
OF_OTHERS = {
    "kafka-configs.sh": {"--add-config", "--alter", "--entity-name", "--entity-type"},
    "kafka-consumer-groups.sh": {"--describe"},
    "kafka-dump-log.sh": {"--deep-iteration", "--files", "--print-data-log", "--remote-log-metadata-decoder",
                          "--share-group-state-decoder", "--skip-record-metadata", "--transaction-log-decoder"},
    "kafka-transactions.sh": {"--broker-id", "--coordinator-epoch", "--producer-epoch", "--start-offset"},
    "others": {"--collector", "--exclude", "--include", "--jars", "--namespace", "--network", "--packages", "--params",
               "--py-files", "--rm", "--var"},
}  # fmt: skip
TRUTH = json.loads((ROOT / "data/samples/shop/truth.json").read_text("utf-8"))["open_transactions"]


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = _generator()


def block(language: str, containing: str, page: str = README) -> str:
    """The block of code of a language that contains something, on a page."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    [found] = [text for name, text in blocks if name == language and containing in text]
    return str(found)


def table_rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_test_that_a_page_names_is_there(page: Path) -> None:
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)", page.read_text("utf-8")):
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE), f"{file}::{name}"


@pytest.mark.parametrize("page", GENERATE.PAGES)
def test_a_generated_page_is_what_the_code_declares(page: str) -> None:
    written = (ROOT / "docs" / page).read_text("utf-8")
    assert written == GENERATE.PAGES[page](), "run: python docs/generate.py"


@pytest.mark.parametrize(
    ("page", "command"), [(page.name, command) for page in pages.PAGES for command in pages.commands(page)]
)
def test_a_command_that_a_page_shows_can_be_typed(page: str, command: str) -> None:
    assert vars(parser().parse_args(pages.arguments(command)))


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_a_flag_that_a_page_names_is_there(page: Path) -> None:
    ours = {flag for command in (parser(), *GENERATE.commands().values()) for flag in command._option_string_actions}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text("utf-8")))
    assert named - ours - set().union(*OF_OTHERS.values()) == set()


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_a_column_that_a_page_names_is_there(page: Path) -> None:
    columns = {table.name: {field.name for field in columns_of(table)} for table in TABLES}
    named = re.findall(r"`(\w+)\.(\w+)`", page.read_text("utf-8"))
    assert [name for name in named if name[0] in columns and name[1] not in columns[name[0]]] == []


def test_the_page_for_schedulers_has_each_exit_code_but_success() -> None:
    rows = table_rows((ROOT / "docs/monitoring.md").read_text("utf-8"))
    codes = [int(code) for row in rows if row[0][:1].isdecimal() for code in row[0].split(", ")]
    assert codes == [code for code in GENERATE.exit_codes() if code]


def test_every_command_is_in_the_readme() -> None:
    assert [name for name in GENERATE.commands() if f"txnlog {name}" not in README] == []


@pytest.mark.parametrize("name", [*Action, *Confidence])
def test_actions_are_explained_in_the_readme_and_confidences_in_the_verdicts(name: str) -> None:
    text = README if name in set(Action) else VERDICTS
    assert [row[0] for row in table_rows(text)].count(f"`{name}`") == 1


def test_the_index_leads_to_every_page_and_the_readme_is_short() -> None:
    for index in (page for page in DOCS if page.name == "index.md"):
        beside = {page.name for page in DOCS if page.parent == index.parent and page != index}
        assert set(re.findall(r"\]\(([\w-]+\.md)\)", index.read_text("utf-8"))) == beside
    assert len(README.splitlines()) <= 180


@pytest.mark.parametrize("page", [page for page in DOCS if page != ROOT / "docs/index.md"], ids=lambda page: page.name)
def test_each_page_begins_with_a_way_back(page: Path) -> None:
    back = re.match(r"\[[\w ]+\]\(([\w./]*index\.md)\)\n", page.read_text("utf-8"))
    assert back is not None
    assert (page.parent / back[1]).resolve() in DOCS


def test_the_rules_stand_in_the_docs_in_their_order() -> None:
    rows = [row for row in table_rows(VERDICTS) if row[0].isdecimal()]
    documented = [tuple(row[:3]) for row in rows]
    assert documented == [
        (str(number), f"`{rule.cause}`", f"`{rule.cause.action}`") for number, rule in enumerate(RULES, 1)
    ]


def test_what_an_abort_did_stands_in_the_record_of_the_sample() -> None:
    record = (ROOT / "data/samples/kafka-3.5.2/abort-run.txt").read_text("utf-8")
    [shown] = [each for each in pages.blocks(ROOT / "docs/live.md") if "->" in each]
    assert shown in record


def test_each_table_is_in_the_readme() -> None:
    assert [table.name for table in TABLES if f"`{table.name}`" not in README] == []


def test_the_output_in_the_readme_is_what_the_sample_holds() -> None:
    below = block("", "find-hanging --tables build").partition("Topic ")[2].partition("\n...")[0].splitlines()[1:]
    lines = [line.split() for line in below]
    shown = [(line[0], int(line[1]), int(line[3]), line[-2], line[-1]) for line in lines]
    late = [each for each in TRUTH if each["late"]]
    names = ("topic", "partition", "start_offset", "cause", "action")
    assert len(shown) > 3
    assert sorted(shown) == sorted(tuple(each[name] for name in names) for each in late)


def test_the_manifest_in_the_docs_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "dump.toml").write_text(block("toml", "[copies.", (ROOT / "docs/dumps.md").read_text("utf-8")), "utf-8")
    manifest = read_manifest(str(tmp_path / "dump.toml"))
    assert manifest.cluster == "payments"
    assert manifest.transaction_max_timeout_ms == 900_000
    assert {folder: time.ended is not None for folder, time in manifest.copies.items()} == {
        "broker-1": True,
        "coordinators-1": True,
    }


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: path.name)
def test_a_file_of_settings_can_be_used_as_it_is(path: Path) -> None:
    options = detect_options({}, path)
    assert options.dump
    assert set(read_config(path)) <= {option.key for option in OPTIONS}


def test_the_nightly_settings_have_each_key_with_a_comment_and_a_value_that_is_right(tmp_path: Path) -> None:
    lines = (ROOT / "conf/nightly.toml").read_text("utf-8").splitlines()
    places = {match[1]: place for place, line in enumerate(lines) if (match := re.match(r"#?(\w+) = ", line))}
    assert set(places) == {option.key for option in OPTIONS}
    assert [key for key, place in places.items() if not lines[place - 1].startswith("# ")] == []
    everything = tmp_path / "all.toml"
    everything.write_text("\n".join(lines[place].removeprefix("#") for place in places.values()), "utf-8")
    detect_options({}, everything)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page in links."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_lead_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text("utf-8"))
    assert [link for link in links if link[1] not in anchors((page.parent / link[0]) if link[0] else page)] == []


def test_the_readme_names_the_wheel_of_this_version() -> None:
    assert f"txnlog-{txnlog.__version__}-py3-none-any.whl" in README
