"""Programs that tests need and Python cannot install. Without one its tests are skipped, in CI they fail."""

from __future__ import annotations

import os
import shutil

import pytest

# Set by .ci/run, which installs them.
ALL_INSTALLED = "TXNLOG_TOOLS"


def needed(program: str, package: str) -> str:
    """The path of a program."""
    found = shutil.which(program)
    if found is None:
        said = f"{program} is not installed (Debian, Ubuntu: apt-get install {package})"
        if os.environ.get(ALL_INSTALLED) == "all":
            pytest.fail(said)
        pytest.skip(said)
    return found
