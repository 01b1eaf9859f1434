"""How `tangor.Settings` is made from the schema of the extension: one dataclass for each group of settings.

`stub()` is the text of `_settings.pyi`, which lets editors and type checkers see the same classes.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import json
import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _tangor

SCHEMA: dict[str, Any] = json.loads(_tangor.settings_schema())
DEFAULTS: dict[str, Any] = json.loads(_tangor.complete_settings("{}"))
#: Types of the schema, and how Python writes them.
TYPES = {"number": "float", "integer": "int", "boolean": "bool", "string": "str", "null": "None"}


def definition(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of what the schema of a field refers to (empty if it refers to nothing), and that itself."""
    for part in (schema, *schema.get("allOf", ()), *schema.get("anyOf", ())):
        if "$ref" in part:
            name: str = part["$ref"].rsplit("/", 1)[-1]
            return name, SCHEMA["$defs"][name]
    return "", schema


def is_section(schema: dict[str, Any], default: Any) -> bool:
    """Whether a field is a group of settings, not a setting."""
    return isinstance(default, dict) and "properties" in definition(schema)[1]


def sections(schema: dict[str, Any] = SCHEMA, defaults: dict[str, Any] = DEFAULTS) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """The field, the class, the schema and the defaults of each group, inner ones first."""
    for field, inner in schema["properties"].items():
        if is_section(inner, defaults[field]):
            name, found = definition(inner)
            yield from sections(found, defaults[field])
            yield field, name, found, defaults[field]


def choices(schema: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What a field may be: how it is written, its type, and its meaning."""
    for choice in definition(schema)[1].get("oneOf", ()):
        meaning = flat(choice.get("description", ""))
        for name in [choice["const"]] if "const" in choice else choice.get("enum", ()):
            yield repr(name), f"Literal[{name!r}]", meaning
        for name, inner in choice.get("properties", {}).items():
            inside = ", ".join(f"{field!r}: ..." for field in inner.get("properties", {}))
            yield f"{{{name!r}: {{{inside}}}}}", "dict[str, dict[str, Any]]", meaning


def flat(text: str) -> str:
    """On one line."""
    return " ".join(text.split())


def documentation(schema: dict[str, Any], defaults: dict[str, Any]) -> str:
    """All that is known of a group and its fields."""
    lines = [flat(schema.get("description", "")), "", "Fields", "------"]
    for field, inner in schema["properties"].items():
        name, found = definition(inner)
        lines.append(f"{field} : {name}" if is_section(inner, defaults[field]) else f"{field} = {defaults[field]!r}")
        lines.append("    " + flat(inner.get("description", found.get("description", ""))))
        lines += [f"        {written}: {meaning}" for written, _, meaning in choices(inner)]
    return "\n".join(lines)


class Section:
    """What all groups of settings can do."""

    def to_dict(self) -> dict[str, Any]:
        """All settings as nested dictionaries."""
        made: dict[str, Any] = dataclasses.asdict(self)  # type: ignore[call-overload]
        return made

    # Type checkers know the fields, and would let every name pass if they knew of this.
    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            fields = [field.name for field in dataclasses.fields(self)]
            if name not in fields:
                near = difflib.get_close_matches(name, fields, 1, 0.0)
                raise AttributeError(f"{type(self).__name__} has no setting {name!r}; the nearest is {near[0]!r}")
            super().__setattr__(name, value)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value, kind = getattr(self, field.name), field.type
            if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, Section):
                try:
                    setattr(self, field.name, kind(**value))
                except TypeError as error:
                    raise TypeError(f"{field.name}: {error}") from None


def fresh(value: Any) -> Callable[[], Any]:
    """A copy for each object."""
    return lambda: copy.deepcopy(value)


def group(kind: type, defaults: dict[str, Any]) -> Callable[[], Any]:
    """A group with its own defaults: several may be of the same class."""
    return lambda: kind(**copy.deepcopy(defaults))


def section(name: str, schema: dict[str, Any], defaults: dict[str, Any], made: dict[str, type]) -> type:
    """A dataclass with a field and a documentation for each setting; it and those of its groups are put into `made`."""
    fields: list[tuple[str, Any, Any]] = []
    for field, inner in schema["properties"].items():
        if is_section(inner, defaults[field]):
            kind = section(*definition(inner), defaults[field], made)
            fields.append((field, kind, dataclasses.field(default_factory=group(kind, defaults[field]))))
        else:
            fields.append((field, Any, dataclasses.field(default_factory=fresh(defaults[field]))))
    if name not in made:
        made[name] = dataclasses.make_dataclass(name, fields, bases=(Section,), match_args=False)
        made[name].__doc__ = documentation(schema, defaults)
        made[name].__module__ = "tangor._settings"
    return made[name]


def classes() -> dict[str, type]:
    """`Settings` and the classes of all of its groups, by name."""
    made: dict[str, type] = {}
    section("Settings", SCHEMA, DEFAULTS, made)
    return made


def stub() -> str:
    """The same classes as text, for editors and type checkers."""
    groups = {name: (found, defaults) for _, name, found, defaults in sections()}
    groups["Settings"] = (SCHEMA, DEFAULTS)
    lines = [
        '"""The classes of `tangor.Settings`, made by `stub()`; a test looks whether they are current, and says how to make them anew."""',
        "",
        "from typing import Any, Literal",
        "",
        "from ._schema import Section",
    ]
    for name, (found, defaults) in groups.items():
        lines += ["", f"class {name}(Section):", f'    """{flat(found.get("description", ""))}"""', ""]
        arguments = []
        for field, inner in found["properties"].items():
            group = is_section(inner, defaults[field])
            kind = definition(inner)[0] if group else written_type(inner)
            meaning = flat(inner.get("description", definition(inner)[1].get("description", "")))
            lines += [f"    {field}: {kind}", *docstring(meaning, [f"{text}: {why}" for text, _, why in choices(inner)])]
            arguments.append(f"{field}: {kind}{' | dict[str, Any]' if group else ''} = ...")
        lines += ["    def __init__(", "        self,", *(f"        {argument}," for argument in arguments), "    ) -> None: ..."]
    return "\n".join(lines) + "\n"


def written_type(schema: dict[str, Any]) -> str:
    """The type of a setting as Python writes it."""
    found = [kind for _, kind, _ in choices(schema)]
    given = schema.get("type", [])
    found += [TYPES[name] for name in ([given] if isinstance(given, str) else given)]
    return " | ".join(dict.fromkeys(found)) or "Any"


def docstring(meaning: str, more: list[str]) -> list[str]:
    """What an editor shows of a field."""
    wrapped = [line for text in (meaning, *more) for line in textwrap.wrap(text, 120, subsequent_indent="    " if text in more else "")]
    if len(wrapped) == 1:
        return [f'    """{wrapped[0]}"""', ""]
    return [f'    """{wrapped[0]}', *(f"    {line}" for line in wrapped[1:]), '    """', ""]


SECTIONS = {field for field, *_ in sections()}
