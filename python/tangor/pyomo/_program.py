"""The program `tangor`, the words that tell it its options, and what its answers mean."""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Iterator, Mapping
from typing import Any

#: `solve_result_num` of each stop, as docs/nl.md has them.
NOISE_FLOOR, INFEASIBLE, UNBOUNDED = 100, 200, 300
ITERATIONS, WALL_TIME, EVALUATIONS, SAMPLES, USER = 400, 401, 402, 403, 404
STEP_TOO_SMALL = 500


def program() -> str | None:
    """The program that came with the package; without it, the one on the PATH."""
    return shutil.which("tangor", path=sysconfig.get_path("scripts")) or shutil.which("tangor")


def words(options: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """`key=value` for each option; nested dictionaries become paths. A choice with data, `{"sqp": {"alpha": 1}}`, is a path as well."""
    for key, value in options.items():
        path = f"{prefix}{key}"
        if path == "solver" or value is None:
            continue
        if isinstance(value, Mapping):
            yield from words(value, f"{path}.")
        else:
            yield f"{path}={str(value).lower() if isinstance(value, bool) else value}"
