"""PolicyExceptions made of suppressions and of findings, so that Kyverno lets the objects pass,
too."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from chartkit.engine import RunnablePolicy
from chartkit.engine.kubernetes.kinds import CEL_GROUP, KYVERNO_GROUP, group_of
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Resource, RuleResult, Severity, Status
from chartkit.report.model import resource_id
from chartkit.scan.exceptions.model import TTL
from chartkit.scan.gate import has_suppressions, written_rule
from chartkit.scan.gate.selection import rule_names
from chartkit.scan.gate.suppressions import SUPPRESSION, Suppression, read_suppressions
from chartkit.scan.requests import Requests
from chartkit.scan.run import run_scan

_REASON: Final = "chartkit.dev/reason"
_KIND: Final = "PolicyException"
_REPLICA_SET: Final = "apps/v1/ReplicaSet"
_POD: Final = "v1/Pod"
_MADE: Final = {
    "Deployment": (_REPLICA_SET, _POD),
    "StatefulSet": (_POD,),
    "DaemonSet": (_POD,),
    "ReplicaSet": (_POD,),
    "ReplicationController": (_POD,),
    "Job": (_POD,),
    "CronJob": ("batch/v1/Job", _POD),
}
"""The objects that controllers make of an object, whose names begin with its own."""
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 63
_RULE = "finding"


@dataclass(frozen=True, slots=True)
class Exceptions:
    """The exceptions of a scan's suppressions; diagnostics: suppressions that do not hold, and
    suppressions that no exception can express."""

    bodies: tuple[Body, ...]
    diagnostics: tuple[Diagnostic, ...]


def exceptions_of(
    objects: Iterable[Resource],
    policies: Sequence[RunnablePolicy],
    today: date,
    namespace: str,
    are_allowed: bool = True,
) -> Exceptions:
    """Return an exception for each suppression that names one of the policies; namespace: of the
    exceptions; are_allowed: whether suppressions hold at all."""
    bodies: list[Body] = []
    diagnostics: list[Diagnostic] = []
    for resource in filter(has_suppressions, objects):
        suppressions, warnings = read_suppressions(resource, today, are_allowed)
        diagnostics += warnings
        for wanted in suppressions:
            named = [p for p in policies if wanted.policy in (p.policy.key, p.policy.id)]
            made = [exception_of(resource, wanted, policy, namespace) for policy in named]
            bodies += [body for body in made if body is not None]
            if None in made or not made:
                message = f"no exception is written: {wanted.policy} is none of the policies"
                hint = "name the policies that the cluster has with -p or --env"
                if made:
                    message = f"no exception is written: {wanted.policy} is not Kyverno's"
                    hint = "the API server runs it: narrow its binding"
                diagnostics.append(
                    Diagnostic(SUPPRESSION, Severity.WARNING, message, wanted.location, hint)
                )
    return Exceptions(tuple(bodies), tuple(diagnostics))


def exception_of(
    resource: Resource, suppression: Suppression, policy: RunnablePolicy, namespace: str
) -> Body | None:
    """Return the exception from one policy that corresponds to a suppression of an object, None
    where the policy's kind has no exceptions; namespace: of the exception."""
    group = group_of(policy.policy.resource)
    if group not in (KYVERNO_GROUP, CEL_GROUP):
        return None
    identity = (_own_kind(resource), resource.namespace, resource.name, policy.policy.id)
    digest = hashlib.sha256("\0".join((*identity, suppression.rule)).encode()).hexdigest()[:8]
    words = f"{policy.policy.name}-{resource.name}".lower()
    name = f"{_NOT_IN_NAMES.sub('-', words)[: _LONGEST - 9].strip('-')}-{digest}"
    metadata: Body = {"name": name, "namespace": namespace}
    if suppression.until is not None:
        after = suppression.until + timedelta(days=1)
        metadata["labels"] = {TTL: after.isoformat()}
    metadata["annotations"] = {_REASON: suppression.reason}
    is_cel = group == CEL_GROUP
    version = f"{CEL_GROUP}/v1" if is_cel else f"{KYVERNO_GROUP}/v2"
    spec = _cel_spec(resource, policy) if is_cel else _spec(resource, suppression, policy)
    return {"apiVersion": version, "kind": _KIND, "metadata": metadata, "spec": spec}


