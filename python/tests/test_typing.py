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


PROGRAM = """
import tangor
result = tangor.minimize(lambda x: x @ x, [1.0])
reveal_type(result.x)
reveal_type(result.fun)
reveal_type(result.success)
reveal_type(result.v)
reveal_type(tangor.minimize_sampled(lambda x, draws: (x, None, None), [0.0]).samples)
reveal_type(tangor.collection["HS71"].f([1.0]))
reveal_type(tangor.Solver(tangor.collection["HS71"]).run().message)
result.fun + "text"
"""


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed")
def test_results_have_types(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-P", "-m", "mypy", "--disable-error-code=import-untyped", "--cache-dir", tmp_path / "cache", "program.py"]
    told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    types = [line.split('"')[1] for line in told.splitlines() if "Revealed type" in line]
    short = [kind.replace("builtins.", "") for kind in types]
    assert len(short) == 7 and "ndarray" in short[0] and short[1:3] == ["float", "bool"] and "ndarray" in short[3], told
    assert short[4:] == ["dict[str, int]", "float", "str"], told
    assert 'Unsupported operand types for + ("float" and "str")' in told


STRICT = """
import numpy as np
import tangor
import tangor.pyomo

def objective(x: np.ndarray) -> float:
    return float(x @ x)

result = tangor.minimize(objective, [1.0, 2.0], options={"maxiter": 10})
settings = tangor.Settings()
settings.merit.rho0 = 2.0
settings.limits.seconds = 3.0
problem = tangor.Problem([1.0], f=objective)
print(tangor.check_derivatives(problem), result.x.sum() + result.fun, result.to_frame(), tangor.verify(result)["holds"])
known = tangor.collection["HS71"]
print(known.hess(known.x0, np.ones(2)), known.bounds, tangor.read("FILE.nl").n)
solver = tangor.Solver(known)
while not solver.step():
    solver.checkpoint("run.json")
print(tangor.Solver.resume(known, "run.json").run().message)
noisy = tangor.SampledProblem([0.0], sample=lambda x, rng: (x - rng.normal(size=1), None, None))
print(tangor.Solver(noisy).step(), tangor.Solver.resume(noisy, "run.json").stop)
"""


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed")
def test_a_program_of_a_strict_user_passes_and_its_mistakes_do_not(tmp_path):
    (tmp_path / "right.py").write_text(STRICT)
    (tmp_path / "wrong.py").write_text("import tangor\nsettings = tangor.Settings()\nsettings.merit.rho = 2.0\nsettings.merit.rho0 = 'a'\n")
    options = ["--strict", "--disable-error-code=import-untyped", "--cache-dir", tmp_path / "cache"]
    command = [sys.executable, "-P", "-m", "mypy", *options]
    right, wrong = (
        subprocess.run([*command, name], capture_output=True, text=True, check=False, cwd=tmp_path).stdout for name in ("right.py", "wrong.py")
    )
    assert "Success" in right, right
    assert '"Merit" has no attribute "rho"' in wrong and "Incompatible types in assignment" in wrong, wrong
