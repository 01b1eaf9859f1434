"""Whether settings are of the kind that the schema of the extension asks for; what is not is named in a sentence, with its path."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from ._numbers import real_number, whole_number
from ._schema import SCHEMA, Section, definition

#: The largest whole numbers that fields hold, by their format, where they are smaller than others.
LARGEST = {"uint32": 2**32 - 1}


def in_kind(tree: dict[str, Any]) -> dict[str, Any]:
    """The same settings with whole numbers where they belong, as 1e3."""
    try:
        found: dict[str, Any] = _checked(tree, SCHEMA, "")
        return found
    except (TypeError, ValueError) as error:
        raise type(error)(f"the settings are wrong: {error}") from None


def _checked(value: Any, schema: dict[str, Any], path: str) -> Any:
    found = definition(schema)[1]
    if "oneOf" in found:
        return _choice(value, found["oneOf"], path)
    if "properties" in found:
        return _group(value, found, path)
    return _single(value, schema, path)


def _group(value: Any, schema: dict[str, Any], path: str) -> dict[str, Any]:
    if isinstance(value, Section):
        value = value.to_dict()
    # The extension would take a list as the fields in their order, which nobody means.
    if not isinstance(value, dict):
        raise TypeError(f"{path} is a group of settings and must be a dictionary, not {value!r}")
    fields = schema["properties"]
    before = f"{path}." if path else ""
    for name in value:
        if name not in fields:
            near = difflib.get_close_matches(str(name), fields, 1, 0.0)
            raise ValueError(f"there is no setting {before}{name}; did you mean {before}{near[0]}?")
    for name in schema.get("required", ()):
        if name not in value:
            raise ValueError(f"{before}{name} is missing")
    return {name: _checked(inner, fields[name], f"{before}{name}") for name, inner in value.items()}


def _choice(value: Any, choices: list[dict[str, Any]], path: str) -> Any:
    words = [word for choice in choices for word in ([choice["const"]] if "const" in choice else choice.get("enum", ()))]
    forms = {name: inner for choice in choices for name, inner in choice.get("properties", {}).items()}
    if isinstance(value, str) and value in words:
        return value
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in forms:
        (name, inner), = value.items()
        return {name: _checked(inner, forms[name], f"{path}.{name}")}
    written = [repr(word) for word in words]
    written += [f"{{{name!r}: {{{', '.join(f'{field!r}: ...' for field in inner.get('properties', {}))}}}}}" for name, inner in forms.items()]
    kind = ValueError if isinstance(value, (str, dict)) else TypeError
    raise kind(f"{path} must be {' or '.join([', '.join(written[:-1]), written[-1]] if written[1:] else written)}, not {value!r}")


def _single(value: Any, schema: dict[str, Any], path: str) -> Any:
    given = schema.get("type", ())
    kinds = (given,) if isinstance(given, str) else tuple(given)
    if value is None and "null" in kinds:
        return None
    if "boolean" in kinds:
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{path} must be True or False, not {value!r}")
        return bool(value)
    if "integer" in kinds:
        number = whole_number(value, path, 0)
        if number > LARGEST.get(schema.get("format", ""), number):
            raise ValueError(f"{path} is too large: {number}")
        return number
    return real_number(value, path) if "number" in kinds else value
