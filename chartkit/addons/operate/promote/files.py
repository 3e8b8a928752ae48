"""The files of a project that a promotion changes: chartkit.yaml, whose comments stay, and
`promotions.yaml`, the record of each promotion with its evidence and what was before."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Final

from chartkit.addons.operate.promote.model import Plan, PlannedPolicy, Verdict
from chartkit.documents.reader import parse_yaml, read_file
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location
from chartkit.output.yaml_edit import rewritten

_ENFORCE: Final = "Enforce"
_ACTION: Final = "action"
_ACTIONS: Final = "actions"
_POLICIES: Final = "policies"
_EXCEPTIONS: Final = "exceptions"
KEPT: Final = (_ACTION, _ACTIONS)
"""The keys of a policy's settings that a promotion changes, and its way back restores."""
FILE_NAME: Final = "promotions.yaml"
_LIST: Final = "promotions"
_HEAD: Final = """\
# What was promoted to Enforce, by what evidence, and what it was before: `chartkit promote --back`
# reads it. `chartkit promote --write` adds to it.
apiVersion: chartkit.dev/v1
kind: Promotions
promotions:
"""
_BACK: Final = "back"


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
        """Return the actions that the environment itself sets for a policy."""
        policies = self.environment.get(_POLICIES) or {}
        given = policies.get(_key(policies, name)) or {}
        return {key: given[key] for key in KEPT if key in given}

    def with_actions(self, settings: Mapping[str, Body]) -> ProjectText:
        """Return the text with the actions of some policies, by name; raise InputError where it
        cannot be edited."""
        return self._edited(lambda environment: _put(environment, settings))

    def with_exceptions(self, path: str) -> ProjectText:
        """Return the text with one more file of exceptions, unless its folder is named already;
        raise InputError."""
        there = [PurePosixPath(folder) for folder in self.environment.get(_EXCEPTIONS) or ()]
        if any(folder in (PurePosixPath(path), *PurePosixPath(path).parents) for folder in there):
            return self
        files = [*(self.environment.get(_EXCEPTIONS) or ()), path]
        return self._edited(lambda environment: environment.update({_EXCEPTIONS: files}))

    def without_exceptions(self, path: str) -> ProjectText:
        """Return the text without a file of exceptions; raise InputError."""
        there = self.environment.get(_EXCEPTIONS) or ()
        if not any(PurePosixPath(file) == PurePosixPath(path) for file in there):
            return self
        return self._edited(lambda environment: _remove(environment, path))

    def _edited(self, change: Callable[[Body], None]) -> ProjectText:
        wanted = copy.deepcopy(parse_yaml(self.text))
        body = wanted
        for key in self.place:
            body = body[key]
        change(body)
        text = rewritten(self.text, wanted, self.file, "edit it by hand as the plan says")
        return replace(self, text=text)


def promoted(before: Body, namespaces: Sequence[str]) -> Body:
    """Return the actions of a policy after its promotion; before: the actions that the environment
    sets; namespaces: none for all."""
    if not namespaces:
        return {_ACTION: _ENFORCE}
    entry: Body = {_ACTION: _ENFORCE, "namespaces": list(namespaces)}
    others: list[Json] = [action for action in before.get(_ACTIONS) or () if action != entry]
    return {**before, _ACTIONS: [entry, *others]}


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
        file for file in environment[_EXCEPTIONS] if PurePosixPath(file) != PurePosixPath(path)
    ]
    environment[_EXCEPTIONS] = listed
    if not listed:
        del environment[_EXCEPTIONS]


def read_decisions(file: Path) -> list[Body]:
    """The decisions of a file in their order, none where there is no file; raises InputError."""
    if not file.is_file():
        return []
    documents = read_file(file)
    given = documents[0].body.get(_LIST) if documents and isinstance(documents[0].body, dict) else 0
    entries = given if given is not None else []
    if not isinstance(entries, list) or not all(map(_is_entry, entries)):
        hint = "`chartkit promote --write` writes it"
        raise InputError("is not a record of promotions", Location(str(file)), hint)
    return entries


def _is_entry(entry: Json) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("environment"), str)
        and isinstance(entry.get("policies"), dict)
        and all(isinstance(policy, dict) for policy in entry["policies"].values())
    )


def decision(plan: Plan, today: date, before: Mapping[str, Body], exceptions: str) -> Body:
    """Return the record of a plan that is carried out. before: the actions that the environment
    gave each policy; exceptions: the file that was written, empty for none."""
    entry: Body = {"date": today.isoformat(), "environment": plan.environment}
    if plan.namespaces:
        entry["namespaces"] = list(plan.namespaces)
    entry["policies"] = {
        policy.candidate.name: _policy(policy, before[policy.candidate.name], exceptions)
        for policy in plan.of(Verdict.PROMOTE)
    }
    return entry


def _policy(planned: PlannedPolicy, before: Body, exceptions: str) -> Body:
    evidence = planned.candidate.evidence
    body: Body = {"before": dict(before), "evidence": evidence_body(planned)}
    if planned.exceptions:
        body["exceptions"] = {"file": exceptions, "objects": planned.exceptions}
    if evidence.unsent:
        body["evidence"]["notSent"] = len(evidence.unsent)
    return body


def evidence_body(planned: PlannedPolicy) -> Body:
    """Return the evidence about a policy for a record."""
    evidence = planned.candidate.evidence
    body: Body = {
        "objects": len(evidence.objects),
        "sources": {name: len(names) for name, names in sorted(evidence.judged.items())},
    }
    if evidence.reported:
        reported: Body = {"results": dict(sorted(evidence.reported.items()))}
        for key, moment in (("from", evidence.since), ("to", evidence.until)):
            if moment is not None:
                reported[key] = moment.date().isoformat()
        if evidence.outdated:
            reported["outdated"] = evidence.outdated
        body["reports"] = reported
    return body


def way_back(environment: str, names: Sequence[str], today: date) -> Body:
    """Return the record of promotions that are taken back."""
    return {
        "date": today.isoformat(),
        "environment": environment,
        _BACK: True,
        "policies": {name: {} for name in names},
    }


def last_promotion(entries: Sequence[Body], environment: str, policy: str) -> Body | None:
    """Return the record of a policy's last promotion in an environment that was not taken back,
    with the actions `before` it; None without a promotion."""
    promotions: list[Body] = []
    for entry in entries:
        if entry["environment"] == environment and policy in entry["policies"]:
            if not entry.get(_BACK):
                promotions.append(entry["policies"][policy])
            elif promotions:
                promotions.pop()
    return promotions[-1] if promotions else None


def with_entry(file: Path, entry: Body) -> str:
    """Return the text of the file with one more entry, and otherwise unchanged; raise InputError
    where it cannot be edited."""
    text = file.read_text("utf-8") if file.is_file() else _HEAD
    before = parse_yaml(text)
    wanted = {**before, _LIST: [*(before.get(_LIST) or ()), entry]}
    return rewritten(text, wanted, file, f"write '{_LIST}' without anchors")
