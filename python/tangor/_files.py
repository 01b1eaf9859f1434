"""Problems of files and of the collection, which run inside Rust without a call back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import _tangor
from ._numbers import real_number
from ._problem import Problem


class FileProblem(Problem):
    """A problem that runs inside Rust without a call back."""

    #: What is known of its solution, for problems of the collection.
    known: dict[str, Any] | None = None

    def _remake(self, given: dict[str, Any]) -> None:
        made = collection[given["name"]] if "name" in given else read(given["path"], **given["parameters"])
        self.__dict__.update(made.__dict__)


def read(path: str | Path, **parameters: float) -> FileProblem:
    """Opens a file: `.SIF` (CUTEst), with parameters of the file replaced by keywords, or `.nl` (AMPL, Pyomo).

    A `.nl` file with integer variables is refused unless `relax_integers=True`.

    >>> import pathlib, tempfile, tangor
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "SMALL.SIF"
    >>> _ = file.write_text('''NAME          SMALL
    ... *   minimise 3 X1 + X2   subject to   X1 + X2 >= 2,   X1, X2 >= 0
    ... VARIABLES
    ...     X1
    ...     X2
    ... GROUPS
    ...  N  COST      X1        3.0            X2        1.0
    ...  G  SUM       X1        1.0            X2        1.0
    ... CONSTANTS
    ...     SMALL     SUM       2.0
    ... ENDATA
    ... ''')
    >>> problem = tangor.read(file)
    >>> problem.n, problem.m, problem.f([1.0, 1.0])
    (2, 1, 4.0)
    >>> print(tangor.minimize(problem).x.round(4))
    [0. 2.]
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.suffix.lower() == ".nl":
        relax = bool(parameters.pop("relax_integers", False))
        if parameters:
            raise TypeError(f"{path}: a .nl file has no parameter {next(iter(parameters))!r}")
        return _from_file(_tangor.read_nl(path, relax), path, {"relax_integers": relax})
    if path.suffix.lower() == ".sif":
        replaced = {name: real_number(value, f"the parameter {name}") for name, value in parameters.items()}
        return _from_file(_tangor.read_sif(path, replaced), path, replaced)
    raise ValueError(f"{path}: the extension {path.suffix!r} is unknown; files are .SIF or .nl")


def _from_file(model: Any, path: Path, parameters: dict[str, Any]) -> FileProblem:
    problem = FileProblem._of(model)
    problem._given = {"path": path.resolve(), "parameters": parameters}
    return problem


class Collection(Mapping[str, FileProblem]):
    """The embedded test problems, by name.

    >>> import tangor
    >>> problem = tangor.collection["HS71"]
    >>> problem.n, problem.m
    (4, 2)
    >>> round(tangor.minimize(problem).fun, 4)
    17.014
    """

    def __getitem__(self, name: str) -> FileProblem:
        if not isinstance(name, str):
            raise KeyError(f"problems have names, such as 'HS71'; {name!r} is none")
        model, known = _tangor.collection_problem(name)
        problem = FileProblem._of(model)
        problem.known, problem._given = known, {"name": name}
        return problem

    def __iter__(self) -> Iterator[str]:
        return iter(_tangor.collection_names())

    def __len__(self) -> int:
        return len(_tangor.collection_names())

    def __repr__(self) -> str:
        return f"<{len(self)} problems: {', '.join(list(self)[:5])}, ...>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


collection = Collection()
