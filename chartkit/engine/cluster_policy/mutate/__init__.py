"""Mutation: strategic merge, JSON patches, foreach and existing targets, as in Kyverno 1.19."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.budget import PATCH, Budget, check_object
from chartkit.engine.cluster_policy.conditions.blocks import Conditions
from chartkit.engine.cluster_policy.foreach import Loop, compile_loop, each_element
from chartkit.engine.cluster_policy.handler import Handler, compile_scope
from chartkit.engine.cluster_policy.mutate.anchors import HANDLED, applicable, decide, has_anchors
from chartkit.engine.cluster_policy.mutate.json_patch import compile_json_patch
from chartkit.engine.cluster_policy.mutate.merge import merge
from chartkit.engine.cluster_policy.mutate.workspace import Patch, Workspace
from chartkit.engine.cluster_policy.pattern.build import weight_of
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.context.entries import ContextEntries
from chartkit.engine.context.variables import SubstitutionError, Template, compile_template
from chartkit.engine.json_patch import PatchError, copied, second_key
from chartkit.engine.kubernetes.kinds import parse_api_version
from chartkit.engine.kubernetes.selectors import read_selector
from chartkit.engine.ports.services import Cluster, ObjectKey
from chartkit.engine.request import Operation, Request
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.engine.why import Asked, Decision
from chartkit.errors import ChartkitError, EvaluationError, Reraise
from chartkit.go.fmt import go_json
from chartkit.go.strconv import has_float64, mark_literals, quote
from chartkit.go.types import kind_of
from chartkit.model import Body, Json, Resource, RuleResult, RuleType, Status, same


def compile_mutate(rule: Rule, policy: Policy) -> Handler:
    """The handler of a rule that mutates the object of the request.

    An error leaves an empty object behind: no later rule of the request sees anything.
    """
    patch = compile_patch(rule, policy)

    def handle(context: Context, request: Request) -> RuleResult | None:
        # What is deleted is the old object: there is no new one to be changed.
        body = {} if request.operation is Operation.DELETE else request.resource.body
        work = Workspace(context.budget)
        if context.recorder is not None:
            work.unmet = []
        done = patch(context.child(), body, work)
        if context.recorder is not None:
            for anchor in work.unmet or ():
                location = context.recorder.sources.at("mutate")
                text = f"the patch does not apply: {anchor}"
                context.recorder.add(Decision(Asked.PATTERN, False, text, location))
        patched = None if done.status is Status.SKIP else as_json(done.body)
        return RuleResult(
            policy.key, rule.name, RuleType.MUTATION, done.status, describe(done), patched=patched
        )

    return handle


def compile_patch(rule: Rule, policy: Policy) -> Patcher:
    blocks = (rule.mutate or {}).get("foreach")
    if blocks is None:
        mutate = {key: value for key, value in (rule.mutate or {}).items() if key != "foreach"}
        body = {
            "context": list(rule.context),
            "mutate": mutate,
            "preconditions": rule.preconditions,
        }
        return _patcher(body, lambda resolved: resolved["mutate"], _wrong_text)
    return compile_foreach(blocks, rule, policy)


def describe(done: Patched) -> str:
    """The message of a result."""
    if done.status is not Status.PASS:
        return done.message
    resource = Resource(done.body)
    text = f"mutated {resource.kind}/{resource.name}"
    return f"{text} in namespace {resource.namespace}" if resource.namespace else text


_VERSION: Final = re.compile(r"v[0-9]((alpha|beta)[0-9])?|\*")
_SELECTED_BY: Final = ("apiVersion", "kind", "namespace", "name", "selector")


@dataclass(frozen=True, slots=True)
class _Target:
    """One entry of `targets`. selected: what names the objects, variables and all."""

    selected: Template
    entries: ContextEntries
    preconditions: Conditions | None


def compile_mutate_existing(rule: Rule, policy: Policy) -> Handler:
    """The handler of a rule that mutates existing objects; one result for each of them.

    It asks the world for the cluster. A policy of a namespace reaches that namespace alone.
    """
    mutate: Body = rule.mutate or {}
    targets = [_compile_target(body, rule, policy) for body in mutate["targets"]]
    patch = compile_patch(rule, policy)
    shows_target = mutate.get("foreach") is None

    def handle(context: Context, _request: Request) -> RuleResult | None:
        context = context.child()
        cluster = context.world.api.cluster(policy.key, rule.name)
        errors: list[str] = []
        chosen: list[tuple[_Target, Body]] = []
        for index, target in enumerate(targets):
            try:
                with Reraise(f"failed to substitute variables in target[{index}]: "):
                    selected: Body = target.selected.resolve(context)
                for key, value in selected.items():
                    if key != "selector" and not isinstance(value, str):
                        raise EvaluationError(
                            f"the {key} of target[{index}] didn't resolve to a string"
                        )
                bodies = _find(selected, policy.namespace, cluster)
            except ChartkitError as error:
                errors.append(error.message)
            else:
                chosen += [(target, body) for body in bodies]
        done = [Patched(Status.ERROR, {}, f": {'; '.join(errors)}")] if errors else []
        for target, body in chosen:
            context.set("target", body)
            seen = body if shows_target else mark_literals(body)
            patched = unmet(target.entries, target.preconditions, context)
            if patched is None:
                patched = patch(context, seen, Workspace(context.budget))
                if patched.status is Status.PASS:
                    check_object(as_json(patched.body), "a mutated target")
            if shows_target and patched.status is Status.PASS:
                context.set("target", mark_literals(patched.body))
            done.append(patched)
        results = [_result(change) for change in done]
        return replace(results[0], others=tuple(results[1:])) if results else None

    def _result(done: Patched) -> RuleResult:
        changed = as_json(done.body) if done.status is Status.PASS else None
        text = describe(done)
        return RuleResult(
            policy.key, rule.name, RuleType.MUTATION, done.status, text, patched_target=changed
        )

    return handle


def _compile_target(body: Body, rule: Rule, policy: Policy) -> _Target:
    selected = {key: body[key] for key in _SELECTED_BY if body.get(key)}
    return _Target(compile_template(selected), *compile_scope(body, rule, policy))


def _find(selected: Body, namespace: str, cluster: Cluster) -> list[Body]:
    """The objects that a target names; raises `EvaluationError` where one by name is missing."""
    scope = namespace or selected.get("namespace", "")
    name = selected.get("name", "")
    key = ObjectKey(selected.get("apiVersion", ""), selected.get("kind", ""), scope, name)
    # An apiVersion means itself, and as a bare version or with wildcards, others of the kind.
    group, slash, version = key.api_version.rpartition("/")
    names_version = bool(_VERSION.fullmatch(group if slash else version))
    if "/" in group or names_version is bool(slash):
        # Kyverno takes `apiVersion/kind` for something else then: a kind and its subresource.
        raise EvaluationError("not found")
    versions = _fitting(key, group if slash else "*", version, cluster)
    by_name = scope and name and not has_wildcard(scope) and not has_wildcard(name)
    for version in versions:
        key = key._replace(api_version=version)
        body = cluster.find(key) if by_name else None
        bodies = [body] if body is not None else []
        if not by_name:
            bodies = list(_listed(key, selected.get("selector"), cluster))
        if bodies:
            return bodies
    if not by_name:
        return []
    group, _ = parse_api_version(key.api_version)
    kind = ".".join(filter(None, (cluster.plural(key.api_version, key.kind), group)))
    raise EvaluationError(f"{kind} {quote(name)} not found")


def _fitting(key: ObjectKey, group: str, version: str, cluster: Cluster) -> Iterator[str]:
    yield key.api_version
    if not (has_wildcard(group) or has_wildcard(version)):
        return
    fits_group, fits_version = compile_wildcard(group), compile_wildcard(version)

    def is_meant(body: Body) -> bool:
        own_group, own_version = parse_api_version(str(body.get("apiVersion", "")))
        is_kind = body.get("kind") == key.kind
        return is_kind and fits_group(own_group) and fits_version(own_version)

    versions = {str(body["apiVersion"]) for body in cluster.of_kinds(is_meant)}
    yield from sorted(versions - {key.api_version})


def _listed(key: ObjectKey, selector: Json, cluster: Cluster) -> Iterator[Body]:
    fits_namespace = compile_wildcard(key.namespace) if key.namespace else None
    fits_name = compile_wildcard(key.name) if key.name else None
    for body in cluster.select(key.api_version, key.kind, "", read_selector(selector)):
        resource = Resource(body)
        if fits_namespace is not None and not fits_namespace(resource.namespace):
            continue
        if fits_name is None or fits_name(resource.name):
            yield body


_MERGE: Final = "a strategic merge"


def compile_merge(body: Json) -> Patch:
    """Return a patch without variables as a merge; without anchors, it is reduced at once."""
    reduced = None if has_anchors(body, HANDLED) else _reduced(body)
    weight = weight_of(body)
    if reduced is None:
        return lambda resource, work=None: merged(body, resource, weight, work or Workspace())

    def run(resource: Body, work: Workspace | None = None) -> Json:
        work = work or Workspace()
        work.budget.spend(weight, _MERGE)
        target = work.target(resource)
        decide(body, target, work.budget)
        return _merged(resource, target, copied(reduced), work)

    return run


def _reduced(body: Json) -> Json:
    """The patch that is left of one without anchors; None where it can never be applied."""
    try:
        return applicable(copied(body), {}, Budget())
    except PatchError:
        return None


def merged(body: Json, resource: Body, weight: int, work: Workspace) -> Json:
    """The object with a patch merged in, as a `Patch` gives it; weight: the patch's parts."""
    work.budget.spend(weight, _MERGE)
    target = work.target(resource)
    patch = applicable(copied(body), target, work.budget, work.unmet)
    is_doubled = second_key(patch) is not None
    patched = _merged(resource, target, patch, work)
    key = second_key(patched) if is_doubled else None
    if key is not None:
        raise PatchError(
            f'yaml: unmarshal errors:\n  line 1: mapping key "{key}" already defined at line 1'
        )
    return patched


