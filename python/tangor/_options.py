"""Settings: `tangor.Settings`, and how keywords, nested dictionaries and SciPy's names of options become them."""

from __future__ import annotations

import dataclasses
import difflib
import json
from typing import Any

from . import _tangor

_SCHEMA: dict[str, Any] = json.loads(_tangor.settings_schema())
_DEFAULTS: dict[str, Any] = json.loads(_tangor.complete_settings("{}"))
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


def _definition(schema: dict[str, Any]) -> dict[str, Any]:
    """What a schema of a field refers to."""
    for part in (schema, *schema.get("allOf", ()), *schema.get("anyOf", ())):
        if "$ref" in part:
            found: dict[str, Any] = _SCHEMA["$defs"][part["$ref"].rsplit("/", 1)[-1]]
            return found
    return schema


def _choices(schema: dict[str, Any]) -> list[str]:
    """What a field may be, one line each."""
    lines = []
    for choice in _definition(schema).get("oneOf", ()):
        meaning = choice.get("description", "")
        if "const" in choice:
            lines.append(f"{choice['const']!r}: {meaning}")
        elif "enum" in choice:
            lines += [f"{name!r}: {meaning}" for name in choice["enum"]]
        else:
            for name, inner in choice.get("properties", {}).items():
                inside = ", ".join(f"{field!r}: ..." for field in inner.get("properties", {}))
                lines.append(f"{{{name!r}: {{{inside}}}}}: {meaning}")
    return lines


def _section(name: str, schema: dict[str, Any], defaults: dict[str, Any]) -> type:
    """A dataclass with a field and a documentation for each setting."""
    fields: list[tuple[str, Any, Any]] = []
    lines = [schema.get("description", "").replace("\n", " "), "", "Fields", "------"]
    for field, inner in schema["properties"].items():
        default, definition = defaults[field], _definition(inner)
        if isinstance(default, dict) and "properties" in definition:
            section = _section(field.capitalize(), definition, default)
            fields.append((field, section, dataclasses.field(default_factory=section)))
            lines.append(f"{field} : {section.__name__}")
        else:
            fields.append((field, Any, dataclasses.field(default_factory=lambda value=default: json.loads(json.dumps(value)))))
            lines.append(f"{field} = {default!r}")
        lines.append("    " + inner.get("description", definition.get("description", "")).replace("\n", " "))
        lines += ["        " + choice.replace("\n", " ") for choice in _choices(inner)]
    made = dataclasses.make_dataclass(name, fields)
    made.__doc__ = "\n".join(lines)
    made.__module__ = "tangor"
    return made


class _WithDictionary:
    def to_dict(self) -> dict[str, Any]:
        """All settings as nested dictionaries."""
        return dataclasses.asdict(self)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, dict) and dataclasses.is_dataclass(field.type):
                try:
                    setattr(self, field.name, field.type(**value))
                except TypeError as error:
                    raise TypeError(f"{field.name}: {error}") from None


_base = _section("Settings", _SCHEMA, _DEFAULTS)


class Settings(_WithDictionary, _base):
    __doc__ = _base.__doc__


def deepened(path: str, value: Any) -> dict[str, Any]:
    """`{"merit": {"rho0": 1}}` from `merit.rho0` and 1."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def merge(into: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Nested dictionaries on top of others; a choice with data replaces another choice."""
    for key, value in more.items():
        old = into.get(key)
        sections = isinstance(old, dict) and isinstance(value, dict) and key in _SECTIONS
        into[key] = merge(old, value) if sections else value
    return into


def _sections(defaults: dict[str, Any], schema: dict[str, Any]) -> set[str]:
    found = set()
    for field, inner in schema["properties"].items():
        definition = _definition(inner)
        if "properties" in definition and isinstance(defaults[field], dict):
            found |= {field} | _sections(defaults[field], definition)
    return found


_SECTIONS = _sections(_DEFAULTS, _SCHEMA)


def read(settings: Any, options: dict[str, Any] | None, keywords: dict[str, Any], tol: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of the solver as nested dictionaries, and options that are none of them."""
    if settings is None and not options and not keywords and tol is None:
        return {}, {}
    tree: dict[str, Any] = {}
    others: dict[str, Any] = {}
    if settings is not None:
        given = settings.to_dict() if isinstance(settings, Settings) else settings
        if not isinstance(given, dict):
            raise TypeError(f"settings must be tangor.Settings or a dictionary, not {type(settings).__name__}")
        merge(tree, json.loads(json.dumps(given)))
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"options must be a dictionary, not {type(options).__name__}")
    for name, value in {**(options or {}), **keywords}.items():
        if name in OTHER_NAMES:
            others[name] = value
        elif name in SCIPY_NAMES:
            merge(tree, deepened(SCIPY_NAMES[name], value))
        elif name.split(".")[0] in _DEFAULTS:
            merge(tree, deepened(name, value.__dict__ if dataclasses.is_dataclass(value) else value))
        elif name == "tol":
            tol = value if tol is None else tol
        else:
            raise TypeError(f"there is no option {name!r}{_nearest(name)}")
    if tol is not None:
        try:
            tol = float(tol)
        except (TypeError, ValueError):
            raise TypeError(f"tol must be a number, not {tol!r}") from None
        for residual in ("stationarity", "feasibility", "complementarity"):
            merge(tree, deepened(f"tolerance.{residual}", tol))
    return tree, others


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, [*SCIPY_NAMES, *OTHER_NAMES, *_DEFAULTS], 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def to_json(tree: dict[str, Any]) -> str:
    """For the extension. NumPy's numbers are numbers, too."""
    if not tree:
        return "{}"
    try:
        return json.dumps(tree, default=_plain)
    except TypeError as error:
        raise TypeError(f"the settings are wrong: {error}") from None


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} is no setting")
