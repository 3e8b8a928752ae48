"""The file that holds what webhooks were before they were opened."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from chartkit import atomic
from chartkit.addons.operate.rescue.webhooks import FAIL, IGNORE, KINDS
from chartkit.documents.reader import read_file
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.model import Location

_KEYS: Final = ("kind", "configuration", "uid", "webhook", "failurePolicy")
_HINT: Final = "`chartkit rescue --yes` writes it"


@dataclass(frozen=True, slots=True)
class Opened:
    """A webhook that was opened. uid: of its configuration; failurePolicy: the one before."""

    kind: str
    configuration: str
    uid: str
    webhook: str
    failurePolicy: str  # noqa: N815 - the field's name


@dataclass(frozen=True, slots=True)
class Record:
    """The webhooks that were opened in a cluster, which is named as reports name it."""

    cluster: str
    opened: tuple[Opened, ...]


def read(file: Path) -> Record:
    """Read a record; raise InputError for a file that is none."""
    documents = read_file(file)
    body = documents[0].body if documents else None
    place = Location(str(file))
    listed = body.get("opened") if isinstance(body, dict) else None
    cluster = body.get("cluster") if isinstance(body, dict) else None
    if not (isinstance(cluster, str) and isinstance(listed, list)):
        raise InputError("is no record of opened webhooks", place, _HINT)
    return Record(cluster, tuple(_opened(each, place) for each in listed))


def _opened(body: Any, place: Location) -> Opened:
    known = isinstance(body, dict) and set(body) == set(_KEYS)
    if not known or not all(isinstance(body[key], str) for key in _KEYS):
        keys = ", ".join(_KEYS)
        raise InputError(f"each item of `opened` has the texts {keys}", place, _HINT)
    if body["kind"] not in KINDS or body["failurePolicy"] not in (FAIL, IGNORE):
        text = f"'{body['kind']}' with '{body['failurePolicy']}' is no webhook's failure policy"
        raise InputError(text, place, _HINT)
    return Opened(**body)


def write(file: Path, record: Record) -> None:
    """Write a record; raise InputError."""
    body = {"cluster": record.cluster, "opened": [asdict(each) for each in record.opened]}
    try:
        with atomic.replacing(file) as stream:
            stream.write(dump_yaml(body).encode())
    except OSError as error:
        place = Location(str(file))
        raise InputError(f"cannot be written: {error.strerror or error}", place) from None
