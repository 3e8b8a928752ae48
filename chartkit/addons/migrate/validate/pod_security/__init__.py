"""`validate.podSecurity`: the Pod Security Standards as Kyverno checks them, fact by fact in CEL.

The checks stay those of the version that the rule names; of `latest`, those of Kyverno 1.19.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import JOB_ANNOTATIONS, LATEST_STANDARD
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.verdict import disjunction
from chartkit.addons.migrate.rule import ConvertedRule, asked_of_writes
from chartkit.addons.migrate.validate.extension import require_one_extension
from chartkit.addons.migrate.validate.pod_security import checks, profiles
from chartkit.addons.migrate.validate.pod_security.checks import Fact, exclusion
from chartkit.addons.migrate.validate.pod_security.pod import PodPlaces, pod_of
from chartkit.engine.cluster_policy import autogen
from chartkit.engine.cluster_policy.podsecurity.checks import CONTROL_OF, versions_of_checks
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.kubernetes.kinds import CRON_JOB, CelKind
from chartkit.model import Body

_FACTS: Final = {**checks.BY_ID, **profiles.BY_ID}
_LATEST: Final = ("", "latest")


def convert_pod_security(rule: Rule, policy: Policy) -> ConvertedRule:
    """Return a rule with `validate.podSecurity` as validations; raises `NotConvertible`."""
    require_one_extension(rule, policy)
    about = asked_of_writes(rule, policy.namespace, "it names operations that have no Pod to judge")
    scope = about.scope
    pod = pod_of(scope.object, scope.carried)
    body: Body = rule.validate.pod_security or {}
    facts: list[Fact] = []
    for fact in _facts(body, pod):
        if fact.expression != cel.TRUE and not _is_implied(fact, facts, pod):
            facts.append(fact)
    if not facts:
        raise NotConvertible("every control is excluded", "validate/podSecurity/exclude")
    level, version = body.get("level") or "", body.get("version") or ""
    broken = f'It violates PodSecurity "{level}:{version}": '
    expressions = [fact.expression for fact in facts]
    validations = [
        {"message": f"{broken}{fact.message}.", "expression": fact.expression} for fact in facts
    ]
    changes = [LATEST_STANDARD] if version in _LATEST else []
    if scope.about_pods and CRON_JOB in autogen.controllers(policy):
        changes.append(JOB_ANNOTATIONS)
    return ConvertedRule(
        CelKind.VALIDATING,
        scope,
        {"validations": validations},
        about.conditions,
        pod.variables(expressions),
        changes=(*changes, *about.context.names.changes),
        background=about.stated.background,
    )


def _is_implied(fact: Fact, facts: Sequence[Fact], pod: PodPlaces) -> bool:
    """Report whether a fact is there already, perhaps of Pods for Windows as well."""
    return any(
        fact.expression in (other.expression, disjunction(pod.is_windows, other.expression))
        for other in facts
    )


def _facts(body: Body, pod: PodPlaces) -> Iterator[Fact]:
    try:
        versions = versions_of_checks(body.get("level") or "", body.get("version") or "")
    except ValueError as error:
        raise NotConvertible(f"the version {error}", "validate/podSecurity/version") from None
    for check, since in versions.items():
        control = CONTROL_OF.get(check)
        exclusions = tuple(
            exclusion(entry)
            for entry in body.get("exclude") or ()
            if control is not None and entry["controlName"] == control
        )
        yield from _FACTS[check](pod, exclusions, since)
