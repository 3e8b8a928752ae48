"""Caveats of evidence about a policy: facts that admission alone sees, and that reports leave
out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from chartkit.addons.operate.adopt.actions import described_actions
from chartkit.addons.operate.promote.model import Candidate
from chartkit.engine import RunnablePolicy
from chartkit.model import Body, mapping_at, mappings_at

_USER: Final = re.compile(r"request\.(userInfo|roles|clusterRoles)|serviceAccountName\b.*\{\{")
_REQUEST: Final = re.compile(r"\boldObject\b|\brequest\.(?!namespace\b)")
_PARTS: Final = ("-ephemeral", "-controllers", "-cronjobs")
"""The ends of the names of policies that are made of another one, for objects of their own."""
_FILTERED_USER: Final = ("roles", "clusterRoles", "subjects")
_OPERATION: Final = re.compile(r"request\.operation|request\.oldObject|\boldObject\b")


def caveats_of(candidate: Candidate, everywhere: bool) -> tuple[str, ...]:
    """Return what the evidence about a policy cannot show.

    everywhere: whether it is promoted in all namespaces.
    """
    whole = [one for one in candidate.compiled if not one.policy.name.endswith(_PARTS)]
    found = (each for one in whole or candidate.compiled for each in _caveats(one, everywhere))
    evidence = candidate.evidence
    more = [_unsent(len(evidence.unsent))] if evidence.unsent else []
    more += [_outdated(evidence.outdated)] if evidence.outdated else []
    return (*dict.fromkeys(found), *more)


def asks_for_objects_alone(candidate: Candidate) -> bool:
    """Return whether an object alone decides about a policy: not who sends it, the operation, or
    what else is there."""
    return not any(_asks_for_more(one) for one in candidate.compiled)


def _asks_for_more(one: RunnablePolicy) -> bool:
    spec = mapping_at(one.policy.resource.body, "spec")
    text = json.dumps(spec, ensure_ascii=False)
    asks = _USER.search(text) or _REQUEST.search(text)
    return bool(one.looks_around or _names_users(spec) or _names_operations(spec) or asks)


def _caveats(one: RunnablePolicy, everywhere: bool) -> Iterator[str]:
    body = one.policy.resource.body
    spec = mapping_at(body, "spec")
    text = json.dumps(spec, ensure_ascii=False)
    if _names_users(spec) or _USER.search(text):
        yield "asks who sends a request, which reports and scans do not know"
    if _names_operations(spec) or _OPERATION.search(text):
        yield "asks for the operation or the old object: reports and scans see objects as they are"
    conditions = [*_conditions(spec)]
    if any(_REQUEST.search(each) for each in conditions):
        yield "has match conditions about the request, which admission alone evaluates"
    if spec.get("background") is False or _not_in_background(spec):
        yield "is not evaluated in the background: reports have results of admissions alone"
    if one.looks_around:
        yield "asks for other objects, images or services, which may answer otherwise at admission"
    if _extends(one):
        yield (
            "is extended to controllers of Pods: those that run now are refused at their next "
            "update, and their Pods when they are started again"
        )
    if everywhere and "in " in described_actions(body):
        yield f"its own actions ({described_actions(body)}) end: it enforces in all namespaces"


def _unsent(count: int) -> str:
    noun = "object is" if count == 1 else "objects are"
    return f"{count} {noun} never sent to this environment's Kyverno, and not counted"


def _outdated(count: int) -> str:
    results = "1 result of a report is" if count == 1 else f"{count} results of reports are"
    return f"{results} older than the object, which passes now, and not counted"


def _names_users(spec: Body) -> bool:
    return any(block.get(key) for block in _filters(spec) for key in _FILTERED_USER)


def _names_operations(spec: Body) -> bool:
    return any(mapping_at(block, "resources").get("operations") for block in _filters(spec))


def _filters(spec: Body) -> Iterator[Body]:
    for rule in mappings_at(spec, "rules"):
        for key in ("match", "exclude"):
            match = mapping_at(rule, key)
            yield match
            yield from mappings_at(match, "any")
            yield from mappings_at(match, "all")


def _conditions(spec: Body) -> Iterator[str]:
    own = mappings_at(spec, "matchConditions")
    for each in (*own, *mappings_at(spec, "webhookConfiguration", "matchConditions")):
        yield str(each.get("expression") or "")


def _not_in_background(spec: Body) -> bool:
    return mapping_at(spec, "evaluation", "background").get("enabled") is False


def _extends(one: RunnablePolicy) -> bool:
    """Return whether a policy is about Pods, so that Kyverno extends it to their controllers."""
    spec = mapping_at(one.policy.resource.body, "spec")
    rules = mappings_at(spec, "matchConstraints", "resourceRules")
    named = [str(name) for rule in rules for name in rule.get("resources") or ()]
    for block in _filters(spec):
        named += [str(kind) for kind in mapping_at(block, "resources").get("kinds") or ()]
    return any(each in ("Pod", "pods", "v1/Pod") for each in named)
