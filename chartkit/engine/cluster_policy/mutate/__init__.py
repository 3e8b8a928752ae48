"""Mutation: strategic merge, JSON patches, foreach and existing targets, as in Kyverno 1.19."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.budget import check_object
from chartkit.engine.cluster_policy.conditions.blocks import Conditions
from chartkit.engine.cluster_policy.handler import Handler, compile_scope
from chartkit.engine.cluster_policy.mutate.patcher import (
    Patched,
    Patcher,
    as_json,
    compile_foreach,
    compile_rule_patcher,
    unmet,
)
from chartkit.engine.cluster_policy.mutate.workspace import Workspace
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.context.entries import ContextEntries
from chartkit.engine.context.variables import Template, compile_template
from chartkit.engine.kubernetes.kinds import parse_api_version
from chartkit.engine.kubernetes.selectors import read_selector
from chartkit.engine.ports.services import Cluster, ObjectKey
from chartkit.engine.request import Operation, Request
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.engine.why import Asked, Decision
from chartkit.errors import ChartkitError, EvaluationError, Reraise
from chartkit.go.strconv import mark_literals, quote
from chartkit.model import Body, Json, Resource, RuleResult, RuleType, Status


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
        return compile_rule_patcher(rule)
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
