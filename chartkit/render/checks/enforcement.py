"""Ways in which a project refuses or reports less than its policies do, each with a row: actions,
actions of namespaces, exclusions, exceptions, filters, forms and versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from chartkit import bundled
from chartkit.charts.engine.values import at_sources
from chartkit.engine import is_exception
from chartkit.engine.cluster_policy.policy import KINDS
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version, parse_version
from chartkit.library.profiles import ResolvedPolicy
from chartkit.library.upstream import UpstreamPolicy
from chartkit.model import Body, Diagnostic, Json, Location, Severity, mapping_at, mappings_at
from chartkit.project.settings import Action, PolicyType
from chartkit.render.chart import CheckTarget
from chartkit.render.model import Outcome, Row
from chartkit.wording import abridged, counted

CHECK: Final = "enforcement"
_ACTION: Final = "validationFailureAction"
_BY_POLICY: Final = "validationFailureActionByPolicy"
_OVERRIDES: Final = "validationFailureActionOverrides"
_STANDARDS: Final = "podSecurityVersion"
_NARROWING: Final = (
    "policyPreconditions",
    "policyMatchConditions",
    "policyExclude",
    "vpolExclude",
    "vpolExcludeByPolicy",
)
_FILTERS: Final = (
    "resourceFilters",
    "resourceFiltersInclude",
    "resourceFiltersIncludeNamespaces",
    "excludeGroups",
    "excludeUsernames",
    "excludeRoles",
    "excludeClusterRoles",
    "matchConditions",
    "webhooks",
)
"""The keys of the engine's `config` by which Kyverno is sent less."""
_IGNORING: Final = ("features", "forceFailurePolicyIgnore")
_ADMISSION: Final = "ValidatingAdmissionPolicy"


def enforcement(subject: CheckTarget) -> Iterator[Row]:
    """Yield a row for each way in which the environment's policies refuse or report less."""
    looks = (_actions, _overrides, _exclusions, _further_exceptions, _filters, _forms, _versions)
    for look in looks:
        for message, location in look(subject):
            yield Row(subject.environment.name, CHECK, Outcome.NOTE, message, location)


Finding = tuple[str, Location]


def _names(subject: CheckTarget) -> Sequence[str]:
    """Return the policies that the environment installs and whose own actions give way."""
    policies = subject.resolved.policies if subject.resolved else {}
    return [
        name
        for name, policy in policies.items()
        if policy.enabled and not isinstance(policy.policy, UpstreamPolicy)
    ]


def _actions(subject: CheckTarget) -> Iterator[Finding]:
    env, values = subject.environment, subject.policies.lint_subject()
    merged = values.values
    if env.action is not Action.ENFORCE:
        return
    if not _enforces(merged.get(_ACTION)):
        message = f"policies only report (Audit), where {env.name} says Enforce"
        yield message, values.locate((_ACTION,))
        return
    given = {name: _own_action(merged, name) for name in _names(subject)}
    audited = [name for name, action in given.items() if action and not _enforces(action)]
    if audited:
        count = counted(len(audited), "policy only reports", "policies only report")
        message = f"{count} (Audit), where {env.name} says Enforce: {abridged(audited)}"
        policy_name = audited[0]
        resolved = subject.resolved.policies[policy_name] if subject.resolved else None
        location = resolved.action_at if resolved is not None else None
        action_place = location or values.locate(("policies", policy_name, "action"))
        yield message, action_place


def _own_action(merged: Body, name: str) -> Json:
    own = mapping_at(merged, "policies", name).get("action")
    return own or mapping_at(merged, _BY_POLICY).get(name)


def _enforces(action: Json) -> bool:
    return isinstance(action, str) and action.lower() == "enforce"


