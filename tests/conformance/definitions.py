"""Definitions and policies for tests: what stands in the recorded facts, and who judges it."""

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from chartkit.documents.reader import read_file
from chartkit.errors import ChartkitError
from chartkit.model import Body, Json
from chartkit.schemas.crds import definition, kinds
from tests.conformance.go_modules import build_program

_ASSERTIONS = ".chainsaw-test"
"""Folders whose files say what a cluster must hold afterwards; they are not policies."""


@cache
def definitions() -> dict[str, Body]:
    """Every definition by its name."""
    return {kind.name: definition(kind) for kind in kinds()}


def policies(folder: Path) -> Iterator[tuple[str, Body]]:
    """Every object below folder that has one of our definitions, with the file it stands in."""
    for file in sorted(folder.rglob("*.y*ml")):
        if any(part.startswith(_ASSERTIONS) for part in file.parts):
            continue
        try:
            bodies = [document.body for document in read_file(file)]
        except ChartkitError:
            continue
        for body in kyverno_objects(bodies):
            yield str(file.relative_to(folder)), body


@cache
def _known() -> frozenset[tuple[str, str]]:
    return frozenset((kind.group, kind.kind) for kind in kinds())


def kyverno_objects(value: Json) -> Iterator[Body]:
    """Every object inside a value that has one of our definitions."""
    if isinstance(value, list):
        for each in value:
            yield from kyverno_objects(each)
    elif isinstance(value, dict):
        group = str(value.get("apiVersion")).partition("/")[0]
        if (group, value.get("kind")) in _known():
            yield value
        else:
            yield from kyverno_objects(list(value.values()))


def build_judge(folder: Path) -> Path:
    """The Go program that judges as the API server does; skips where it cannot be built."""
    return build_program("crdcheck", folder)


def judge(program: Path, crds: list[Body], objects: list[Body]) -> Body:
    """What Kubernetes says: `definitions` by name and `objects` in their order, lists of errors."""
    question = json.dumps({"definitions": crds, "objects": objects})
    done = subprocess.run(
        [str(program)], input=question, capture_output=True, text=True, check=True
    )
    answer: Body = json.loads(done.stdout)
    return answer
