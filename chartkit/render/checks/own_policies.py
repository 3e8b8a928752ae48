"""Policies without metadata.yaml, compared with what an environment makes of them.

An action in such a policy applies until the project names the policy. A row shows where an
environment refuses less than the policy's own text does, and where that text overrides the
environment's action.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine import AUDIT, ENFORCE
from chartkit.engine.cluster_policy.handler import rule_action
from chartkit.engine.cluster_policy.policy import ActionOverride, Policy, read_policy
from chartkit.errors import CompileError
from chartkit.helm.embedded_code import UNKNOWN
from chartkit.library.policies import FolderPolicy, LibraryPolicy
from chartkit.library.templating import source_mistakes
from chartkit.library.upstream import UpstreamForm, UpstreamPolicy
from chartkit.model import Body, Json, Location, Resource, mapping_at
from chartkit.project.settings import Action
from chartkit.render.chart import CheckTarget
from chartkit.render.checks.exclusions import Exclusions
from chartkit.render.model import Outcome, Row, findings

CHECK: Final = "own policies"
_ELSEWHERE: Final = "\uffff"
"""A namespace that no pattern names but those that match every name."""
_ACTION: Final = re.compile(
    r"^[ -]*(validationFailureAction|failureAction|validationActions|failurePolicy)(?:Overrides)?:",
    re.MULTILINE,
)
_BY_POLICY: Final = "validationFailureActionByPolicy"


_SPLIT: Final = (("-audit", "some namespaces"), ("-enforce", "some namespaces"))
"""The ends of the names of what is made for namespaces with an action of their own."""


@dataclass(frozen=True, slots=True)
class _OwnAction:
    """One action in a policy's text; namespaces: where it applies, empty for all others."""

    before: str
    after: str
    location: Location
    namespaces: str = ""


def own_policies(subject: CheckTarget, carried: Sequence[LibraryPolicy]) -> Iterator[Row]:
    """Return rows for what upstream policies keep of their own text."""
    exclusions = Exclusions(subject)
    env = subject.environment.name
    rendered: dict[str, list[Resource]] = {}
    for resource in subject.policies.rendered().resources:
        rendered.setdefault(resource.name, []).append(resource)
    for resolved in subject.resolved.policies.values() if subject.resolved else ():
        # A policy of the project's own library may hide another library's policy.
        hiding = resolved.policy
        if hiding.instead_of:
            others = ", ".join(hiding.instead_of)
            message = f"{hiding.name} is {hiding.qualified}, which goes before {others}"
            hint = f"name {hiding.instead_of[0]} to have that one"
            if hiding.qualified in hiding.instead_of:
                file = hiding.template.file
                message = f"{hiding.name} is {file}, which goes before {others} of vendor/"
                hint = "give one of the two libraries another name to have that one"
            yield Row(env, CHECK, Outcome.NOTE, message, resolved.location, hint)
    for policy in carried:
        wrong = source_mistakes(policy)
        yield from findings(env, CHECK, wrong, Location(policy.template.file))
        if isinstance(policy, UpstreamPolicy):
            yield from _rows(subject, policy, rendered, exclusions)
        elif isinstance(policy, FolderPolicy) and policy.name in rendered:
            # In chartkit's own format, values decide on actions and failure policies.
            for source in filter(None, (policy.template, policy.cel)):
                for match in _ACTION.finditer(source.text):
                    line = source.text.count("\n", 0, match.start()) + 1
                    message = f"{policy.name}: {match[1]} has no effect in chartkit's own format"
                    setting = f"policies: {{{policy.reference}: {{action: …}}}}"
                    hint = f"give the action in a profile: {setting}"
                    if match[1] == "failurePolicy":
                        hint = f"set policies.{policy.name}.failurePolicy in the chart's values"
                    location = Location(source.file, line)
                    yield Row(env, CHECK, Outcome.WARNING, message, location, hint)


