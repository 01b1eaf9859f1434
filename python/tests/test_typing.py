"""The stubs say what is there."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed")
def test_stubs_agree_with_what_is_there():
    options = ["--mypy-config-file", HERE / "pyproject.toml", "--allowlist", HERE / "stubtest.txt", "--ignore-unused-allowlist"]
    command = [sys.executable, "-P", "-m", "mypy.stubtest", "tangor", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