def _merged(resource: Body, target: Body, patch: Json, work: Workspace) -> Json:
    made = merge(target, patch, work)
    if not work.shares:
        return resource if same(resource, made) else made
    if same(target, made):
        work.left()
        return resource
    work.keep(made, work.changed, patch)
    return made


MERGE: Final = "patchStrategicMerge"
JSON_PATCH: Final = "patchesJson6902"


@dataclass(frozen=True, slots=True)
class Patched:
    """The result of patching: PASS, SKIP or ERROR; body: the object after it, empty for an
    error."""

    status: Status
    body: Body
    message: str


Patcher = Callable[["Context", Body, Workspace], Patched]
"""Patches an object in a context."""


def _patcher(
    body: Body, choose: Callable[[Json], Body], on_wrong: Callable[[Json], str]
) -> Patcher:
    template = compile_template(body)
    if template.is_constant:
        constant = _compiled(choose(template.value))
        return lambda _context, resource, work: _applied(constant, resource, work)

    def patch(context: Context, resource: Body, work: Workspace) -> Patched:
        try:
            resolved = choose(template.resolve(context))
            text = resolved.get(JSON_PATCH)
            if text is not None and not isinstance(text, str):
                resolved = {**resolved, JSON_PATCH: on_wrong(text)}
        except SubstitutionError as error:
            return failed(f"variable substitution failed: {error.message}")
        return _applied(_compiled(resolved, work.budget), resource, work)

    return patch


