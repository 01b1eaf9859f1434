"""Builds the wheel: maturin builds the extension, and this puts the program `tangor` beside it.

A wheel that maturin makes has either an extension or a program. Its data directory may hold both kinds of files, so the program is
built first and copied there.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import maturin
from maturin import (  # noqa: F401  (what a build backend must have)
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

HERE = Path(__file__).resolve().parent.parent
DATA = HERE / "wheel.data"


def put_program() -> None:
    """Builds the program and copies it to where maturin finds scripts of the wheel."""
    command = ["cargo", "build", "--release", "--locked", "--package", "tangor-cli", "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, check=True, text=True)
    messages = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    programs = [message["executable"] for message in messages if message.get("executable")]
    if not programs:
        sys.exit("cargo built no program in the package tangor-cli")
    scripts = DATA / "scripts"
    shutil.rmtree(scripts, ignore_errors=True)
    scripts.mkdir(parents=True)
    program = scripts / ("tangor.exe" if os.name == "nt" else "tangor")
    shutil.copy2(programs[-1], program)
    if strip := shutil.which("strip"):
        subprocess.run([strip, program], check=False)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """maturin asks for the data directory even where it only writes metadata."""
    DATA.mkdir(exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    """The same for an editable install."""
    DATA.mkdir(exist_ok=True)
    return maturin.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    put_program()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    put_program()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
