"""Edits of chartkit.yaml that promote policies and take promotions back; comments stay."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from chartkit.documents.reader import parse_yaml
from chartkit.model import Body, Json
from chartkit.output.yaml_edit import rewritten

_ENFORCE: Final = "Enforce"
_ACTION: Final = "action"
_ACTIONS: Final = "actions"
_POLICIES: Final = "policies"
_EXCEPTIONS: Final = "exceptions"
KEPT: Final = (_ACTION, _ACTIONS)
"""The keys of a policy's settings that a promotion changes, and its way back restores."""


@dataclass(frozen=True, slots=True)
class ProjectText:
    """The text of chartkit.yaml; place: the keys that lead to the environment, or the cluster."""

    text: str
    place: tuple[str, ...]
    file: Path

    @property
    def environment(self) -> Body:
        """The keys of the environment itself."""
        body = parse_yaml(self.text)
        for key in self.place:
            body = body.get(key) if isinstance(body, dict) else None
        return body if isinstance(body, dict) else {}

    def settings(self, name: str) -> Body:
        """Return what the environment itself says of a policy's actions."""
        policies = self.environment.get(_POLICIES) or {}
        given = policies.get(_key(policies, name)) or {}
        return {key: given[key] for key in KEPT if key in given}

    def with_actions(self, settings: Mapping[str, Body]) -> ProjectText:
        """Return the text with the actions of some policies, by name; raise InputError where it
        cannot be edited."""
        return self._edited(lambda environment: _put(environment, settings))

    def with_exceptions(self, path: str) -> ProjectText:
        """Return the text with a file of exceptions more, unless a folder with it is there; raise
        InputError."""
        there = [PurePosixPath(each) for each in self.environment.get(_EXCEPTIONS) or ()]
        if any(each in (PurePosixPath(path), *PurePosixPath(path).parents) for each in there):
            return self
        files = [*(self.environment.get(_EXCEPTIONS) or ()), path]
        return self._edited(lambda environment: environment.update({_EXCEPTIONS: files}))

    def without_exceptions(self, path: str) -> ProjectText:
        """Return the text in which a file of exceptions is not named; raise InputError."""
        there = self.environment.get(_EXCEPTIONS) or ()
        if not any(PurePosixPath(each) == PurePosixPath(path) for each in there):
            return self
        return self._edited(lambda environment: _remove(environment, path))

    def _edited(self, change: Callable[[Body], None]) -> ProjectText:
        wanted = copy.deepcopy(parse_yaml(self.text))
        change(_at(wanted, self.place))
        text = rewritten(self.text, wanted, self.file, "edit it by hand as the plan says")
        return replace(self, text=text)


def promoted(before: Body, namespaces: Sequence[str]) -> Body:
    """Return the actions of a policy after its promotion; before: those that the environment gives
    it; namespaces: none for all."""
    if not namespaces:
        return {_ACTION: _ENFORCE}
    entry: Body = {_ACTION: _ENFORCE, "namespaces": list(namespaces)}
    others: list[Json] = [each for each in before.get(_ACTIONS) or () if each != entry]
    return {**before, _ACTIONS: [entry, *others]}


def _at(body: Any, place: Sequence[str]) -> Any:
    for key in place:
        body = body[key]
    return body


def _key(policies: Mapping[str, Json], name: str) -> str:
    """Return the key of a policy, which may be its whole reference."""
    return next((key for key in policies if key.rpartition("/")[2] == name), name)


def _put(environment: Body, settings: Mapping[str, Body]) -> None:
    """Set the actions of policies in an environment, and drop what is empty then."""
    policies = environment.get(_POLICIES) or {}
    for name, wanted in settings.items():
        key = _key(policies, name)
        others = {k: value for k, value in (policies.get(key) or {}).items() if k not in KEPT}
        policies[key] = others | wanted
        if not policies[key]:
            del policies[key]
    environment[_POLICIES] = policies
    if not policies:
        del environment[_POLICIES]


def _remove(environment: Body, path: str) -> None:
    """Take a file out of the exceptions."""
    listed = [
        each for each in environment[_EXCEPTIONS] if PurePosixPath(each) != PurePosixPath(path)
    ]
    environment[_EXCEPTIONS] = listed
    if not listed:
        del environment[_EXCEPTIONS]
