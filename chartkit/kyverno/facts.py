"""Facts that age, such as releases and dates of support, kept where they are newer than chartkit's.

`chartkit facts update` keeps those of a file with the sections of `releases.yaml`, and `releases`
takes them in place of its own.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final

from chartkit import __version__
from chartkit.errors import InputError
from chartkit.model import Body
from chartkit.schemas import json_schema
from chartkit.schemas.fits import fits

SECTIONS: Final = ("kyverno", "announced", "eks", "faults", "removedApis")
"""The sections of `releases.yaml` that a file of facts has; the others belong to the program."""
KEY: Final = "releases"
"""The key of the store of facts."""
_TODAY: Final = "CHARTKIT_TODAY"
_OLD: Final = 90
"""The days after which facts are old."""


@dataclass(frozen=True, slots=True)
class Facts:
    """body: a document with all of SECTIONS; source, digest: of the file, empty for the one that
    comes with chartkit."""

    body: Body
    source: str = ""
    digest: str = ""

    @property
    def day(self) -> date:
        """The day whose knowledge they are."""
        return date.fromisoformat(self.body["date"])

    def __str__(self) -> str:
        origin = f"{self.source}, SHA-256 {self.digest[:12]}…" if self.source else "of this version"
        return f"facts of {self.day}, {origin}"

    def age(self, today: date) -> str:
        """Return a sentence on facts that are old, or nothing."""
        days = (today - self.day).days
        return f"what is known of releases is {days} days old ({self.day})" if days > _OLD else ""

    def as_json(self) -> Body:
        """Return the date and source for programs."""
        return {"date": str(self.day), "source": self.source or f"chartkit {__version__}"}


@cache
def schema(name: str) -> Body:
    """Return a schema that refers to definitions of chartkit.yaml's, with these in it."""
    definitions = json_schema.load("project.schema.json")["$defs"]
    text = json.dumps(json_schema.load(name)).replace("project.schema.json#", "#")
    return {**json.loads(text), "$defs": definitions}


def kept() -> Facts | None:
    """Return the facts that are kept; None where there are none that can be used."""
    from chartkit.cache_folder import FACTS, Store

    body = Store(FACTS).load(KEY)
    if not isinstance(body, dict) or not fits(body.get("body"), schema("facts.schema.json")):
        return None
    return Facts(body["body"], body["source"], body["digest"])


def today() -> date:
    """Return the day with which dates of support are compared: CHARTKIT_TODAY, or the system's."""
    given = os.environ.get(_TODAY)
    try:
        return date.fromisoformat(given) if given else date.today()
    except ValueError:
        hint = "write it as 2026-01-31"
        raise InputError(f"{_TODAY} is '{given}', which is not a day", hint=hint) from None
