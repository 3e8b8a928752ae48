"""Policies without examples that match only objects which Kyverno is not sent."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from chartkit.documents.reader import read_source, read_text
from chartkit.engine import Reason, RunnablePolicy
from chartkit.engine.cluster_policy.policy import Policy, ResourceFilter
from chartkit.engine.configuration import NAME_LABEL
from chartkit.engine.kubernetes.kinds import GroupVersionKind, is_cluster_scoped
from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Location, Resource, Severity
from chartkit.render.chart import CheckTarget
from chartkit.render.checks.exclusions import Unsent, asks_kyverno
from chartkit.render.compare import policy_risks
from chartkit.render.compare.fields import ObjectChange, compare, identity
from chartkit.render.compare.risk import Level, generators
from chartkit.render.model import Outcome, Row
from chartkit.scan.policies import PolicySet
from chartkit.schemas.kind_selectors import parse_kind_selector

_ANY: Final = "\uffff"
"""A name that only the patterns for every name match."""


def unreachable(
    compiled: PolicySet, unsent: Unsent, names: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a warning for each policy of these names that no object reaches."""
    for policy in compiled.policies:
        if policy.policy.name in names and asks_kyverno(policy):
            reasons = _reasons(policy, unsent)
            if reasons:
                yield never_acts(policy.policy.name, reasons, unsent)


def never_acts(
    name: str, reasons: Collection[Reason], unsent: Unsent, only_reports: bool = False
) -> Diagnostic:
    """Return a warning on a policy that no object reaches; a note where the project sets it to
    only report, which background scans do."""
    known = list(dict.fromkeys(reasons))
    texts = ", ".join(f"{reason} ({unsent.locate(reason)})" for reason in known)
    why = f"nothing that it looks at is sent to Kyverno: {texts}"
    location = unsent.locate(known[0])
    if only_reports:
        message = f"{name} is judged in background scans alone: {why}"
        return Diagnostic(name, Severity.NOTE, message, location)
    message = f"{name} can never act here: {why}; background scans alone may report it"
    hint = (
        f"set {unsent.remedy(known)} in the values of Kyverno's chart, or switch it off: "
        f"policies: {{{name}: {{enabled: false}}}}"
    )
    return Diagnostic(name, Severity.WARNING, message, location, hint)


def _reasons(policy: RunnablePolicy, unsent: Unsent) -> list[Reason]:
    """Return the reasons why no object reaches a policy; none if one may."""
    found: list[Reason] = []
    for resource, subresource in _probes(policy):
        reasons = unsent.reasons(resource, {}, subresource)
        if not reasons:
            return []
        found += reasons
    return found


def _probes(policy: RunnablePolicy) -> Iterator[tuple[Resource, str]]:
    """Yield an object for each kind, namespace and name that a policy names, with its
    subresource."""
    parsed = policy.policy
    if isinstance(parsed, Policy):
        for rule in parsed.rules:
            for resource_filter in rule.match.any or rule.match.all or (rule.match.direct,):
                yield from _of_filter(resource_filter)
        return
    constraints = parsed.constraints
    selector = constraints.namespace_selector if constraints is not None else None
    kind = GroupVersionKind("", "v1", "Pod")
    for namespace in [parsed.namespace] if parsed.namespace else _selected(selector):
        yield _object(kind, namespace, _ANY), ""


def _of_filter(one: ResourceFilter) -> Iterator[tuple[Resource, str]]:
    names = one.names or (one.name or _ANY,)
    namespaces = one.namespaces or _selected(one.namespace_selector)
    for text in one.kinds:
        group, version, kind, subresource = parse_kind_selector(text)
        version = "v1" if version == "*" else version
        what = GroupVersionKind("" if group == "*" else group, version, kind)
        for namespace in namespaces:
            for name in names:
                yield _object(what, _plain(namespace), _plain(name)), subresource


def _selected(selector: LabelSelector | None) -> Iterable[str]:
    """Return the namespaces that a selector names; one that nothing names where it does not."""
    if selector is None:
        return (_ANY,)
    named = [text for key, text in selector.labels.items() if key == NAME_LABEL]
    for requirement in selector.expressions:
        if requirement.key == NAME_LABEL and requirement.operator == "In":
            named += requirement.values
    return named or (_ANY,)


def _plain(pattern: str) -> str:
    return pattern.replace("*", _ANY).replace("?", _ANY)


def _object(kind: GroupVersionKind, namespace: str, name: str) -> Resource:
    metadata = {"name": name, "namespace": namespace}
    if kind.kind == "Namespace":
        metadata = {"name": name if namespace == _ANY else namespace}
    elif is_cluster_scoped(kind):
        metadata = {"name": name}
    api_version = f"{kind.group}/{kind.version}".removeprefix("/")
    return Resource({"apiVersion": api_version, "kind": kind.kind, "metadata": metadata})


CHECK: Final = "risk"
_WORD: Final = "generate"
"""A word in the text of every policy that generates, in either form."""
_BORDER: Final = re.compile(r"^---", re.MULTILINE)
_KEEP: Final = (
    "to keep the objects, first install the policy with orphanDownstreamOnPolicyDelete switched on,"
    " and change it only then"
)


def removed_generators(subject: CheckTarget) -> Iterable[Row]:
    """Yield a row for each generating policy of the last render whose objects may be deleted."""
    folder = subject.project.manifests
    if folder is None:
        return
    file = folder / subject.environment.file_name / f"{subject.policies.name}.yaml"
    if not file.is_file():
        return
    try:
        before = list(_generating(read_source(file), str(file)))
    except InputError as error:
        location = error.location or Location(str(file))
        message = f"generating policies were not compared with the last render: {error.message}"
        hint = "`chartkit render` replaces the file"
        yield Row(subject.environment.name, CHECK, Outcome.NOTE, message, location, hint)
        return
    if before:
        yield from _rows(subject, {identity(resource): resource for resource in before}.values())


def _generating(text: str, file: str) -> Iterator[Resource]:
    """Yield the policies of a text that may generate; only their documents are parsed."""
    if _WORD not in text:
        return
    borders = [0, *(match.start() for match in _BORDER.finditer(text)), len(text)]
    for start, end in itertools.pairwise(borders):
        if text.find(_WORD, start, end) < 0:
            continue
        lines_before = "\n" * text.count("\n", 0, start)  # For places to be those of the file.
        for document in read_text(lines_before + text[start:end], file):
            if isinstance(document.body, dict):
                yield Resource(document.body, document.location)


def _rows(subject: CheckTarget, before: Iterable[Resource]) -> Iterator[Row]:
    places = {identity(resource): resource.location for resource in before}
    now = [each for each in subject.policies.rendered().resources if identity(each) in places]
    for change in compare(before, now):
        for risk in generators(change):
            high = risk.level is Level.HIGH
            yield Row(
                subject.environment.name,
                CHECK,
                Outcome.WARNING if high else Outcome.NOTE,
                f"{_which(change)}: {risk.reason}",
                places[change.identity],
                _KEEP if high else None,
            )


def _which(change: ObjectChange) -> str:
    """Return a removed policy or its removed rules, with the kinds of what they generated."""
    rules = policy_risks.going(change.before or {}, change.after)
    named = [name for name in rules if name]
    which = f"{change.identity} goes"
    if change.after is not None and named:
        which = f"{change.identity} loses {', '.join(named)}"
    kinds = policy_risks.kinds(rules.values())
    return f"{which} (generates {', '.join(kinds)})" if kinds else which
