"""Pins what chartkit requires to the versions of requirements.lock, when it is built.

`pip install .` then gives the versions that the tests ran with, whatever a package index has
younger. pyproject.toml has the ranges that `make lock` chooses from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RANGES = "CHARTKIT_RANGES"
"""Set by `make lock`: the ranges of pyproject.toml as they are."""
LOCK = "requirements.lock"
_PINNED = re.compile(r"(\S+)==(\S+)(?: ; (.+?))?(?: \\)?")
_VIA = re.compile(r" +#(?: via)? +([\w.-]+).*")
NAME = re.compile(r"[\w.-]+")


class Pins(MetadataHookInterface):
    """Fills in the dependencies and the extras."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set both fields of the project's metadata."""
        core, extras = self.config["requires"], self.config["extras"]
        if not os.environ.get(RANGES):
            lock = (Path(self.root) / LOCK).read_text("utf-8")
            core = pinned(core, lock)
            extras = {name: pinned(ranges, lock) for name, ranges in extras.items()}
        metadata["dependencies"] = core
        metadata["optional-dependencies"] = extras


def pinned(ranges: Iterable[str], lock: str) -> list[str]:
    """Return what a lock has of these requirements and of all that they require.

    Raises ValueError for a requirement that the lock does not have.
    """
    pins, requires = _read(lock)
    found: dict[str, None] = {}
    wanted = [canonical(name[0]) for each in ranges if (name := NAME.match(each))]
    while wanted:
        package = wanted.pop()
        if package not in pins:
            raise ValueError(f"{LOCK} does not have {package}: run `make lock`")
        if package not in found:
            found[package] = None
            wanted += requires.get(package, ())
    return sorted(pins[package] for package in found)


def canonical(name: str) -> str:
    """Return a package's name as an index and the lock write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(lock: str) -> tuple[Mapping[str, str], Mapping[str, list[str]]]:
    """Return each package's pin, and the packages that each one requires ("via")."""
    pins: dict[str, str] = {}
    requires: dict[str, list[str]] = {}
    name = ""
    for line in lock.splitlines():
        if pin := _PINNED.fullmatch(line):
            name = pin[1]
            pins[name] = f"{name}=={pin[2]}" + (f"; {pin[3]}" if pin[3] else "")
        elif via := _VIA.fullmatch(line):
            requires.setdefault(via[1], []).append(name)
    return pins, requires