def _overrides(subject: CheckTarget) -> Iterator[Finding]:
    """Yield what only reports in some namespaces, and refuses elsewhere; and the policies of
    Kubernetes' own whose bindings are elsewhere, which no action of a namespace reaches."""
    resolved = subject.resolved
    bound = [
        name
        for name, policy in _selected(subject).items()
        if policy.enabled
        and isinstance(policy.policy, UpstreamPolicy)
        and policy.policy.kind == _ADMISSION
        and not policy.policy.bound
    ]
    if bound and resolved is not None and resolved.actions:
        message = (
            f"actions of namespaces do not reach {abridged(bound)}: its bindings are elsewhere"
        )
        yield message, resolved.actions[0].location
    values = subject.policies.lint_subject()
    merged, env = values.values, subject.environment
    names = _names(subject)
    refusing = env.action is Action.ENFORCE
    refusing = refusing or any(_enforces(_own_action(merged, name)) for name in names)
    shared = mapping_at(merged, _OVERRIDES)
    lists: list[tuple[str, tuple[str, ...], Json]] = [
        ("policies", (_OVERRIDES, "all"), shared.get("all"))
    ]
    for name in names:
        own = ("policies", name, "actionOverrides")
        lists.append((name, own, mapping_at(merged, "policies", name).get("actionOverrides")))
        lists.append((name, (_OVERRIDES, name), shared.get(name)))
    actions = list(resolved.actions) if resolved else []
    for policy in resolved.policies.values() if resolved else ():
        actions += policy.actions
    for who, path, given in lists:
        for index, item in enumerate(given if isinstance(given, list) else ()):
            if isinstance(item, dict) and not _enforces(item.get("action")) and refusing:
                wanted = item.get("namespaces") or [], item.get("namespaceSelector")
                same = (row for row in actions if (list(row.namespaces), row.selector) == wanted)
                action = next(same, None)
                location = values.locate((*path, index)) if action is None else action.location
                verb = "only report" if who == "policies" else "only reports"
                yield f"{who} {verb} (Audit) in {_scope(item)}", location


def _scope(override: Body) -> str:
    names = override.get("namespaces")
    if names:
        return f"namespaces {', '.join(names)}"
    return "namespaces of a selector" if override.get("namespaceSelector") else "all namespaces"


def _exclusions(subject: CheckTarget) -> Iterator[Finding]:
    values = subject.policies.lint_subject()
    merged = values.values
    places = {repr(dict(entry.resources)): entry for entry in subject.environment.exclude}
    for index, raw in enumerate(mappings_at(merged, "exclude", "any")):
        given = places.get(repr(raw.get("resources")))
        reason = f" ({given.reason})" if given and given.reason else ""
        location = given.location if given else values.locate(("exclude", "any", index))
        resources = raw.get("resources", raw)
        parts = []
        for key, value in (resources if isinstance(resources, dict) else {}).items():
            text = ", ".join(map(str, value)) if isinstance(value, list) else "by label"
            parts.append(f"{key} {text}")
        description = " with ".join(parts) or "objects"
        yield f"all policies leave out {description}{reason}", location
    if mappings_at(merged, "exclude", "all"):
        yield "all policies leave out what exclude.all names", values.locate(("exclude", "all"))
    own = [name for name in _names(subject) if mapping_at(merged, "policies", name).get("exclude")]
    if own:
        count = counted(len(own), "policy has exclusions", "policies have exclusions")
        resolved = subject.resolved.policies[own[0]] if subject.resolved else None
        location = values.locate(("policies", own[0], "exclude"))
        if resolved is not None and resolved.exclude:
            location = resolved.exclude[0].location
        yield f"{count}: {abridged(own)}", location
    for key in _NARROWING:
        if merged.get(key):
            yield f"values narrow policies: {key}", values.locate((key,))


def _further_exceptions(subject: CheckTarget) -> Iterator[Finding]:
    """Yield the exceptions that are among the values, and not in chartkit.yaml."""
    shipped = {(body["apiVersion"], body["metadata"]["name"]) for body in subject.exceptions.bodies}
    names = [
        resource.name
        for resource in subject.policies.rendered().resources
        if is_exception(resource) and (resource.api_version, resource.name) not in shipped
    ]
    if names:
        count = counted(len(names), "exception is", "exceptions are")
        at = subject.policies.lint_subject().locate(("exceptions",))
        yield f"{count} in the chart's values, and not in chartkit.yaml: {abridged(names)}", at


