"""Differences that have one cause, and requests that are one but for what holds a Pod."""

from __future__ import annotations

from chartkit.addons.migrate.proof.forms import Said
from chartkit.addons.migrate.proof.model import Aspect
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.kinds import TEMPLATED
from chartkit.engine.cel_policies.kinds.validating import INDEX
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.model import Body, Resource, Status, mapping_at


def signature(aspect: Aspect, case: Case, legacy: Said, new: Said) -> tuple[object, ...]:
    """Return what tells one difference from another: the aspect, and who said what."""
    rules = tuple(
        (_written(one.rule), one.status) for one in legacy.results if one.status is not Status.PASS
    )
    policies = tuple(
        (one.policy_id, one.status, one.properties.get(INDEX))
        for one in new.results
        if one.status is not Status.PASS
    )
    about = (case.is_background, case.document.get("operation"))
    return (aspect, *about, legacy.answer.result, new.answer.result, rules, policies)


def _written(rule: str) -> str:
    return rule.removeprefix("autogen-cronjob-").removeprefix("autogen-")


def as_pod(case: Case) -> Body:
    """Return a request with the Pod of a controller in its place."""
    body = case.document["object"]
    template = TEMPLATED.get(kind_of(Resource(body)))
    if template is None:
        return case.document
    pod: Body = {**mapping_at(body, *template), "apiVersion": "v1", "kind": "Pod"}
    return {**case.document, "object": {**pod, "metadata": body["metadata"]}}
