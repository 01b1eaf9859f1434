"""`tangor.Settings` and the classes of its groups; what they are says `_settings.pyi`."""

from ._schema import classes

globals().update(classes())
