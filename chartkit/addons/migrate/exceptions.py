"""PolicyExceptions of kyverno.io as exceptions from the policies that took over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.assembly import API_VERSION, Made, assemble, metadata_of, text
from chartkit.addons.migrate.conditions import conditions_hold
from chartkit.addons.migrate.conversion import (
    EXCEPTION,
    Conversion,
    NotConvertible,
    RuleOutcome,
    left,
)
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import object_of
from chartkit.addons.migrate.expressions.presence import fits_any, reads_absent
from chartkit.addons.migrate.expressions.verdict import as_bool
from chartkit.addons.migrate.matching.scope import (
    Condition,
    Scope,
    excepted,
    names_of,
    operations_of,
    scope_of,
)
from chartkit.addons.migrate.rule import ConvertedRule
from chartkit.addons.migrate.validate.extension import about_objects
from chartkit.addons.migrate.validate.pod_security import convert_pod_security
from chartkit.engine.cel.syntax.tree import Ident, count
from chartkit.engine.cluster_policy import autogen
from chartkit.engine.cluster_policy.exceptions import PolicyException, read_exception
from chartkit.engine.cluster_policy.match import bind_match, compile_kinds
from chartkit.engine.cluster_policy.policy import Policy, Rule, read_policy
from chartkit.engine.kubernetes.kinds import (
    CONTROLLERS,
    KYVERNO_GROUP,
    CelKind,
    GroupVersionKind,
    group_of,
)
from chartkit.model import Body, Resource

KIND: Final = "PolicyException"
_CONTROLLERS: Final = tuple(
    GroupVersionKind(each.group, each.version, each.kind) for each in CONTROLLERS
)


@dataclass(frozen=True, slots=True)
class Takeover:
    """A policy and the documents that took over its rules; left: the rules that are left."""

    policy: Policy
    documents: tuple[tuple[Body, tuple[Made, ...]], ...]
    left: tuple[Rule, ...] = ()


Takeovers = Callable[[str], Takeover]
"""From a policy's name or `namespace/name` to what took over; raises `NotConvertible`."""


def names_by_kind(policy: Policy, rule: Rule) -> Mapping[GroupVersionKind | None, frozenset[str]]:
    """Return the names under which results of a rule are reported, by the kinds that it is
    extended to; None: those of all other kinds."""
    allowed = autogen.controllers(policy)
    only = replace(policy, rules=(rule,))
    names: dict[GroupVersionKind | None, frozenset[str]] = {None: frozenset((rule.name,))}
    for kind in _CONTROLLERS:
        reported = frozenset(
            extended.name
            for extended in autogen.rules_for_kind(only, allowed, kind.kind)
            if bind_match(extended.match, extended.exclude, "", kind, "")
        )
        if reported and reported != names[None]:
            names[kind] = reported
    return names


def excepting(
    policy: Policy, rule: Rule, exceptions: Iterable[PolicyException]
) -> frozenset[tuple[str, str]]:
    """Return the exceptions that name a rule, each with the kind for which it does, empty for those
    that it is not extended to: rules of which they differ do not share a policy."""
    return frozenset(
        (exception.key, kind.kind if kind is not None else "")
        for exception in exceptions
        for kind, names in names_by_kind(policy, rule).items()
        if any(exception.names(policy.key, name) for name in names)
    )


def convert_exception(legacy: Resource, takeovers: Takeovers) -> Conversion:
    """Convert a PolicyException; raises CompileError for one that Kyverno refuses.

    Where it names rules that are not converted it stays for these, next to the new one.
    """
    exception = read_exception(legacy)
    parts: list[_Part] = []
    judging: list[Body] = []
    stays: list[NotConvertible] = []
    for policy in dict.fromkeys(entry.policy for entry in exception.excepted):
        try:
            takeover = takeovers(policy)
            stays += (
                NotConvertible(f"rule {rule.name} of {policy} is not converted", "exceptions")
                for rule in takeover.left
                if excepting(takeover.policy, rule, [exception])
            )
            for body, rules in takeover.documents:
                conditions = _conditions(legacy, exception, takeover.policy, rules)
                if conditions is None:
                    continue
                if exception.pod_security:
                    judging += _judging(exception, legacy, takeover.policy, rules, conditions)
                parts.append(_Part(body["kind"], body["metadata"]["name"], tuple(conditions)))
        except NotConvertible as reason:
            stays.append(reason)
    if not parts and not stays:
        stays.append(NotConvertible("it takes no object of the policies it names", "exceptions"))
    documents = (*_documents(legacy, parts), *judging)
    names = tuple(f"{document['kind']}/{document['metadata']['name']}" for document in documents)
    if stays:
        outcome = replace(left(legacy, EXCEPTION, stays[0]), replaced_by=names)
        return Conversion(legacy, documents, (outcome,), legacy.body)
    location = replace(legacy.location, path="")
    return Conversion(legacy, documents, (RuleOutcome("", EXCEPTION, location, names),))


def exceptions_in_cel(
    legacy: Resource,
    body_of: Callable[[str], Body],
    objects_of: Callable[[str], Sequence[tuple[str, str]]],
) -> tuple[Sequence[Body], str]:
    """Return a PolicyException for policies in CEL, and the reason where there is none.

    body_of: returns the policy of a name as it is written; objects_of: returns the kinds and names
    of the objects that took over. Raises CompileError for an exception that Kyverno refuses.
    """

    def takeover(name: str) -> Takeover:
        source = Resource(body_of(name))
        if group_of(source) != KYVERNO_GROUP:
            raise NotConvertible(f"{name} is a {source.kind}, and has no rules", "exceptions")
        policy = read_policy(source)
        made = tuple(
            Made(rule, ConvertedRule(CelKind.VALIDATING, scope_of(rule), {}), "")
            for rule in policy.rules
        )
        bodies = [
            ({"kind": kind, "metadata": {"name": each}}, made) for kind, each in objects_of(name)
        ]
        return Takeover(policy, tuple(bodies))

    if read_exception(legacy).pod_security:
        return (), "it lifts single controls of pod security"
    conversion = convert_exception(legacy, takeover)
    reason = next((outcome.reason for outcome in conversion.outcomes if outcome.reason), "")
    return conversion.documents, reason