def _wrong_text(value: Json) -> str:
    raise SubstitutionError(
        f"json: cannot unmarshal {kind_of(value)} into Go struct field "
        f"Mutation.mutate.{JSON_PATCH} of type string"
    )


def _compiled(body: Body, budget: Budget | None = None) -> Patch | None:
    """Return a patch; budget: the budget of its only object, None for any number of objects."""
    if body.get(MERGE) is None:
        return compile_json_patch(body[JSON_PATCH]) if body.get(JSON_PATCH) else None
    if budget is None:
        return compile_merge(as_json(body[MERGE]))
    budget.weigh(body[MERGE], MERGE)
    patch = as_json(body[MERGE])
    # It has been weighed.
    return lambda resource, work=None: merged(patch, resource, 0, work or Workspace())


def as_json(value: Json) -> Json:
    """The value as JSON carries it: whole numbers are int."""
    if isinstance(value, dict):
        return {
            key: member if member.__class__ is str else as_json(member)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [member if member.__class__ is str else as_json(member) for member in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _MOST_INTEGER:
        return int(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


_MOST_INTEGER: Final = 1e21


def _applied(patch: Patch | None, resource: Body, work: Workspace) -> Patched:
    if patch is None:
        return failed("empty mutate rule")
    work.budget.spend(PATCH, "a patch")
    try:
        patched = patch(resource, work)
    except PatchError as error:
        return failed(f"failed to patch resource: {error.message}")
    if patched is resource and resource:
        return Patched(Status.SKIP, resource, "no patches applied")
    if problem := _object_problem(patched):
        return failed(f"failed to unmarshal patched resource: {problem}")
    return Patched(Status.PASS, patched, "resource patched")


def _object_problem(patched: Json) -> str:
    """Return why a patched value is not a Kubernetes object; empty if it is one."""
    if not isinstance(patched, dict):
        return "json: cannot unmarshal array into Go value of type map[string]interface {}"
    kind = patched.get("kind")
    if isinstance(kind, str) and kind:
        return ""
    return f"Object 'Kind' is missing in '{go_json(patched)}'"


def failed(message: str) -> Patched:
    """An error; nothing is left of the object, as in Kyverno."""
    return Patched(Status.ERROR, {}, message)


_DESCENDING: Final = "Descending"


def compile_foreach(blocks: list[Body], rule: Rule, policy: Policy, nesting: int = 0) -> Patcher:
    """Return a patcher that applies the blocks of a foreach, one after the other."""

    def compile_block(block: Body) -> Patcher:
        if nested := block.get("foreach"):
            return compile_foreach(nested, rule, policy, nesting + 1)
        body = {key: block.get(key) for key in (MERGE, JSON_PATCH)}
        return _patcher(body, lambda resolved: resolved, lambda _: "")

    loops = [compile_loop(block, rule, policy, compile_block) for block in blocks]

    def patch(context: Context, resource: Body, work: Workspace) -> Patched:
        changed = 0
        for loop in loops:
            try:
                elements = loop.elements(context)
            except EvaluationError as error:
                reason = error.message
                return failed(f"failed to evaluate list {loop.text}: {reason}: {reason}")
            done = _run(loop, elements, nesting, context, resource, work)
            if done.status is Status.ERROR:
                return failed(f"failed to mutate elements: {done.message}")
            if done.status is Status.PASS:
                changed += 1
                # Expressions see a patched object as `request.object`.
                resource = mark_literals(done.body)
                seen = context.data.get("request")
                request = seen if isinstance(seen, dict) else {}
                context.set("request", {**request, "object": resource})
        status = Status.PASS if changed else Status.SKIP
        return Patched(status, resource, f"{changed} elements processed")

    return patch


def _run(
    loop: Loop[Patcher],
    elements: list[Json],
    nesting: int,
    context: Context,
    resource: Body,
    work: Workspace,
) -> Patched:
    before = resource
    order = loop.body.get("order")
    last_first = loop.body.get(MERGE) is not None if order is None else order == _DESCENDING
    for index, _, inner in each_element(elements, context, nesting, is_reversed=last_first):
        done = unmet(loop.entries, loop.preconditions, inner, f"mutate.foreach[{index}].")
        done = done or loop.run(inner, resource, work)
        if done.status is Status.SKIP:
            continue
        if done.status is Status.ERROR:
            return done
        resource = done.body
    # Whether a loop left the object as it was, in the eyes of Go's `reflect.DeepEqual`. Each
    # patch that changes something reads the object anew, whole numbers as int64: an object that
    # had them as float64 differs then, even where a later element takes the change back. A
    # strategic merge into a list moves what it names to the front, so two elements are enough
    # for that.
    is_untouched = resource is before or (same(before, resource) and not has_float64(before))
    status = Status.SKIP if is_untouched else Status.PASS
    return Patched(status, resource, "")


def unmet(
    entries: ContextEntries, conditions: Conditions | None, context: Context, path: str = ""
) -> Patched | None:
    """Return why an element or a target is left unchanged; None if it is patched. path: the field
    of the policy in messages, with a dot at its end."""
    load = f"to {path}context" if path else "context"
    try:
        entries.attach(context)
    except ChartkitError as error:
        return failed(f"failed to load {load}: {error.message}")
    if conditions is None:
        return None
    try:
        outcome = conditions.evaluate(context)
    except ChartkitError as error:
        return failed(f"failed to evaluate {path}preconditions: {error.message}")
    if outcome.holds:
        return None
    text = "; ".join(filter(None, ("preconditions not met", outcome.message)))
    return Patched(Status.SKIP, {}, text)
