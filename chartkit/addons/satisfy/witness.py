"""A witness for each object that a search starts from, judged as a scan judges objects; its report:
YAML with the rule that wants each line, or what is in the way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

from chartkit.addons.satisfy.conflicts import CONFLICT
from chartkit.addons.satisfy.conflicts.rules import Conflict, conflicts, together
from chartkit.addons.satisfy.fields import skeleton
from chartkit.addons.satisfy.formula import value_at
from chartkit.addons.satisfy.search import NotDecided, Reason, Search, Witness
from chartkit.addons.satisfy.wants import RuleKey, key_of
from chartkit.documents.reader import read_text
from chartkit.documents.yaml_dump import dump_documents
from chartkit.engine import Phase, RunnablePolicy, as_submitted, evaluate
from chartkit.engine.cluster_policy.autogen import written_name
from chartkit.errors import InputError
from chartkit.model import (
    Body,
    Diagnostic,
    FieldPath,
    Location,
    Resource,
    RuleResult,
    Severity,
    Status,
    pointer_of,
)
from chartkit.report.command_report import Block, Code, CommandReport
from chartkit.safe_text import shown
from chartkit.scan.inputs import Note, read_inputs
from chartkit.scan.requests import Requests
from chartkit.wording import counted

_ASKING: Final = re.compile(
    r'"(apiCall|globalReference|configMap|imageRegistry|paramRef)"|\b(resource|globalContext|http)\.'
)
"""The parts of a policy's text that ask for other objects, services or registries."""
_UNDECIDED = "witness"
_COLUMN = 40
"""The column at which comments begin, where the line leaves room."""


