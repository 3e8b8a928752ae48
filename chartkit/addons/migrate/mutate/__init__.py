"""Mutate rules and their loops, a patch of each element of a list; one module a way of patching. It
imports its parent's modules and `validate`'s patterns, for conditions in anchors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.presence import Known, empty_if
from chartkit.addons.migrate.expressions.verdict import disjunction
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.matching.scope import Condition, Scope
from chartkit.addons.migrate.mutate.fields import Mutation, object_field
from chartkit.addons.migrate.mutate.json_patch import json_patch
from chartkit.addons.migrate.mutate.loops import Loop, loop_of, some
from chartkit.addons.migrate.mutate.overlay import merged, merged_for_each
from chartkit.addons.migrate.mutate.patches import anchor_of, note_unused, plain_key, without_unread
from chartkit.addons.migrate.rule import ConvertedRule, asked_of_writes
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Literal, Select, StructLiteral, children
from chartkit.engine.cluster_policy import autogen
from chartkit.engine.cluster_policy.pattern.build import AnchorKind
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables import has_references
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.model import Body, Json

__all__ = ["convert_mutate", "converted_form", "mutations_of"]
_METADATA = "metadata"
_UNSAFE = ("object.", "Object.", "{", "}")

_SEVERAL: Final = re.compile(r"(request\.object(?:\.\w+)*)\.\[([\w, ]+)\]\s*\[\]")
_OBJECT: Final = "request.object."
_MERGE: Final = "patchStrategicMerge"
_JSON_PATCH: Final = "patchesJson6902"


def convert_mutate(rule: Rule, policy: Policy) -> ConvertedRule:
    """Return a mutate rule as mutations; raises `NotConvertible`.

    A rule about Pods whose new form Kyverno would extend to controllers in another way takes
    policies of its own for them.
    """
    own = converted_form(rule, policy.namespace)
    if not (own.scope.about_pods and autogen.controllers(policy)) or is_extended_alike(own):
        return own
    _, *extended = autogen.all_rules(replace(policy, rules=(rule,)))
    others = [replace(converted_form(form, policy.namespace), name=form.name) for form in extended]
    return replace(own, is_extended=False, others=tuple(others))


def converted_form(rule: Rule, namespace: str) -> ConvertedRule:
    """Return a rule as it stands; namespace: of a namespaced policy; empty for a ClusterPolicy."""
    if has_references(rule.body):
        raise NotConvertible("a reference to another part of the policy")
    body: Body = rule.mutate or {}
    about = asked_of_writes(rule, namespace)
    scope, context, conditions = about.scope, about.context, list(about.conditions)
    met = [row.expression for row in conditions if not isinstance(row.expression, str)]
    empty = empty_if(cel.all_of(met))
    mutations = mutations_of(body, scope, context.names, namespace, empty)
    several = {mutation.conditions for mutation in mutations}
    anchors = [condition for listed in several for condition in listed]
    if anchors and (len(several) > 1 or len(body.get("foreach") or ()) > 1):
        raise NotConvertible("anchors in one of several patches", "mutate/foreach")
    numbers = range(1, len(anchors) + 1)
    names = ["anchors"] if len(anchors) == 1 else [f"anchor-{number}" for number in numbers]
    conditions += map(Condition, names, anchors)
    spec: Body = {"mutations": [mutation.body for mutation in mutations]}
    if any(mutation.replaces for mutation in mutations):
        spec = {"evaluation": {"useServerSideApply": True}, **spec}
    return ConvertedRule(
        CelKind.MUTATING,
        scope,
        spec,
        tuple(conditions),
        tuple(context.used_in([*anchors, *(mutation.expression for mutation in mutations)])),
        changes=tuple(context.names.changes),
        assumed=scope.object.assumed or {},
    )


def mutations_of(
    body: Body, scope: Scope, names: Names, namespace: str, empty: Known
) -> list[Mutation]:
    """Return the mutations of a rule; empty: the lists that are empty where it applies."""
    if body.get(_MERGE) is not None:
        patch = without_unread(body[_MERGE], names, scope.kinds)
        note_unused(patch, names)
        return merged(patch, object_field(scope, scope.object, patch), names, empty=empty)
    if body.get(_JSON_PATCH):
        return [Mutation(json_patch(body[_JSON_PATCH], scope.object, names), is_json_patch=True)]
    if body.get("foreach"):
        return loop_mutations(body["foreach"], scope, names, namespace)
    raise NotConvertible("a mutate rule that says nothing", "mutate")


def is_extended_alike(rule: ConvertedRule) -> bool:
    """Report whether Kyverno's extension of the new form to the controllers of Pods says what that
    of the rule does.

    Kyverno's own extension of a MutatingPolicy wraps an `Object{…}` in the fields around a template
    and replaces `object.spec` as text. It leaves `Object.metadata`, JSON patches,
    `object.?metadata` and variables as they are, and counts braces in texts.
    """
    conditions = [condition.expression for condition in (*rule.scope.conditions, *rule.conditions)]
    if rule.variables or not all(map(_is_rewritten, conditions)):
        return False
    for mutation in rule.spec["mutations"]:
        applied = mutation.get("applyConfiguration")
        if applied is None or not _is_rewritten(applied["expression"]):
            return False
        if not isinstance(applied["expression"], StructLiteral):
            return False
    return True


def _is_rewritten(expression: Expr | str) -> bool:
    if isinstance(expression, str):
        return False
    return not any(_is_left(part) for part in _parts(expression))


def _is_left(part: Expr) -> bool:
    match part:
        case Literal(str() as text):
            return any(unsafe in text for unsafe in _UNSAFE)
        case Select(_, field):
            return field == _METADATA
        case StructLiteral(_, fields):
            return any(entry.field == _METADATA for entry in fields)
        case _:
            return False


def _parts(expression: Expr) -> Iterator[Expr]:
    yield expression
    parts: Iterable[Expr] = children(expression)
    for part in parts:
        yield from _parts(part)


def loop_mutations(
    foreach: Sequence[Body], scope: Scope, names: Names, namespace: str
) -> list[Mutation]:
    """Return the mutations of a foreach, one for each of its lists; raises `NotConvertible`.

    namespace: of a namespaced policy; empty for a ClusterPolicy.
    """
    return [
        mutation
        for at, body in enumerate(foreach)
        for mutation in _mutations(body, scope, names, namespace, f"mutate/foreach/{at}")
    ]


def _mutations(body: Body, scope: Scope, names: Names, namespace: str, path: str) -> list[Mutation]:
    if body.get(_MERGE) is not None:
        return _merges(body, scope, names, namespace, path)
    loops: list[Loop] = []
    while True:
        loops.append(loop_of(body, names, namespace, len(loops)))
        names = loops[-1].names
        nested = body.get("foreach")
        if not nested:
            break
        path = f"{path}/foreach/0"
        if len(nested) > 1:
            raise NotConvertible("several lists of a foreach in a foreach", path)
        (body,) = nested
    if not body.get(_JSON_PATCH):
        raise NotConvertible("a foreach in a foreach that merges, or one without a patch", path)
    patch = json_patch(body[_JSON_PATCH], scope.object, names, loops)
    return [Mutation(patch, is_json_patch=True)]


def _merges(body: Body, scope: Scope, names: Names, namespace: str, path: str) -> list[Mutation]:
    """Return the mutations of a loop with strategic merges."""
    patch = without_unread(body[_MERGE], names, scope.kinds)
    if body.get("order") == "Ascending":
        raise NotConvertible("a foreach in ascending order turns lists round", f"{path}/order")
    loops = [
        loop_of({**body, "list": list_}, names, namespace)
        for list_ in _lists(str(body.get("list") or "").strip(), patch)
    ]
    by_path = {loop.path: loop for loop in loops}
    patched = dict(_lists_in(patch))
    note_unused(patch, loops[0].names)
    whole = object_field(scope, scope.object, patch)
    if not patched.keys() & by_path.keys():
        (loop,) = loops
        return merged_for_each(patch, whole, loop)
    mutations = merged(patch, whole, names, by_path)
    if set(_leaves(patch)) <= by_path.keys():
        return mutations
    # What is outside of the lists is patched where there is an element.
    needed = disjunction(*(some([loop]) for loop in loops))
    if needed == cel.TRUE:
        return mutations
    return [replace(mutation, conditions=(*mutation.conditions, needed)) for mutation in mutations]


def _lists(text: str, patch: Json) -> list[str]:
    """Return the lists of a loop: of several lists joined, each by itself of which the patch names
    the elements by an anchor, for names of containers are unique."""
    several = _SEVERAL.fullmatch(text)
    if several is None:
        return [text]
    patched = {path for path, element in _lists_in(patch) if "(name)" in element}
    named = [f"{several[1]}.{list_.strip()}" for list_ in several[2].split(",")]
    lists = [f"{list_}[]" for list_ in named if list_.removeprefix(_OBJECT) in patched]
    return lists or [text]


def _lists_in(patch: Json, path: str = "") -> Iterator[tuple[str, Body]]:
    """Yield the lists of a patch that have one object, each by its path, and the object."""
    match patch:
        case dict():
            for key, value in patch.items():
                yield from _lists_in(value, f"{path}.{key}" if path else key)
        case [dict() as element]:
            yield path, element


def _leaves(patch: Json, path: str = "") -> Iterator[str]:
    """Yield the paths of the values of a patch, conditions aside; a list is one."""
    if not isinstance(patch, dict):
        yield path
        return
    for written, value in patch.items():
        anchor = anchor_of(written)
        if anchor is None or anchor.kind is AnchorKind.ADDITION:
            key = plain_key(written)
            yield from _leaves(value, f"{path}.{key}" if path else key)