def _filters(subject: CheckTarget) -> Iterator[Finding]:
    """Yield the values by which Kyverno is sent less than by its chart's defaults."""
    engine = subject.engine
    if engine is None:
        return
    values = engine.lint_subject()
    defaults = mapping_at(values.defaults.body, "config")
    config = mapping_at(values.values, "config")
    diagnostics: list[Diagnostic] = []
    for key in _FILTERS:
        before, after = defaults.get(key), config.get(key)
        if after and after != before:
            message = f"Kyverno is not sent everything: config.{key}{_added(before, after)}"
            location = values.locate(("config", key))
            diagnostics.append(Diagnostic(CHECK, Severity.NOTE, message, location))
    if mapping_at(values.values, *_IGNORING).get("enabled"):
        message = "requests pass where Kyverno does not answer: features.forceFailurePolicyIgnore"
        diagnostics.append(Diagnostic(CHECK, Severity.NOTE, message, values.locate(_IGNORING)))
    for diagnostic in at_sources(diagnostics, subject.environment, engine.layers):
        yield diagnostic.message, diagnostic.location or engine.values.location


def _added(before: Json, after: Json) -> str:
    if not isinstance(after, list):
        return ""
    new = [str(item) for item in after if not isinstance(before, list) or item not in before]
    return f" has {abridged(new)}" if new else ""


def _forms(subject: CheckTarget) -> Iterator[Finding]:
    """The policies in another form than the environment's, and what the API server lacks."""
    env = subject.environment
    asked = env.policy_type
    installed = set(_names(subject))
    kinds: dict[str, list[str]] = {}
    for resource in subject.policies.rendered().resources:
        if resource.name in installed:
            kinds.setdefault(resource.kind, []).append(resource.name)
    others = [name for kind in KINDS for name in kinds.get(kind, ())]
    if asked in (PolicyType.VALIDATING, PolicyType.ADMISSION) and others:
        count = counted(len(others), "policy comes", "policies come")
        message = f"{count} as ClusterPolicy, without a form in CEL: {abridged(others)}"
        yield message, env.locate_policy_type()
    if own := kinds.get(_ADMISSION, ()):
        count = counted(len(own), "policy is", "policies are")
        message = (
            f"{count} the API server's own: no background scan judges the objects that are there, "
            "and no exception applies"
        )
        yield message, env.locate_policy_type()
    if mapping_at(subject.policies.lint_subject().values).get("failurePolicy") == "Ignore":
        location = subject.policies.lint_subject().locate(("failurePolicy",))
        yield "requests pass where Kyverno does not answer: failurePolicy Ignore", location


def _versions(subject: CheckTarget) -> Iterator[Finding]:
    """Yield the policies that the project switches off, with those that need a newer Kyverno, and
    older versions of the Pod Security Standards."""
    env = subject.environment
    built_in = bundled.profiles_dir()
    off = [
        policy
        for policy in _selected(subject).values()
        if not policy.enabled and not Path(policy.location.file).is_relative_to(built_in)
    ]
    late = [policy for policy in off if policy.policy.minimum_kyverno > env.kyverno]
    others = [policy for policy in off if policy not in late]
    for policies, why in ((others, ""), (late, f", for a newer Kyverno than {env.kyverno}")):
        if policies:
            names = abridged([policy.policy.name for policy in policies])
            count = counted(len(policies), "policy is", "policies are")
            yield f"{count} switched off{why}: {names}", policies[0].location
    values = subject.policies.lint_subject()
    given = mapping_at(values.values, "parameters").get(_STANDARDS)
    try:
        version: Version | None = parse_version(given, "Kubernetes")
    except InputError:
        version = None
    if version is not None and version < env.kubernetes:
        message = f"the Pod Security Standards are those of {given}, older than the cluster"
        location = env.locate("parameters", _STANDARDS)
        if _STANDARDS not in env.parameters:
            location = values.locate(("parameters", _STANDARDS))
        yield message, location


def _selected(subject: CheckTarget) -> Mapping[str, ResolvedPolicy]:
    return subject.resolved.policies if subject.resolved else {}
