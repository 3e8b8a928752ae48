"""Cases: policies of the old kinds with what they are asked, and what they become."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from chartkit.model import Body, Json

FOLDER: Final = Path(__file__).parent / "cases"
_EXCEPTION: Final = "PolicyException"
_VALIDATING: Final = "ValidatingPolicy"


@dataclass(frozen=True, slots=True)
class Case:
    """A file of `cases/`.

    setup: objects that are there before the policies; requests: asked without storing anything;
    steps: what is created, changed or deleted, and the objects to look at then, with PHASE for the
    name of the round; new: the converted policies; replaced: by `Kind/name` of a new policy, the
    old one; left: rules that did not convert; known: places that may differ, with a text that the
    difference then has; changes: what the conversion says differs.
    """

    name: str
    about: str
    policies: Sequence[Body]
    setup: Sequence[Body] = ()
    requests: Sequence[Body] = ()
    steps: Sequence[Body] = ()
    new: Sequence[Body] = ()
    replaced: Mapping[str, str] = field(default_factory=dict)
    left: Sequence[str] = ()
    known: Mapping[str, str] = field(default_factory=dict)
    changes: Sequence[str] = ()

    @property
    def runs_in_both(self) -> Iterator[Body]:
        """Yield the new policies that may run next to the old ones, in Audit."""
        for body in self.new:
            if body["kind"].endswith(_VALIDATING) and "Image" not in body["kind"]:
                yield {**body, "spec": {**body["spec"], "validationActions": ["Audit"]}}
            elif body["kind"] == _EXCEPTION:
                yield body


def read_cases(names: Sequence[str], words: Mapping[str, str], seconds: str) -> list[Case]:
    """Return the cases with these names, or all; words: replaced in their texts."""
    found = []
    for file in sorted(FOLDER.glob("*.yaml")):
        if names and file.stem not in names:
            continue
        body = _with_words(yaml.safe_load(file.read_text()), words)
        found.append(_converted(file.stem, body, seconds))
    return found


def _with_words(value: Json, words: Mapping[str, str]) -> Json:
    if isinstance(value, dict):
        return {key: _with_words(one, words) for key, one in value.items()}
    if isinstance(value, list):
        return [_with_words(one, words) for one in value]
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(word, text)
    return value


def _converted(name: str, body: Body, seconds: str) -> Case:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.yaml"
        file.write_text(yaml.safe_dump_all(body["policies"]))
        command = ["-m", "chartkit", "migrate", "policies", str(file), "-o", "json"]
        ended = subprocess.run(
            [sys.executable, *command, "--proof-seconds", seconds], capture_output=True, text=True
        )
    if not ended.stdout:
        raise SystemExit(f"{name}: {ended.stderr}")
    report = json.loads(ended.stdout)
    new: list[Body] = []
    replaced: dict[str, str] = {}
    for each in report["objects"]:
        new += each["documents"]
        for rule in each["rules"]:
            replaced |= dict.fromkeys(rule["replacedBy"], each["name"])
    rules = [(each["name"], rule) for each in report["objects"] for rule in each["rules"]]
    return Case(
        name,
        body["about"],
        body["policies"],
        body.get("setup") or (),
        body.get("requests") or (),
        body.get("steps") or (),
        new,
        replaced,
        [f"{at} {one['name']}: {one['reason']}" for at, one in rules if not one["converted"]],
        body.get("known") or {},
        [f"{at} {one['name']}: {text}" for at, one in rules for text in one["changes"]],
    )
