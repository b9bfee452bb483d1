"""The README's script: what it copies is a dump with its manifest and the listing of before."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.writer import data, put, segment
from txnlog.dump.dump_file import FileKind
from txnlog.dump.inventory import inventory

README = Path(__file__).parents[3] / "README.md"


@pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed: the script copies with it")
def test_the_script_of_the_readme_leaves_a_dump_with_times_and_listing(tmp_path: Path) -> None:
    log_dir = tmp_path / "kafka"
    for name in ("orders-0", "__transaction_state-7"):
        segment(log_dir, name, data(0))
        put(log_dir / name / "leader-epoch-checkpoint", "0\n1\n0 0\n")
        put(log_dir / name / f"{0:020}.index")
    put(log_dir / "replication-offset-checkpoint", "0\n0\n")
    (script,) = re.findall(r"```bash\n(#!/usr/bin/env bash\n# copy\.sh .*?)```", README.read_text("utf-8"), re.DOTALL)
    subprocess.run(["bash", "-c", script, "copy.sh", "1", str(log_dir)], cwd=tmp_path, check=True)
    found = inventory(tmp_path / "dump")
    segments = [file for file in found.files if file.kind is FileKind.SEGMENT]
    assert [file.topic for file in segments] == ["__transaction_state", "orders"]
    assert all(
        file.complete_ms == int((tmp_path / "kafka" / file.file[9:]).stat().st_mtime * 1000) for file in segments
    )
    assert not list((tmp_path / "dump").rglob("*.index"))
    (copied,) = (each.copied for each in found.log_dirs)
    assert copied is not None
    assert copied.started <= copied.ended