def _spec(resource: Resource, suppression: Suppression, policy: RunnablePolicy) -> Body:
    wanted = written_rule(suppression.rule)
    named = [name for name in rule_names(policy) if not wanted or wanted == written_rule(name)]
    blocks = [{"resources": _resources(resource, [_own_kind(resource)], resource.name)}]
    if kinds := _MADE.get(resource.kind):
        blocks.append({"resources": _resources(resource, list(kinds), f"{resource.name}-*")})
    return {
        "exceptions": [{"policyName": policy.policy.key, "ruleNames": named}],
        "match": {"any": blocks},
    }


def _resources(resource: Resource, kinds: list[str], name: str) -> Body:
    where = {"namespaces": [resource.namespace]} if resource.namespace else {}
    return {"kinds": kinds, **where, "names": [name]}


def _own_kind(resource: Resource) -> str:
    return f"{resource.api_version}/{resource.kind}"


def _cel_spec(resource: Resource, policy: RunnablePolicy) -> Body:
    # The object itself, and what controllers make of it, whose name an API server may still have to
    # generate.
    kind, name = _quoted(resource.kind), _quoted(resource.name)
    conditions = [f"object.kind == {kind} && object.metadata.?name.orValue('') == {name}"]
    made = [own.rpartition("/")[2] for own in _MADE.get(resource.kind, ())]
    if made:
        kinds = ", ".join(map(_quoted, made))
        names = (f"object.metadata.?{field}.orValue('')" for field in ("name", "generateName"))
        start = _quoted(f"{resource.name}-")
        starts = " || ".join(f"{field}.startsWith({start})" for field in names)
        conditions.append(f"object.kind in [{kinds}] && ({starts})")
    is_one = " || ".join(f"({condition})" for condition in conditions)
    where = f"object.metadata.?namespace.orValue('') == {_quoted(resource.namespace)}"
    return {
        "policyRefs": [{"name": policy.policy.name, "kind": policy.policy.resource.kind}],
        "matchConditions": [{"name": "object", "expression": f"{where} && ({is_one})"}],
    }


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def of_findings(requests: Requests, reason: str, until: date, namespace: str) -> Exceptions:
    """Return an exception for each object, policy and rule that fails; until: the last day on which
    they hold; namespace: of the exceptions."""
    by_id = {policy.policy.id: policy for policy in requests.policies.policies}
    bodies: dict[str, Body] = {}
    without: dict[str, Diagnostic] = {}

    def take(resource: Resource, results: Sequence[RuleResult]) -> None:
        for result in results:
            if result.status is not Status.FAIL or result.policy_id not in by_id:
                continue
            policy, rule = by_id[result.policy_id], written_rule(result.rule)
            suppression = Suppression(result.policy, rule, reason, until, resource.location)
            body = exception_of(resource, suppression, policy, namespace)
            if body is None:
                message = (
                    f"no exception is written for {resource_id(resource)}: {result.policy} is "
                )
                message += "not Kyverno's"
                hint = "the API server runs it: narrow its binding"
                location = resource.location
                without[message] = Diagnostic(_RULE, Severity.WARNING, message, location, hint)
            else:
                bodies[body["metadata"]["name"]] = body

    context = requests.context(requests.world())
    run_scan(requests.policies.policies, requests.objects, take, context)
    return Exceptions(tuple(bodies.values()), tuple(without.values()))


def annotated(bodies: Sequence[Body], annotations: Sequence[str]) -> Iterator[Body]:
    """Yield exceptions with further annotations (`NAME=VALUE`); raise InputError."""
    given: dict[str, str] = {}
    for annotation in annotations:
        name, equals, value = annotation.partition("=")
        if not equals or not name:
            raise InputError(f"'{annotation}' is not an annotation", hint="write NAME=VALUE")
        given[name] = value
    for body in bodies:
        metadata = body["metadata"]
        merged = {**metadata.get("annotations", {}), **given}
        yield {**body, "metadata": {**metadata, "annotations": merged}}