def _rows(
    subject: CheckTarget,
    policy: UpstreamPolicy,
    rendered: Mapping[str, Sequence[Resource]],
    exclusions: Exclusions,
) -> Iterator[Row]:
    name = subject.environment.name
    there = [resource for resource in rendered.get(policy.name, ()) if resource.kind == policy.kind]
    if not there:
        # A note on a policy that the environment selects but does not install.
        resolved = subject.resolved.policies.get(policy.name) if subject.resolved else None
        if resolved is not None and not resolved.enabled:
            message = f"{policy.name} ({policy.location}) is switched off"
            yield Row(name, CHECK, Outcome.NOTE, message, resolved.location)
        return
    compared = list(_compared(policy, there[0], rendered))
    changed = [action for action in compared if action.before != action.after]
    if changed:
        yield from _changed(subject, policy, changed)
    elif compared:
        yield from _kept(subject, policy, compared)
    for given in exclusions.of(policy.name):
        message = f"{policy.name} ({policy.location}) leaves out more than its own text does"
        yield Row(name, CHECK, Outcome.NOTE, message, given.location)


def _changed(
    subject: CheckTarget, policy: UpstreamPolicy, actions: Sequence[_OwnAction]
) -> Iterator[Row]:
    """Yield a warning for what is no longer refused, and a note for what is now refused as well."""
    for before, outcome in ((ENFORCE, Outcome.WARNING), (AUDIT, Outcome.NOTE)):
        parts = [
            f"its own {action.before}{_where(action)} ({action.location}) becomes {action.after}"
            for action in actions
            if action.before == before and (before == ENFORCE or action.namespaces)
        ]
        if parts:
            word = "is weakened" if before == ENFORCE else "refuses more"
            message = f"{policy.name} {word}: {'; '.join(dict.fromkeys(parts))}"
            hint = "without this action it keeps its own" if before == ENFORCE else None
            name = policy.name
            resolved = subject.resolved.policies.get(name) if subject.resolved else None
            if resolved is not None and resolved.action_at is not None:
                location: Location = resolved.action_at
            else:
                values = subject.policies.lint_subject()
                merged = values.values
                named = mapping_at(merged, "policies", name)
                paths: list[tuple[tuple[str, ...], Json]] = [
                    (("policies", name, "action"), named.get("action")),
                    ((_BY_POLICY, name), mapping_at(merged, _BY_POLICY).get(name)),
                    (("policies", name, "actionOverrides"), named.get("actionOverrides")),
                    (
                        ("validationFailureActionOverrides",),
                        mapping_at(merged, "validationFailureActionOverrides"),
                    ),
                ]
                path = next((path for path, value in paths if value), ("keepOwnActions",))
                location = values.locate(path)
            yield Row(subject.environment.name, CHECK, outcome, message, location, hint)


def _where(action: _OwnAction) -> str:
    return f" for {action.namespaces}" if action.namespaces else ""


def _kept(
    subject: CheckTarget, policy: UpstreamPolicy, actions: Sequence[_OwnAction]
) -> Iterator[Row]:
    """Yield a row if a policy's own action differs from the environment's."""
    env = subject.environment
    resolved = subject.resolved.policies.get(policy.name) if subject.resolved else None
    if resolved is not None and resolved.action is not None:
        return
    said = "action" in env.keys.body
    wanted = f"{env.name} says {env.action}" if said else f"{env.name} has {env.action} by default"
    others = [action for action in actions if action.before != env.action]
    parts = [f"{action.before}{_where(action)} ({action.location})" for action in others]
    if not parts:
        return
    looser = any(action.before == AUDIT for action in others)
    outcome = Outcome.WARNING if looser and said else Outcome.NOTE
    message = f"{policy.name} keeps its own {', '.join(dict.fromkeys(parts))}, where {wanted}"
    hint = f"policies: {{{policy.name}: {{action: {env.action}}}}} gives it the environment's"
    location = env.locate("action") if said else env.locate()
    yield Row(env.name, CHECK, outcome, message, location, hint)


def _compared(
    policy: UpstreamPolicy, there: Resource, rendered: Mapping[str, Sequence[Resource]]
) -> Iterable[_OwnAction]:
    if policy.form is UpstreamForm.RULES:
        return _of_rules(policy, there)
    if policy.form is UpstreamForm.CEL:
        return _of_cel(policy, there, rendered.get(f"{policy.name}-audit", ()))
    if policy.form is UpstreamForm.ADMISSION:
        return _of_bindings(policy, rendered)
    return ()


