"""The scripts in examples/python run as they are and print their answers."""

import os
import shlex
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


def commands():
    """Those of the page beside the examples."""
    page = FOLDER / "README.md"
    lines = page.read_text(encoding="utf-8").splitlines() if page.is_file() else []
    return [line for line in lines if line.startswith("tangor solve --oracle")]


@pytest.mark.parametrize("command", commands())
def test_commands_of_the_page_solve_their_problems(command):
    words = shlex.split(command)
    program = Path(sys.executable).parent / words[0]
    if not program.is_file():
        pytest.skip("the program is not beside this Python")
    path = os.pathsep.join([str(program.parent), os.environ.get("PATH", "")])
    done = subprocess.run([program, *words[1:]], capture_output=True, text=True, cwd=FOLDER, env={**os.environ, "PATH": path}, timeout=500)
    assert done.returncode == 0 and "Solved: a KKT point within the tolerances." in done.stdout, done.stdout + done.stderr


ORACLE = """
import math, sys
import oracle
def gradient(lower, upper):
    return oracle._differences(lambda x, draws: math.exp(x[0]), [lower], [upper])(oracle._arrays({"draws": [], "point": [1.0]}, None, False)[1], [])[0]
for bounds in ((None, None), (1.0, None), (None, 1.0), (1.0 - 1e-9, 3.0)):
    assert abs(gradient(*bounds) - math.e) < 1e-9, bounds
assert gradient(1.0, 1.0) == 0.0
for strange in ([None, 1.0], "text", [1.0, "text"], None, {"a": 1}):
    try:
        oracle._numbers(strange)
    except TypeError as error:
        assert "where numbers are needed" in str(error)
    else:
        sys.exit(f"{strange} was taken")
"""


def test_oracles_have_slopes_inside_of_the_bounds_and_refuse_what_is_no_number():
    if not (FOLDER / "oracle.py").is_file():
        pytest.skip("the examples are not beside the tests")
    done = subprocess.run([sys.executable, "-c", ORACLE], cwd=FOLDER, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == 0, done.stderr
