"""Edits of chartkit.yaml that promote policies and take promotions back; comments stay."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from chartkit.documents.reader import parse_yaml
from chartkit.model import Body, Json

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
        return self._edited(lambda environment: _add(environment, path))

    def without_exceptions(self, path: str) -> ProjectText:
        """Return the text in which a file of exceptions is not named; raise InputError."""
        there = self.environment.get(_EXCEPTIONS) or ()
        if not any(PurePosixPath(each) == PurePosixPath(path) for each in there):
            return self
        return self._edited(lambda environment: _remove(environment, path))

    def _edited(self, change: Callable[[Any], None]) -> ProjectText:
        from chartkit.output.round_trip import edited

        wanted = copy.deepcopy(parse_yaml(self.text))
        change(_at(wanted, self.place))
        hint = "edit it by hand as the plan says"
        text = edited(
            self.text, lambda root: change(_at(root, self.place)), wanted, self.file, hint
        )
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


def _put(environment: Any, settings: Mapping[str, Body]) -> None:
    """Set the actions of policies in an environment, and drop what is empty then."""
    node = _node if hasattr(environment, "ca") else copy.deepcopy
    following = _taken(environment, _POLICIES)
    for name, wanted in settings.items():
        policies = _child(environment, _POLICIES, node({}))
        key = _key(policies, name)
        policy = _child(policies, key, node({}))
        for each in KEPT:
            if each not in wanted:
                policy.pop(each, None)
            elif policy.get(each) != wanted[each]:
                policy[each] = node(wanted[each])
        if not policy:
            _drop(policies, key)
    if not environment.get(_POLICIES, True):
        _drop(environment, _POLICIES)
    _give(environment, _POLICIES, following)


def _node(value: Json) -> Any:
    """Return a value as ruamel holds it, with a place for comments."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    if isinstance(value, dict):
        return CommentedMap({key: _node(each) for key, each in value.items()})
    if isinstance(value, list):
        return CommentedSeq([_node(each) for each in value])
    return value


def _child(parent: Any, key: str, empty: Any) -> Any:
    if parent.get(key) is None:
        _set(parent, key, empty)
    return parent[key]


def _set(parent: Any, key: str, value: Any) -> None:
    """Set a key; comments below what was the last one stay below the new one."""
    last = list(parent)[-1] if parent and key not in parent else ""
    following = _taken(parent, last) if last else ""
    parent[key] = value
    _give(parent, key, following)


def _drop(parent: Any, key: str) -> None:
    """Drop a key; comments below it stay above the next one."""
    following = _taken(parent, key)
    keys = list(parent)
    at = keys.index(key)
    del parent[key]
    if at:
        _give(parent, keys[at - 1], _taken(parent, keys[at - 1]) + following)
    elif following.strip() and len(keys) > 1:
        lines = (line.strip().removeprefix("#").removeprefix(" ") for line in following.split("\n"))
        text = "\n".join(lines).strip("\n")
        parent.yaml_set_comment_before_after_key(keys[1], before=text, indent=parent.lc.col)


def _taken(parent: Any, key: str) -> str:
    """Take the comment lines below a key out; empty for a mapping without comments."""
    if not hasattr(parent, "ca") or key not in parent:
        return ""
    from chartkit.output.round_trip import take_following

    return take_following(parent, key)


def _give(parent: Any, key: str, following: str) -> None:
    """Put comment lines below a key, or below the last one if it is not there any more."""
    if not following or not parent:
        return
    from chartkit.output.round_trip import give_following, take_following

    last = key if key in parent else list(parent)[-1]
    give_following(parent, last, take_following(parent, last) + following)


def _add(environment: Any, path: str) -> None:
    if environment.get(_EXCEPTIONS) is not None:
        environment[_EXCEPTIONS].append(path)
    elif not hasattr(environment, "ca"):
        environment[_EXCEPTIONS] = [path]
    else:
        _set(environment, _EXCEPTIONS, _node([path]))


def _remove(environment: Any, path: str) -> None:
    """Take a file out of the exceptions; comments below the last one stay."""
    listed = environment[_EXCEPTIONS]
    following = _taken(environment, _EXCEPTIONS)
    kept = [at for at, each in enumerate(listed) if PurePosixPath(each) != PurePosixPath(path)]
    for at in sorted(set(range(len(listed))) - set(kept), reverse=True):
        del listed[at]
    if not kept:
        _drop(environment, _EXCEPTIONS)
    _give(environment, _EXCEPTIONS, following)
