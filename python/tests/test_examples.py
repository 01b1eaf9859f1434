"""The scripts in examples/python run as they are and print their answers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "python"


@pytest.mark.parametrize("name", ["scipy_user.py", "noisy_simulation.py", "fair_classifier.py"])
def test_examples_run(name):
    if not (FOLDER / name).is_file():
        pytest.skip("the examples are not beside the tests")
    done = subprocess.run(
        [sys.executable, "-P", FOLDER / name], capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "Agg"}, timeout=500
    )
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
