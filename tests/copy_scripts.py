"""Copy scripts, log directories to copy, and commands that stand in for ssh, kubectl and those of object stores."""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from tests.tools import needed
from tests.writer import data, put, segment
from txnlog.dump.copying import Copies, script, source

# Each runs on this machine what it is to run on another one, as the shell there would: after the hook of a test, which
# may change the arguments or fail. `calls` has what was asked.
STAND_INS = {
    "ssh": 'shift\nset -- sh -c "$*"',
    "kubectl": 'while [[ $1 != -- ]]; do shift; done\nshift',
    "aws": "exit 0",
    "gcloud": "exit 0",
    "rclone": "exit 0",
}  # fmt: skip
STAND_IN = """#!/bin/bash
printf '%s\\n' "${{0##*/}} $*" >>"$PLACE/calls"
{how}
if [[ -f $PLACE/hook ]]; then . "$PLACE/hook"; fi
exec "$@"
"""
EPOCHS = "0\n1\n0 0\n"
WAYS = ("rsync", "tar", "ssh", "ssh tar", "kubectl")


def log_dir(folder: Path, broker: int = 1, *partitions: str) -> Path:
    """A broker's log directory."""
    put(folder / "meta.properties", f"node.id={broker}\ncluster.id=kZ4vP0\n")
    put(folder / "replication-offset-checkpoint", "0\n0\n")
    for name in partitions or ("orders-0", "orders-1", "__transaction_state-7"):
        for base in (0, 5):
            segment(folder, name, data(base) * (base + 1), base)
            put(folder / name / f"{base:020}.index")
        put(folder / name / f"{5:020}.snapshot", "s")
        put(folder / name / "leader-epoch-checkpoint", EPOCHS)
        put(folder / name / "partition.metadata", f"version: 0\ntopic_id: {name}\n")
    return folder


class Place:
    """Where a script runs, and what stands in for the ways to the brokers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a place"
        self.to = self.folder / "the dump"
        for name, how in STAND_INS.items():
            put(self.folder / "bin" / name, STAND_IN.format(how=how)).chmod(0o755)

    def hook(self, text: str) -> None:
        """What each stand-in does before it runs its command; an empty one takes it away."""
        put(self.folder / "hook", text)

    def calls(self) -> list[str]:
        """What was asked of the stand-ins, one line each."""
        return (self.folder / "calls").read_text().splitlines()

    def stands_in_for(self, name: str, text: str) -> None:
        """A command of bash that runs instead of the one of this name, which is `$REAL`."""
        real = shutil.which(name)
        put(self.folder / "bin" / name, f"#!/bin/bash\nREAL={real}\n{text}\n").chmod(0o755)

    def begin(self, way: str, *log_dirs: str, values: dict[str, Any] | None = None, **env: str) -> Popen[bytes]:
        """The script for these log directories (`1=/path`), as it begins, in a group of processes of its own."""
        if "tar" not in way and way != "kubectl":
            needed("rsync", "rsync")
        host = {"ssh": "kafka-1:", "ssh tar": "kafka-1:", "kubectl": "pod/kafka-0:"}.get(way, "")
        sources = [source(each.replace("=", f"={host}", 1)) for each in log_dirs]
        copies = Copies(sources, str(self.to), with_tar="tar" in way, **values or {})
        environment = os.environ | {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "PLACE": str(self.folder)}
        command = ["bash", "-c", script(copies)]
        return Popen(command, cwd=self.folder, env=environment | env, stderr=PIPE, start_new_session=True)

    def run(self, way: str, *log_dirs: str, code: int = 0, values: dict[str, Any] | None = None, **env: str) -> str:
        """Run the script as `begin` does, and what it says."""
        with self.begin(way, *log_dirs, values=values, **env) as begun:
            said = begun.communicate()[1].decode()
        assert begun.returncode == code, said
        return said

    def manifest(self) -> dict[str, Any]:
        """What `dump.toml` says."""
        return tomllib.loads((self.to / "dump.toml").read_text())

    def copied(self) -> dict[str, bytes]:
        """The files of the dump by their paths."""
        return {str(path.relative_to(self.to)): path.read_bytes() for path in self.to.rglob("*") if path.is_file()}