def _of_rules(policy: UpstreamPolicy, there: Resource) -> Iterator[_OwnAction]:
    """Yield the actions of each rule that validates: by default, and where an override applies."""
    try:
        before = read_policy(Resource(policy.body, policy.location))
        after = read_policy(there)
    except CompileError:
        return  # That is a row of its own.
    for index, rule in enumerate(before.rules):
        if not (rule.body.get("validate") or rule.verify_images):
            continue
        if "failureAction" in mapping_at(rule.body, "validate"):
            location = policy.document.locate("spec", "rules", index, "validate", "failureAction")
        else:
            location = policy.document.locate("spec", "validationFailureAction")
        yield _one(before, after, rule.name, (_ELSEWHERE, {}), location, "")
        own = set()
        for override, at in _overrides(policy, before, index):
            where, namespaces = _probe(override)
            own.add(namespaces)
            yield _one(before, after, rule.name, where, at, namespaces)
        same = next((item for item in after.rules if item.name == rule.name), None)
        in_rule = () if same is None else same.validate.failure_action_overrides
        for override in (*after.failure_action_overrides, *in_rule):
            where, namespaces = _probe(override)
            if namespaces not in own:
                yield _one(before, after, rule.name, where, location, namespaces)


def _one(
    before: Policy,
    after: Policy,
    rule: str,
    where: tuple[str, Mapping[str, str]],
    location: Location,
    namespaces: str,
) -> _OwnAction:
    was, now = (rule_action(policy, rule, *where) for policy in (before, after))
    return _OwnAction(was, now, location, namespaces)


def _overrides(
    policy: UpstreamPolicy, read: Policy, index: int
) -> Iterator[tuple[ActionOverride, Location]]:
    in_rule = ("spec", "rules", index, "validate", "failureActionOverrides")
    for at, override in enumerate(read.rules[index].validate.failure_action_overrides):
        yield override, policy.document.locate(*in_rule, at)
    for at, override in enumerate(read.failure_action_overrides):
        yield override, policy.document.locate("spec", "validationFailureActionOverrides", at)


def _probe(override: ActionOverride) -> tuple[tuple[str, Mapping[str, str]], str]:
    """A labelled namespace that an override applies to, and the override's scope in words."""
    names = override.namespaces or ()
    name = names[0].replace("*", "").replace("?", "x") if names else _ELSEWHERE
    labels: dict[str, str] = {}
    if override.namespace_selector is not None:
        labels.update(override.namespace_selector.labels)
        for requirement in override.namespace_selector.expressions:
            if requirement.operator in ("In", "Exists"):
                labels[requirement.key] = requirement.values[0] if requirement.values else "x"
    said = [", ".join(names)] if names else []
    said += [f"{key}={value}" for key, value in labels.items()]
    return (name, labels), "namespaces " + (" with ".join(said) or "that its selector names")


def _of_cel(
    policy: UpstreamPolicy, there: Resource, split: Sequence[Resource]
) -> Iterator[_OwnAction]:
    own = mapping_at(policy.body, "spec").get("validationActions")
    if UNKNOWN in str(own) or "validations" not in policy.body["spec"]:
        return
    location = policy.document.locate("spec", "validationActions")
    before = _denies(policy.body)
    yield _OwnAction(before, _denies(there.body), location)
    if split:
        yield _OwnAction(before, AUDIT, location, "some namespaces")


def _of_bindings(
    policy: UpstreamPolicy, rendered: Mapping[str, Sequence[Resource]]
) -> Iterator[_OwnAction]:
    for document in policy.bound:
        name = str(document.body["metadata"]["name"])
        location = document.locate("spec", "validationActions")
        before, kind = _denies(document.body), document.body["kind"]
        for suffix, where in (("", ""), *_SPLIT):
            for there in rendered.get(f"{name}{suffix}", ()):
                if there.kind == kind:
                    yield _OwnAction(before, _denies(there.body), location, where)


def _denies(body: Body) -> str:
    """`Enforce` if a CEL policy or a binding denies, as it does without actions; else `Audit`."""
    actions = mapping_at(body, "spec").get("validationActions") or ["Deny"]
    return str(Action.ENFORCE if "Deny" in actions else Action.AUDIT)
