"""A witness for each object that a search starts from, judged as a scan judges objects."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

from chartkit.addons.satisfy.conflicts.rules import Conflict, conflicts, together
from chartkit.addons.satisfy.wants.rules import RuleKey, key_of
from chartkit.addons.satisfy.witness.search import NotDecided, Search, Witness
from chartkit.addons.satisfy.witness.skeletons import skeleton
from chartkit.engine import Phase, RunnablePolicy, as_submitted, evaluate
from chartkit.errors import InputError
from chartkit.model import Body, Location, Resource, RuleResult, Status
from chartkit.scan.inputs import Note, read_inputs
from chartkit.scan.requests import Requests


@dataclass(frozen=True, slots=True)
class Starts:
    """The starts of searches: the smallest objects of kinds, or the objects of a file."""

    kinds: tuple[str, ...]
    file: Path | None = None

    def objects(self, note: Note) -> list[Resource]:
        """Return the objects; raise InputError."""
        if self.file is None:
            return [skeleton(kind) for kind in dict.fromkeys(self.kinds)]
        found = read_inputs((str(self.file),), StringIO(), note)
        if not found:
            raise InputError("holds no object", Location(str(self.file)))
        return found


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a search. start: the object that it began with; witness: None where there is none;
    conflicts: rules that exclude each other; left: results that no change could help; unasked: of
    rules that ask a cluster or a registry, which the witness says nothing about."""

    start: Resource
    witness: Witness | None
    conflicts: tuple[Conflict, ...] = ()
    left: tuple[RuleResult, ...] = ()
    unasked: tuple[RuleResult, ...] = ()


def find(requests: Requests, start: Resource, seconds: float) -> Found:
    """Search an object that the policies accept, beginning with another one."""
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
        others = {key_of(each): each for each in left if each.policy_id in asking}
        if not others or len(others) < len(left):
            break
        unasked |= others
    if isinstance(ended, Witness):
        return Found(start, ended, unasked=tuple(unasked.values()))
    return _without(start, ended, tuple(unasked.values()))


_ASKING: Final = re.compile(
    r'"(apiCall|globalReference|configMap|imageRegistry|paramRef)"|\b(resource|globalContext|http)\.'
)
"""The parts of a policy's text that ask for other objects, services or registries."""


def _asks(policy: RunnablePolicy) -> bool:
    text = json.dumps(policy.policy.resource.body.get("spec"), default=str)
    return policy.looks_around and _ASKING.search(text) is not None


def _without(start: Resource, ended: NotDecided, unasked: tuple[RuleResult, ...]) -> Found:
    """Return the end of a search that found nothing, with the conflicts that explain it."""
    policies = list({id(want.compiled): want.compiled for want in ended.wants}.values())
    kinds = (start.kind, "Pod")
    found = [
        each
        for each in conflicts(together(policies))
        if isinstance(each, Conflict) and each.kind in kinds
    ]
    return Found(start, None, tuple(found), ended.left, unasked)