@dataclass(frozen=True, slots=True)
class _Part:
    """A policy that is named, and the conditions under which the exception lifts it."""

    kind: str
    name: str
    conditions: tuple[Condition, ...]


def _judging(
    exception: PolicyException,
    legacy: Resource,
    policy: Policy,
    rules: Sequence[Made],
    conditions: Sequence[Condition],
) -> list[Body]:
    """Return the policies that judge the objects of an exception, without the controls that it
    lifts; raises `NotConvertible`."""
    judging: list[Made] = []
    where = about_objects(replace(each, name=f"excepted-{each.name}") for each in conditions)
    for made in rules:
        body = made.rule.validate.pod_security
        if body is None:
            reason = f"it lifts controls of pod security, and rule {made.rule.name} has none"
            raise NotConvertible(reason, "podSecurity")
        lifted = [*(body.get("exclude") or ()), *exception.pod_security]
        checks = made.rule.validate._replace(pod_security={**body, "exclude": lifted})
        rule = replace(made.rule, validate=checks)
        converted = convert_pod_security(rule, policy)
        judging.append(replace(made, rule=rule, converted=converted, where=(*made.where, *where)))
    named = replace(policy, name=f"{policy.name}-{legacy.name}")
    return [body for body, _ in assemble(named, judging)]


def _conditions(
    legacy: Resource, exception: PolicyException, policy: Policy, rules: Sequence[Made]
) -> list[Condition] | None:
    """Return the conditions under which an exception lifts a policy, None where it never does."""
    covered = [_coverage(exception, policy, rule) for rule in rules]
    if any(kinds != covered[0] for kinds in covered):
        raise NotConvertible("it names some rules of a policy for some kinds", "exceptions")
    kinds, named, is_named = covered[0]
    if not is_named:
        return None
    conditions: list[Condition] = []
    if policy.namespace:
        here = cel.equal(cel.path("request", "namespace"), policy.namespace)
        conditions.append(Condition("namespace", here))
    if any(_may_match(exception, kind) for kind in kinds if kind not in named):
        of_kind = fits_any(cel.path("request", "kind", "kind"), [kind.kind for kind in named])
        conditions.append(Condition("kinds", of_kind))
        kinds = named
    matched = excepted(exception.match, kinds)
    if matched == cel.FALSE:
        return None
    if matched != cel.TRUE:
        conditions.append(Condition("match", matched))
    scope = replace(rules[0].converted.scope, kinds=kinds, object=object_of(kinds))
    conditions += _own_conditions(legacy, scope)
    if "DELETE" in operations_of(scope):
        for condition in conditions:
            expression = condition.expression
            if not isinstance(expression, str) and count(expression, Ident("object")):
                raise NotConvertible("the policy speaks of deletions, which have no object")
    return conditions


def _coverage(
    exception: PolicyException, policy: Policy, made: Made
) -> tuple[tuple[GroupVersionKind, ...], tuple[GroupVersionKind, ...], bool]:
    """Return the kinds that a rule is about, its extensions among them, those for which an
    exception names it, and whether it names it for any."""
    by_kind = names_by_kind(policy, made.rule)
    own = made.converted.scope.kinds

    def is_named(kind: GroupVersionKind | None) -> bool:
        names = by_kind.get(kind, by_kind[None])
        return all(exception.names(policy.key, name) for name in names)

    extensions = filter(None, by_kind) if made.converted.is_extended else ()
    kinds = tuple(dict.fromkeys((*own, *extensions))) if own else ()
    if not kinds:
        return (), (), is_named(None)
    named = tuple(filter(is_named, kinds))
    return kinds, named, bool(named)


def _may_match(exception: PolicyException, kind: GroupVersionKind) -> bool:
    filters = (*exception.match.any, *exception.match.all)
    return any(not filter_.kinds or compile_kinds(filter_.kinds)(kind, "") for filter_ in filters)


def _own_conditions(legacy: Resource, scope: Scope) -> list[Condition]:
    body = legacy.body["spec"].get("conditions")
    if body is None:
        return []
    test = conditions_hold(body, names_of(scope))
    absent = reads_absent(test, scope.object)
    if absent:
        raise NotConvertible(
            f"{absent} may be absent, and Kyverno passes over an exception then: give it a "
            "default, as in {{ … || '' }}",
            "conditions",
        )
    return [Condition("conditions", as_bool(test))]


def _documents(legacy: Resource, parts: Sequence[_Part]) -> Iterator[Body]:
    """Yield an exception for each set of conditions, with the policies that share it."""
    shared: dict[tuple[Condition, ...], list[_Part]] = {}
    for part in parts:
        shared.setdefault(part.conditions, []).append(part)
    for number, (conditions, named) in enumerate(shared.items(), 1):
        name = legacy.name if number == 1 else f"{legacy.name}-{number}"
        spec: Body = {"policyRefs": [{"kind": ref.kind, "name": ref.name} for ref in named]}
        if conditions:
            spec["matchConditions"] = [
                {"name": entry.name, "expression": text(entry.expression)} for entry in conditions
            ]
        yield {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": metadata_of(legacy, name, legacy.namespace),
            "spec": spec,
        }
