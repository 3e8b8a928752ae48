"""CleanupPolicy and ClusterCleanupPolicy as DeletingPolicy and NamespacedDeletingPolicy."""

from __future__ import annotations

from chartkit.addons.migrate.acceptance import REFUSED
from chartkit.addons.migrate.assembly import API_VERSION, metadata_of, text
from chartkit.addons.migrate.conditions import blocks_hold
from chartkit.addons.migrate.conversion import (
    CLEANUP,
    Conversion,
    NotConvertible,
    RuleOutcome,
    left,
)
from chartkit.addons.migrate.differences import described
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.build import NoLiteralError
from chartkit.addons.migrate.expressions.place import TEXT
from chartkit.addons.migrate.jmespath import Names, Value
from chartkit.addons.migrate.jmespath.terms import computed
from chartkit.addons.migrate.matching.facts import ObjectFacts, blocks_of
from chartkit.addons.migrate.matching.scope import Condition, Scope, scope_of_objects
from chartkit.addons.migrate.rule import Context, context_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cleanup import read_cleanup_policy
from chartkit.engine.cluster_policy.conditions.parse import Blocks
from chartkit.engine.cluster_policy.policy import read_match
from chartkit.engine.kubernetes.kinds import CLEANUP_KINDS, NAMESPACED, CelKind
from chartkit.model import Body, Resource

__all__ = ["CLEANUP_KINDS", "convert_cleanup"]


def convert_cleanup(legacy: Resource) -> Conversion:
    """Convert a cleanup policy; raises CompileError for one that Kyverno refuses."""
    policy = read_cleanup_policy(legacy)
    if policy.diagnostics:
        return _left(legacy, NotConvertible(f"{REFUSED}: {policy.diagnostics[0].message}"))
    try:
        scope, body = _converted(legacy)
    except NotConvertible as reason:
        return _left(legacy, reason)
    except NoLiteralError as error:
        return _left(legacy, NotConvertible(str(error)))
    kind = f"{NAMESPACED}{CelKind.DELETING}" if policy.namespace else str(CelKind.DELETING)
    document: Body = {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": metadata_of(legacy, policy.name, policy.namespace),
        "spec": body,
    }
    assumed = scope.object.assumed or {}
    said = described(assumed)
    outcome = RuleOutcome(
        "",
        CLEANUP,
        legacy.location,
        (f"{kind}/{legacy.name}",),
        remarks=(said,) if said else (),
        assumed=assumed,
    )
    return Conversion(legacy, (document,), (outcome,))


def _left(legacy: Resource, reason: NotConvertible) -> Conversion:
    return Conversion(legacy, (), (left(legacy, CLEANUP, reason),), legacy.body)


def _converted(legacy: Resource) -> tuple[Scope, Body]:
    spec: Body = legacy.body["spec"]
    exclude = spec.get("exclude")
    scope = scope_of_objects(
        read_match(spec["match"]), None if exclude is None else read_match(exclude)
    )
    namespace = legacy.namespace if legacy.kind == "CleanupPolicy" else ""
    context = context_of(spec.get("context"), names_of_objects(scope), namespace)
    tests = _conditions(spec.get("conditions"), context)
    conditions = list(scope.conditions)
    if tests:
        conditions.append(Condition("conditions", cel.all_of(tests)))
    variables = context.used_in(tests)
    made: Body = {"schedule": spec["schedule"], "matchConstraints": scope.constraints}
    for key, named in (("variables", variables), ("conditions", conditions)):
        if named:
            made[key] = [{"name": row.name, "expression": text(row.expression)} for row in named]
    if spec.get("deletionPropagationPolicy"):
        made["deletionPropagationPolicy"] = spec["deletionPropagationPolicy"]
    return scope, made


def _conditions(body: Body | None, context: Context) -> list[Expr]:
    """Return conditions as the cleanup controller reads them: all of `all`, one of `any` unless
    that is empty."""
    if body is None:
        return []
    parsed = blocks_of(body)
    tests = [blocks_hold(Blocks(None, (row,)), context.names) for row in parsed.all or ()]
    return [*tests, blocks_hold(Blocks(parsed.any, ()), context.names)] if parsed.any else tests


def names_of_objects(scope: Scope) -> Names:
    """Return the names that a cleanup policy's conditions see."""
    namespace = ObjectFacts(known=scope.kinds).own_namespace
    return Names(
        {
            ("target",): Value(scope.object),
            ("request", "namespace"): computed(namespace, TEXT),
        }
    )
