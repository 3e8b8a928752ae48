"""Rules `mutate` with `targets`: existing objects that change when a trigger does.

Kyverno asks the expression of `targetMatchConstraints` for them once for each trigger, which
mutations see as `request.object`, while `object` is a target. With resource rules alone it would
change the targets in every background scan, whether or not there is a trigger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conditions import conditions_hold
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import NO_SCANS, NO_TARGET, POLICY_EVENTS
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import object_of
from chartkit.addons.migrate.expressions.presence import NOTHING, fits
from chartkit.addons.migrate.expressions.verdict import as_bool
from chartkit.addons.migrate.jmespath import Names, Value
from chartkit.addons.migrate.matching.facts import operations_in
from chartkit.addons.migrate.matching.scope import (
    WRITES,
    Scope,
    names_of,
    operations_of,
    scope_of,
    written_or_connected,
)
from chartkit.addons.migrate.mutate import converted_form, mutations_of
from chartkit.addons.migrate.rule import (
    ConvertedRule,
    context_of,
    preconditions_of,
    with_entries,
)
from chartkit.addons.migrate.texts import text_expression
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy import autogen
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables import has_variable
from chartkit.engine.kubernetes.field_faults import known_kinds
from chartkit.engine.kubernetes.kinds import (
    CelKind,
    GroupVersionKind,
    is_cluster_scoped,
    resource_name,
)
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.model import Body

_OBJECT: Final = ("request", "object")
_ON_UPDATE: Final = "mutateExistingOnPolicyUpdate"
_PATH: Final = "mutate/targets/0"


def convert_targets(rule: Rule, policy: Policy) -> ConvertedRule:
    """Return a rule with targets as policies that change them, one for each target and for each
    form of the rule for controllers; raises `NotConvertible`."""
    forms = autogen.all_rules(replace(policy, rules=(rule,)))
    own, *others = (made for form in forms for made in _of_form(form, form.mutate or {}, policy))
    is_extended = not own.scope.about_pods
    return replace(own, name="", is_extended=is_extended, others=tuple(others))


def _of_form(form: Rule, body: Body, policy: Policy) -> Iterator[ConvertedRule]:
    if not body.get("targets"):
        # Kyverno's forms of a merge for controllers patch these, and no targets.
        yield replace(converted_form(form, policy.namespace), name=form.name)
    for number, target in enumerate(body.get("targets") or (), 1):
        own = _converted(replace(form, mutate={**body, "targets": [target]}), policy)
        yield replace(own, name=form.name if number == 1 else f"{form.name}-{number}")


def _converted(rule: Rule, policy: Policy) -> ConvertedRule:
    body: Body = rule.mutate or {}
    if not all(str(loop.get("list")).startswith("target.") for loop in body.get("foreach") or ()):
        raise NotConvertible("existing objects patched for each element of the trigger's lists")
    stated = operations_in(rule.preconditions)
    scope = scope_of(rule, written_or_connected(rule, stated.allowed))
    if not operations_of(scope) <= set(WRITES):
        reason = "existing objects that change when a trigger is deleted or connected to"
        raise NotConvertible(reason, "match")
    trigger = replace(scope.object, root=cel.path(*_OBJECT))
    names = names_of(scope, is_extended=False).with_object(Value(trigger))
    context = context_of(rule.context, names, policy.namespace)
    target = _target(body, context.names, policy.namespace)
    mutations = mutations_of(body, target.scope, target.names, policy.namespace, NOTHING)
    expressions = [mutation.expression for mutation in mutations]
    anchors = dict.fromkeys(test for mutation in mutations for test in mutation.conditions)
    tests = [*target.tests, *anchors]
    spec: Body = {
        "evaluation": {"mutateExisting": {"enabled": True}},
        "targetMatchConstraints": {**target.scope.constraints, "expression": target.objects},
    }
    if any(mutation.replaces for mutation in mutations):
        spec["evaluation"]["useServerSideApply"] = True
    if tests:
        spec["targetMatchConditions"] = [
            {"name": f"target-{number}", "expression": as_bool(test)}
            for number, test in enumerate(tests, 1)
        ]
    spec["mutations"] = [mutation.body for mutation in mutations]
    on_update = body.get(_ON_UPDATE, policy.resource.body["spec"].get(_ON_UPDATE))
    names.note(NO_SCANS if on_update else POLICY_EVENTS)
    return ConvertedRule(
        CelKind.MUTATING,
        scope,
        spec,
        preconditions_of(stated, context),
        tuple(context.used_in([target.objects, *tests, *expressions])),
        changes=tuple(names.changes),
        assumed={**(scope.object.assumed or {}), **(target.scope.object.assumed or {})},
    )


@dataclass(frozen=True, slots=True)
class _Target:
    """The objects that are changed.

    objects: one, or a list of them; tests: what one of them must meet; scope: their kind; names:
    what an expression about one of them knows.
    """

    objects: Expr
    tests: Sequence[Expr]
    scope: Scope
    names: Names


def _target(body: Body, names: Names, namespace: str) -> _Target:
    (written,) = body["targets"]
    if written.get("uid"):
        raise NotConvertible("a target by its uid", _PATH)
    api_version, kind = str(written.get("apiVersion") or ""), str(written.get("kind") or "")
    if any(has_variable(text) or has_wildcard(text) for text in (api_version, kind)):
        raise NotConvertible("a target whose kind is not written out", _PATH)
    if not api_version or "/" in kind:
        raise NotConvertible("a target without a version, or that is a part of an object", _PATH)
    group, _, version = api_version.rpartition("/")
    gvk = GroupVersionKind(group, version, kind)
    rule = {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": ["*"],
        "resources": [resource_name(kind)],
    }
    kinds = (gvk,) if gvk in known_kinds() else ()
    scope = Scope({"resourceRules": [rule]}, (), kinds, object_of(kinds))
    objects, tests = _objects(written, scope, names, namespace)
    names = names.with_others(target=Value(scope.object))
    names = with_entries(written.get("context"), names, namespace)
    if written.get("preconditions") is not None:
        tests.append(conditions_hold(written["preconditions"], names))
    return _Target(objects, tests, scope, names)


def _objects(written: Body, scope: Scope, names: Names, namespace: str) -> tuple[Expr, list[Expr]]:
    """Return the expression that reads the targets, and tests of names with wildcards."""
    (rule,) = scope.constraints["resourceRules"]
    api_version, resource = str(written["apiVersion"]), rule["resources"][0]
    name, place = str(written.get("name") or ""), str(written.get("namespace") or "")
    is_clustered = bool(scope.kinds) and is_cluster_scoped(scope.kinds[0])
    where = [] if namespace else [text_expression("" if is_clustered else place, names)]
    tests: list[Expr] = []
    metadata = scope.object.child("metadata")
    if has_wildcard(place):
        tests.append(fits(metadata.child("namespace").settled().value, place))
        where = [cel.literal("")]
    client, arguments = cel.ident("resource"), (api_version, resource, *where)
    if name and (place or is_clustered) and not has_wildcard(name) and not has_wildcard(place):
        names.note(NO_TARGET)
        return cel.method(client, "Get", *arguments, text_expression(name, names)), tests
    if has_wildcard(name) and not has_variable(name):
        tests.append(fits(metadata.child("name").value, name))
    elif name:
        tests.append(cel.equal(metadata.child("name").value, text_expression(name, names)))
    selector: Body = written.get("selector") or {}
    if selector.keys() - {"matchLabels"} or has_wildcard(str(selector)):
        raise NotConvertible("targets that are selected by expressions", _PATH)
    labels = [cel.map_of(selector["matchLabels"])] if selector.get("matchLabels") else []
    return cel.method(client, "List", *arguments, *labels), tests
