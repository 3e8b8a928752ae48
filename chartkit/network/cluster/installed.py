"""Kyverno's objects in a cluster (policies, exceptions, entries of the global context), and the
kinds that policies can match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from chartkit.engine import (
    NO_ATTACHMENTS,
    PolicyAttachments,
    Request,
    RunnablePolicy,
    is_exception,
    is_policy,
    read_exceptions,
)
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.engine.context.global_context import (
    GlobalContextEntry,
    is_global_context_entry,
    read_global_context_entry,
)
from chartkit.engine.kubernetes.kinds import is_binding
from chartkit.errors import CompileError
from chartkit.model import Diagnostic, Resource
from chartkit.network.cluster.reader import ApiResource, Discovery, Reader, sample

_MANAGED_BY = "app.kubernetes.io/managed-by"


def policies_there(reader: Reader) -> list[Resource]:
    """Return the policies of the cluster and the bindings of Kubernetes' own; of those that Kyverno
    made of its policies none, for they say the same twice."""
    kinds = _kinds(reader, lambda resource: is_policy(resource) or is_binding(resource))
    return [resource for resource in _all(reader, kinds) if not _is_made(resource)]


def legacy_there(reader: Reader) -> list[Resource]:
    """Return the policies, cleanup policies and exceptions of kyverno.io in the cluster."""
    return list(_all(reader, _kinds(reader, is_legacy)))


def exception_objects(reader: Reader) -> list[Resource]:
    """Return the PolicyExceptions of the cluster as they are."""
    return list(_all(reader, _kinds(reader, is_exception)))


def exceptions_there(reader: Reader) -> tuple[PolicyAttachments, list[Diagnostic]]:
    """Return the PolicyExceptions of the cluster, and why some of them cannot be used."""
    attachments = NO_ATTACHMENTS
    diagnostics: list[Diagnostic] = []
    for resource in exception_objects(reader):
        try:
            attachments = joined(attachments, read_exceptions([resource]))
        except CompileError as error:
            diagnostics.extend(error.diagnostics)
    return attachments, diagnostics


def entry_objects(reader: Reader) -> list[Resource]:
    """Return the GlobalContextEntries of the cluster as they are."""
    return list(_all(reader, _kinds(reader, is_global_context_entry)))


def entries_there(reader: Reader) -> tuple[list[GlobalContextEntry], list[Diagnostic]]:
    """Return the GlobalContextEntries of the cluster, and why some of them cannot be used."""
    entries: list[GlobalContextEntry] = []
    diagnostics: list[Diagnostic] = []
    for resource in entry_objects(reader):
        try:
            entries.append(read_global_context_entry(resource))
        except CompileError as error:
            diagnostics.extend(error.diagnostics)
    return entries, diagnostics


def joined(one: PolicyAttachments, other: PolicyAttachments) -> PolicyAttachments:
    """Return the objects of both."""
    return PolicyAttachments(
        one.exceptions + other.exceptions,
        one.cel_exceptions + other.cel_exceptions,
        one.bindings + other.bindings,
        one.allows_http or other.allows_http,
    )


def _is_made(one: Resource) -> bool:
    """Tell whether Kyverno generated a Kubernetes policy from one of its own."""
    labels = one.body["metadata"].get("labels")
    by = labels.get(_MANAGED_BY) if isinstance(labels, dict) else None
    return by == "kyverno" and one.api_version.startswith("admissionregistration.k8s.io/")


def _kinds(reader: Reader, wanted: Callable[[Resource], bool]) -> Iterator[ApiResource]:
    """Yield the requested kinds, each in one version: the first that is served."""
    known: set[tuple[str, str]] = set()
    for served in reader.discovery.all:
        group, _, kind = served.kind
        if (group, kind) not in known and wanted(Resource(sample(served))):
            known.add((group, kind))
            yield served


def _all(reader: Reader, kinds: Iterable[ApiResource]) -> Iterator[Resource]:
    for served in kinds:
        yield from reader.everywhere(served) if not reader.namespace else _near(reader, served)


def _near(reader: Reader, served: ApiResource) -> Sequence[Resource]:
    """Return the objects of one namespace, and those of kinds outside namespaces."""
    if served.namespaced and not is_exception(Resource(sample(served))):
        return list(reader.objects(served))
    return list(reader.everywhere(served))


PASSED_OVER_GROUPS: Final = frozenset(
    ("events.k8s.io", "wgpolicyk8s.io", "openreports.io", "reports.kyverno.io")
)
PASSED_OVER: Final = frozenset((("", "Event"), ("apps", "ReplicaSet")))
"""As `resourceFilters` of Kyverno's chart has it: events and reports, and what Deployments make."""


def kinds_to_read(policies: Iterable[RunnablePolicy], discovery: Discovery) -> list[ApiResource]:
    """Return the resources of which any policy may say something, in the order they are served.

    Of a kind with several versions the one that the server prefers is read, and another only for a
    policy that does not speak of that one.
    """
    policies = [policy for policy in policies if not policy.judges_json]
    chosen: list[ApiResource] = []
    spoken: dict[tuple[str, str], set[int]] = {}
    for served in discovery.all:
        group, _, kind = served.kind
        if group in PASSED_OVER_GROUPS or (group, kind) in PASSED_OVER:
            continue
        request = Request(Resource(sample(served)), plural=served.plural)
        speaking = {index for index, policy in enumerate(policies) if policy.concerns(request)}
        known = spoken.setdefault((group, kind), set())
        if speaking - known:
            known |= speaking
            chosen.append(served)
    return chosen
