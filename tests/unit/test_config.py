"""Options: one declaration for command line and TOML, and errors that name file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from txnlog.cli import main
from txnlog.config import OPTIONS, DetectOptions, detect_options
from txnlog.errors import OptionError
from txnlog.job.facts import DEFAULT_MAX_TIMEOUT_MS


def test_what_is_given_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "nightly.toml"
    file.write_text('dump = "a"\ntables = "b"\npadding = "7m"\naccept_compacted_history = true\n')
    options = detect_options({"dump": "c"}, file)
    assert (options.dump, options.tables, options.padding) == ("c", "b", 420_000)
    assert options.accept_compacted_history


def test_every_option_is_a_field_and_every_field_an_option() -> None:
    assert [option.key for option in OPTIONS] == list(DetectOptions.__dataclass_fields__)


def test_defaults_are_those_of_kafka() -> None:
    """Item 50: the largest timeout, and what its metric adds to that."""
    assert DEFAULT_MAX_TIMEOUT_MS == 15 * 60_000
    assert DetectOptions("dump", "tables").thresholds.padding_ms == 5 * 60_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("paddding = 1", "paddding is not an option; known are"),
        ('padding = "soon"', "padding: 'soon' is not a duration"),
        ("padding = true", "padding: True is not a duration"),
        ('as_of = "2026-11-21T02:00:00"', "as_of: 2026-11-21T02:00:00 has no time zone"),
        ("as_of = 2026-11-21T02:00:00", "as_of: 2026-11-21 02:00:00 has no time zone"),
        ("coordinator_partitions = 0", "coordinator_partitions: 0 is not a whole number above 0"),
        ('accept_compacted_history = "yes"', "accept_compacted_history: 'yes' is neither true nor false"),
        ("cluster = 7", "cluster: 7 is not a string"),
        ("= 7", "at line 1"),
    ],
)
def test_a_wrong_key_names_file_and_key(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "nightly.toml"
    file.write_text(content)
    with pytest.raises(OptionError) as raised:
        detect_options({"dump": "a", "tables": "b"}, file)
    assert str(file) in str(raised.value)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["detect"], "dump is missing"),
        (["detect", "dump"], "tables is missing"),
        (
            ["detect", "dump", "--tables", "t", "--as-of", "2026-11-21T02:00"],
            "--as-of: 2026-11-21T02:00 has no time zone",
        ),
        (["detect", "dump", "--tables", "t", "--config", "absent.toml"], "absent.toml: No such file or directory"),
        (["detect", "dump", "--tables", "t", "--live-coordinators"], "live_coordinators needs bootstrap_server"),
        (["detect", "dump", "--tables", "t", "--padding=-5m"], "--padding: '-5m' is not a duration"),
    ],
)
def test_what_a_user_did_wrong_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.count("\n") == 1
    assert message in written.err


@pytest.mark.parametrize(("command", "code"), [("find-hanging", 4), ("abort-list", 4)])
def test_missing_tables_are_one_line_and_exit_code_4(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, code: int
) -> None:
    assert main([command, "--tables", str(tmp_path)]) == code
    assert "run `txnlog detect` first" in capsys.readouterr().err


def test_a_dump_that_is_not_there_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    absent, file = tmp_path / "absent", tmp_path / "file"
    file.touch()
    for dump, message in (
        (absent, "there is no such folder"),
        (file, "a dump is a folder"),
        ("ftp://b/d", "not from ftp:"),
    ):
        assert main(["detect", str(dump), "--tables", str(tmp_path / "t")]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "t").exists()
