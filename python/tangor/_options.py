"""How keywords, nested dictionaries and SciPy's names of options become settings."""

from __future__ import annotations

import copy
import difflib
import json
import math
import numbers
from typing import Any

from . import _tangor
from ._kinds import in_kind
from ._numbers import real_number
from ._schema import DEFAULTS, SECTIONS, Section
from ._settings import Settings

#: SciPy's names of options, and where they lead.
SCIPY_NAMES = {
    "maxiter": "limits.iterations",
    "maxfev": "limits.evaluations",
    "maxfun": "limits.evaluations",
    "gtol": "tolerance.stationarity",
    "maxcv": "tolerance.feasibility",
    "catol": "tolerance.feasibility",
    "seed": "sampling.seed",
}
#: Options that are no settings of the solver.
OTHER_NAMES = ("disp", "finite_diff_rel_step", "eps", "progress")


def deepened(path: str, value: Any) -> dict[str, Any]:
    """`{"merit": {"rho0": 1}}` from `merit.rho0` and 1."""
    *outer, last = path.split(".")
    nested = {last: value}
    for name in reversed(outer):
        nested = {name: nested}
    return nested


def merge(into: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Nested dictionaries on top of others; a choice with data replaces another choice."""
    for key, value in more.items():
        old = into.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and key in SECTIONS:
            merge(old, value)
        else:
            into[key] = value
    return into


def of_preset(settings: Any, options: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    """What the preset that is asked for has otherwise than the defaults."""
    name = {key: value for given in (settings, options, keywords) if isinstance(given, dict) for key, value in given.items()}.get("preset")
    if name is None:
        return {}
    if not isinstance(name, str):
        raise TypeError(f"preset is the name of one, such as 'paper', not {name!r}")
    if isinstance(settings, Settings):
        raise TypeError("a preset and tangor.Settings both say all settings; give one of them, and the others as keywords")
    return departures(json.loads(_tangor.preset_settings(name)), DEFAULTS)


def departures(tree: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The settings that are not the defaults."""
    found = {name: value for name, value in tree.items() if value != defaults[name]}
    return {name: departures(value, defaults[name]) if name in SECTIONS else value for name, value in found.items()}


def read(
    settings: Any, options: dict[str, Any] | None, keywords: dict[str, Any], tol: Any, preset: dict[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of the solver as nested dictionaries, and options that are none of them. A preset lies beneath all others: that which is asked
    for, where none is given."""
    if settings is None and not options and not keywords and tol is None:
        return {}, {}
    tree = of_preset(settings, options, keywords) if preset is None else copy.deepcopy(preset)
    others: dict[str, Any] = {}
    if settings is not None:
        given = settings.to_dict() if isinstance(settings, Settings) else settings
        if not isinstance(given, dict):
            raise TypeError(f"settings must be tangor.Settings or a dictionary, not {type(settings).__name__}")
        merge(tree, {name: copy.deepcopy(value) for name, value in given.items() if name != "preset"})
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"options must be a dictionary, not {type(options).__name__}")
    for name, value in {**(options or {}), **keywords}.items():
        if not isinstance(name, str):
            raise TypeError(f"an option has a name, not {name!r}")
        if name == "preset":
            continue
        if name in OTHER_NAMES:
            others[name] = value
        elif name in SCIPY_NAMES:
            # As in SciPy, None is what nobody gave.
            if value is not None:
                merge(tree, deepened(SCIPY_NAMES[name], value))
        elif name.split(".")[0] in DEFAULTS:
            merge(tree, deepened(name, value.to_dict() if isinstance(value, Section) else value))
        elif name == "tol":
            tol = value if tol is None else tol
        else:
            raise TypeError(f"there is no option {name!r}{_nearest(name)}")
    in_kind(tree)
    if tol is not None:
        tol = real_number(tol, "tol")
        for residual in ("stationarity", "feasibility", "complementarity"):
            merge(tree, deepened(f"tolerance.{residual}", tol))
    return tree, others


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, [*SCIPY_NAMES, *OTHER_NAMES, *DEFAULTS, "preset"], 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def to_json(tree: dict[str, Any]) -> str:
    """For the extension. NumPy's numbers are numbers, too."""
    if not tree:
        return "{}"
    tree = in_kind(tree)
    try:
        return json.dumps(tree, default=_plain, allow_nan=False)
    except TypeError as error:
        raise TypeError(f"the settings are wrong: {error}") from None
    except ValueError as error:
        raise ValueError(f"the settings are wrong: {_not_finite(tree) or error}") from None


def _not_finite(tree: Any, path: str = "") -> str:
    """Which setting is NaN or infinite."""
    if isinstance(tree, Section):
        tree = tree.to_dict()
    if not isinstance(tree, dict):
        return f"{path[1:]} is {tree}" if isinstance(tree, numbers.Real) and not math.isfinite(tree) else ""
    return next((found for name, value in tree.items() if (found := _not_finite(value, f"{path}.{name}"))), "")


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return value.to_dict()
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} is no setting")