@dataclass(frozen=True, slots=True)
class Starts:
    """The starts of searches: the smallest objects of kinds, or the objects of a file."""

    kinds: tuple[str, ...]
    file: Path | None = None

    def objects(self, note: Note) -> list[Resource]:
        """Return the objects; raise InputError."""
        if self.file is None:
            return [skeleton(kind) for kind in dict.fromkeys(self.kinds)]
        objects = read_inputs((str(self.file),), StringIO(), note)
        if not objects:
            raise InputError("holds no object", Location(str(self.file)))
        return objects


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a search. start: the object that it began with; witness: None if the search
    failed; conflicts: rules that exclude each other; left: results that no change could help;
    unasked: of rules that ask a cluster or a registry, which the witness says nothing about."""

    start: Resource
    witness: Witness | None
    conflicts: tuple[Conflict, ...] = ()
    left: tuple[RuleResult, ...] = ()
    unasked: tuple[RuleResult, ...] = ()


def find(requests: Requests, start: Resource, seconds: float) -> Found:
    """Search for an object that the policies accept, beginning with another one."""
    policies = [policy for policy in requests.policies.policies if not policy.judges_json]
    asking = {policy.policy.id for policy in policies if _asks(policy)}
    world = requests.world()
    admissions = requests.context(world).admissions(policies)
    unasked: dict[RuleKey, RuleResult] = {}
    ended: Witness | NotDecided

    def judge(body: Body) -> Sequence[RuleResult]:
        submitted = as_submitted(Resource(body, start.location), custom=requests.names)
        request = admissions.request(submitted)
        results = []
        for result in evaluate(policies, request, world, (Phase.MUTATE, Phase.VALIDATE)):
            key = key_of(result)
            if key in unasked or (result.status is Status.ERROR and result.policy_id in asking):
                unasked[key] = result
            else:
                results.append(result)
        return results

    while True:
        ended = Search(start, policies, judge, seconds).run()
        left = () if isinstance(ended, Witness) else ended.left
        # What other objects decide is no matter of this one.
        others = {key_of(fault): fault for fault in left if fault.policy_id in asking}
        if not others or len(others) < len(left):
            break
        unasked |= others
    if isinstance(ended, Witness):
        return Found(start, ended, unasked=tuple(unasked.values()))
    # The conflicts that explain why nothing was found.
    wanting = list({id(want.compiled): want.compiled for want in ended.wants}.values())
    in_the_way = [
        conflict
        for conflict in conflicts(together(wanting))
        if isinstance(conflict, Conflict) and conflict.kind in (start.kind, "Pod")
    ]
    return Found(start, None, tuple(in_the_way), ended.left, tuple(unasked.values()))


def _asks(policy: RunnablePolicy) -> bool:
    text = json.dumps(policy.policy.resource.body.get("spec"), default=str)
    return policy.looks_around and _ASKING.search(text) is not None


def report(ends: Sequence[Found]) -> CommandReport:
    """Return the ends of searches for every format; its findings are what is in the way."""
    return CommandReport(
        text=lambda _width: _text(ends),
        value=lambda: {"witnesses": [_entry(end) for end in ends]},
        rows="witnesses",
        findings=lambda: _findings(ends),
    )


def _text(ends: Sequence[Found]) -> Iterator[Block]:
    for end in ends:
        if end.witness is not None:
            yield Code(["---", *_commented(end.witness)])
        else:
            yield Code([f"# {line}" for line in _obstacles(end)])
        if end.unasked:
            rules = ", ".join(dict.fromkeys(map(_rule, end.unasked)))
            yield Code([f"# not checked, because they look up other objects: {shown(rules)}"])


def _commented(witness: Witness) -> Iterator[str]:
    """Yield the lines of a witness, each with the names of the rules that want it."""
    text = dump_documents([witness.body])
    (document,) = read_text(text)
    comments: dict[int, list[Reason]] = {}
    for path, reasons in _closest(witness.reasons).items():
        if value_at(witness.body, path) is not None:
            comments.setdefault(document.locate(*path).line, []).extend(reasons)
    for number, line in enumerate(text.splitlines(), 1):
        if line == "---":
            continue
        names = dict.fromkeys(map(_name, comments.get(number, ())))
        yield f"{line:{_COLUMN}}  # {shown(', '.join(names))}" if names else line


def _closest(reasons: Mapping[FieldPath, tuple[Reason, ...]]) -> dict[FieldPath, list[Reason]]:
    """Return the reasons of each field that no field below it shares."""
    closest: dict[FieldPath, list[Reason]] = {}
    for path, given in reasons.items():
        below = {
            _name(reason)
            for other, others in reasons.items()
            if other[: len(path)] == path != other
            for reason in others
        }
        closest[path] = [reason for reason in given if _name(reason) not in below]
    return closest


def _name(reason: Reason) -> str:
    name = reason.policy.rpartition("/")[2]
    is_alone = reason.rule in ("", name)
    return name if is_alone else f"{reason.policy}/{written_name(reason.rule)}"


def _rule(result: RuleResult) -> str:
    return f"{result.policy}/{result.rule}" if result.rule else result.policy


def _obstacles(end: Found) -> Iterator[str]:
    kind = shown(end.start.kind)
    for conflict in end.conflicts:
        yield f"no {conflict.kind} passes all of these rules:"
        for want in conflict.wants:
            yield f"  {shown(want.policy)}/{shown(want.rule)}  {want.location}"
    if not end.conflicts:
        yield f"{kind}: no object was found, but none is ruled out: not decided"
        for result in end.left:
            message = shown(" ".join(result.message.split()))
            yield f"  {shown(_rule(result))}: {message}"


def _entry(end: Found) -> Body:
    witness = end.witness
    reasons = _closest(witness.reasons) if witness is not None else {}
    return {
        "kind": end.start.kind,
        "object": None if witness is None else witness.body,
        "wants": [
            {"pointer": pointer_of(*path), "rules": [_reason(reason) for reason in given]}
            for path, given in reasons.items()
            if given
        ],
        "conflicts": [
            {
                "kind": conflict.kind,
                "rules": [
                    {"policy": want.policy, "rule": want.rule, "location": str(want.location)}
                    for want in conflict.wants
                ],
            }
            for conflict in end.conflicts
        ],
        "notDecided": [_left(result) for result in end.left],
        "notAsked": [_left(result) for result in end.unasked],
    }


def _reason(reason: Reason) -> Body:
    return {"policy": reason.policy, "rule": reason.rule, "location": str(reason.location)}


def _left(result: RuleResult) -> Body:
    return {"policy": result.policy, "rule": result.rule, "message": result.message}


def _findings(ends: Sequence[Found]) -> Iterator[Diagnostic]:
    for end in ends:
        if end.witness is not None:
            continue
        for conflict in end.conflicts:
            rules = ", ".join(f"{want.policy}/{want.rule}" for want in conflict.wants)
            message = f"no {conflict.kind} passes all of {counted(len(conflict.wants), 'rule')}"
            location = conflict.wants[0].location
            text = f"{message}: {rules}"
            yield Diagnostic(CONFLICT, Severity.ERROR, text, location)
        if not end.conflicts:
            text = f"{end.start.kind}: no object was found, but none is ruled out: not decided"
            yield Diagnostic(_UNDECIDED, Severity.WARNING, text, end.start.location)
