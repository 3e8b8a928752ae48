"""Resources of an API server, and their objects, Kyverno's among them, with what could not be read
kept for the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
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
from chartkit.engine.kubernetes.kinds import (
    DEFAULT_NAMESPACE,
    GroupVersionKind,
    is_binding,
    parse_api_version,
)
from chartkit.errors import CompileError, InputError
from chartkit.model import Body, Diagnostic, Location, Resource, mappings_at
from chartkit.network.cluster.cleaning import cleaned
from chartkit.network.cluster.client import object_path
from chartkit.network.cluster.recording import RecordedSource
from chartkit.network.cluster.source import (
    EXPIRED,
    FORBIDDEN,
    MISSING,
    TOO_LARGE,
    AnswerError,
    RefusedError,
    Source,
    objects_in,
    with_query,
)

_CLUSTER_WIDE = "needs the right to list in all namespaces; --namespace NAME reads one"
PAGE: Final = 500
"""Objects a page, as `kubectl` has it."""
SMALLEST: Final = 5
MOST_RESTARTS: Final = 5
MEASURES: Final = frozenset(("metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"))
"""Groups that measure and hold nothing, and often do not answer; they are not asked."""
_MANAGED_BY = "app.kubernetes.io/managed-by"
PASSED_OVER_GROUPS: Final = frozenset(
    ("events.k8s.io", "wgpolicyk8s.io", "openreports.io", "reports.kyverno.io")
)
PASSED_OVER: Final = frozenset((("", "Event"), ("apps", "ReplicaSet")))
"""As `resourceFilters` of Kyverno's chart has it: events and reports, and what Deployments make."""


class Reader:
    """A reader of a cluster, or of one of its namespaces. unread: what was to be read and could not
    be, with the reason; is_recorded: whether that is a recording."""

    def __init__(self, source: Source, namespace: str = "") -> None:
        """Raises SourceError, and InputError where the server does not say what it serves, or has
        no such namespace."""
        self.source = source
        self.namespace = namespace
        self.unread: dict[str, str] = {}
        self.is_recorded = isinstance(source, RecordedSource)
        try:
            self.discovery = Discovery(source)
        except RefusedError as error:
            text = f"the API server does not say what it serves: {_reason(error)}"
            raise InputError(text) from None
        for version, failed in self.discovery.failed:
            self.unread[f"the kinds of {version}"] = _reason(failed)

    @cached_property
    def namespaces(self) -> Mapping[str, Body]:
        """The Namespace objects that are read, by name; empty where that is not allowed."""
        if self.namespace:
            try:
                namespace_body = self.source.get(NAMESPACES.path(name=self.namespace))
            except RefusedError as error:
                if error.status == MISSING:
                    raise InputError(f"there is no namespace '{self.namespace}'") from None
                self.unread[f"namespace '{self.namespace}' itself"] = _reason(error)
                body: Body | None = None
            else:
                body = cleaned({**namespace_body, "apiVersion": "v1", "kind": "Namespace"})
            return {} if body is None else {self.namespace: body}
        try:
            bodies = list(listed(self.source, NAMESPACES.path(), "v1", "Namespace"))
        except RefusedError as error:
            self.unread["namespaces"] = _reason(error)
            return {}
        return {body["metadata"]["name"]: body for body in bodies}

    def objects(self, served: ApiResource) -> Iterator[Resource]:
        """Yield the objects of a kind; with a namespace, its own, and of objects outside namespaces
        that Namespace alone."""
        if not self.namespace:
            yield from self.everywhere(served)
        elif served.namespaced:
            try:
                yield from self._list(served, self.namespace)
            except RefusedError as error:
                self.unread[served.name] = _reason(error)
        elif served.kind == NAMESPACES.kind:
            yield from (_resource(served, body) for body in self.namespaces.values())

    def everywhere(self, served: ApiResource) -> Iterator[Resource]:
        """Yield the objects of a kind in the whole cluster, or, if that is forbidden, of every
        namespace in which it is not."""
        begun = False
        try:
            for resource in self._list(served, ""):
                begun = True
                yield resource
        except RefusedError as error:
            places = list(self.namespaces) if served.namespaced else []
            if begun or error.status != FORBIDDEN or not places:
                is_narrow = error.status == FORBIDDEN and served.namespaced and not places
                hint = f" ({_CLUSTER_WIDE})" if is_narrow else ""
                self.unread[served.name] = f"{_reason(error)}{hint}"
                return
            yield from self._by_namespace(served, places)

    def _by_namespace(self, served: ApiResource, namespaces: list[str]) -> Iterator[Resource]:
        refused: dict[str, str] = {}
        for namespace in namespaces:
            try:
                yield from self._list(served, namespace)
            except RefusedError as error:
                refused[namespace] = _reason(error)
        if len(refused) == len(namespaces):
            self.unread[served.name] = next(iter(refused.values()))
            return
        for namespace, reason in refused.items():
            self.unread[f"{served.name} in namespace '{namespace}'"] = reason

    def _list(self, served: ApiResource, namespace: str) -> Iterator[Resource]:
        path, (_, _, kind) = served.path(namespace), served.kind
        for body in listed(self.source, path, served.api_version, kind):
            yield _resource(served, body)

    def note(self, what: str, error: RefusedError) -> None:
        """Remember that a policy's request was refused."""
        self.unread[what] = _reason(error)


def config_map_path(namespace: str, name: str) -> str:
    """Return the path of a ConfigMap."""
    return CONFIG_MAPS.path(namespace, name)


def _resource(served: ApiResource, body: Body) -> Resource:
    metadata = body["metadata"]
    return Resource(body, Location(served.path(metadata.get("namespace") or "", metadata["name"])))


def _reason(error: RefusedError) -> str:
    if error.status == FORBIDDEN:
        return "forbidden (403)"
    return f"{error.message} ({error.status})" if error.status else error.message


def listed(source: Source, path: str, api_version: str, kind: str) -> Iterator[Body]:
    """Yield the objects of a list, each with its kind, without fields that no policy evaluates.

    A list whose token to go on has expired (410) is read again from its start; what was handed on
    is not handed on twice. Where a page is too large, smaller ones follow. Raises what the source
    raises.
    """
    seen: set[tuple[str, str]] = set()
    following = ""
    restarts, size = 0, PAGE
    while True:
        query = {"limit": str(size)} | ({"continue": following} if following else {})
        try:
            page = source.get(with_query(path, query))
        except RefusedError as error:
            if error.status == TOO_LARGE and size > SMALLEST:
                size //= 10
                continue
            if error.status != EXPIRED or not following or restarts == MOST_RESTARTS:
                raise
            restarts += 1
            following = ""
            # Another question than before, so that a recording keeps the answers to both.
            size = max(1, size - 1)
            continue
        for body in _items(page):
            whole = cleaned({"apiVersion": api_version, "kind": kind, **body})
            metadata = whole["metadata"]
            key = (metadata.get("namespace") or "", metadata["name"])
            if key not in seen:
                seen.add(key)
                yield whole
        going_on = page.get("metadata")
        following = str((going_on if isinstance(going_on, dict) else {}).get("continue") or "")
        if not following:
            return


def _items(page: Body) -> list[Body]:
    """Return the objects of a page; raise RefusedError for anything but a list of objects."""
    try:
        return objects_in(page)
    except AnswerError as error:
        raise RefusedError(0, f"the response {error}") from None


@dataclass(frozen=True, slots=True)
class ApiResource:
    """A resource: what its objects are, its name in URLs, and whether they are in namespaces."""

    kind: GroupVersionKind
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """As objects name it: `apps/v1`, `v1`."""
        group, version, _ = self.kind
        return f"{group}/{version}" if group else version

    @property
    def name(self) -> str:
        """As messages and permissions name it: `deployments.apps`, `pods`."""
        return f"{self.plural}.{self.kind.group}" if self.kind.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of its objects. namespace: empty for all namespaces."""
        scope = namespace if self.namespaced else ""
        return object_path(self.api_version, self.plural, scope, name)


NAMESPACES: Final = ApiResource(GroupVersionKind("", "v1", "Namespace"), "namespaces", False)
SECRETS: Final = ApiResource(GroupVersionKind("", "v1", "Secret"), "secrets", True)
CONFIG_MAPS: Final = ApiResource(GroupVersionKind("", "v1", "ConfigMap"), "configmaps", True)


def sample(served: ApiResource) -> Body:
    """Return an object of a kind, with its kind and scope alone."""
    metadata: Body = {"name": "any"}
    if served.namespaced:
        metadata["namespace"] = DEFAULT_NAMESPACE
    return {"apiVersion": served.api_version, "kind": served.kind.kind, "metadata": metadata}


class Discovery:
    """Everything that a server serves; of a group the version that it prefers comes first."""

    def __init__(self, source: Source) -> None:
        """Raises SourceError, and RefusedError where the server does not list what it serves;
        failed: each `group/version` that it could not list, with the reason."""
        self.failed: list[tuple[str, RefusedError]] = []
        self.all: tuple[ApiResource, ...] = tuple(self._read(source))
        self._by_kind = {resource.kind: resource for resource in reversed(self.all)}
        self._by_plural = {(served.api_version, served.plural): served for served in self.all}

    def of_kind(self, api_version: str, kind: str) -> ApiResource | None:
        """Return the resource of a kind; None where it is not served."""
        return self._by_kind.get(GroupVersionKind(*parse_api_version(api_version), kind))

    def of_plural(self, api_version: str, plural: str) -> ApiResource | None:
        """Return the resource of a name in URLs; None where it is not served."""
        return self._by_plural.get((api_version, plural))

    def plural(self, kind: GroupVersionKind) -> str:
        """Return the name of a kind in URLs; empty where it is not served."""
        served = self._by_kind.get(kind)
        return "" if served is None else served.plural

    def _read(self, source: Source) -> Iterator[ApiResource]:
        roots = [("/api/v1", "v1")]
        for group in _listed(source.get("/apis"), "APIGroupList", "groups"):
            if str(group.get("name")) in MEASURES:
                continue
            versions = [str(row.get("groupVersion")) for row in mappings_at(group, "versions")]
            preferred = group.get("preferredVersion")
            first = preferred.get("groupVersion") if isinstance(preferred, dict) else None
            ordered = [version for version in versions if version == first]
            ordered += [version for version in versions if version != first]
            roots += [(f"/apis/{version}", version) for version in ordered]
        for path, version in roots:
            try:
                entries = _listed(source.get(path), "APIResourceList", "resources")
            except RefusedError as error:
                self.failed.append((version, error))
                continue
            for entry in entries:
                plural, kind, verbs = entry.get("name"), entry.get("kind"), entry.get("verbs")
                if not isinstance(plural, str) or not isinstance(kind, str) or "/" in plural:
                    continue
                if isinstance(verbs, list) and "list" in verbs:
                    served = GroupVersionKind(*parse_api_version(version), kind)
                    yield ApiResource(served, plural, entry.get("namespaced") is True)


def _listed(answer: Body, kind: str, key: str) -> list[Body]:
    """Return the members of an answer of a kind; raises RefusedError for any other answer."""
    items = answer.get(key)
    if answer.get("kind", kind) != kind or not isinstance(items, list):
        raise RefusedError(0, f"the response is not of kind {kind}; is this an API server?")
    return mappings_at(answer, key)


def policies_there(reader: Reader) -> list[Resource]:
    """Return the cluster's policies and the bindings of Kubernetes policies, without the policies
    that Kyverno generated from its own, which say the same twice."""
    there = _objects(reader, lambda resource: is_policy(resource) or is_binding(resource))
    return [resource for resource in there if not _is_made(resource)]


def legacy_there(reader: Reader) -> list[Resource]:
    """Return the policies, cleanup policies and exceptions of kyverno.io in the cluster."""
    return _objects(reader, is_legacy)


def exception_objects(reader: Reader) -> list[Resource]:
    """Return the PolicyExceptions of the cluster as they are."""
    return _objects(reader, is_exception)


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
    return _objects(reader, is_global_context_entry)


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


def joined(first: PolicyAttachments, other: PolicyAttachments) -> PolicyAttachments:
    """Return the objects of both."""
    return PolicyAttachments(
        first.exceptions + other.exceptions,
        first.cel_exceptions + other.cel_exceptions,
        first.bindings + other.bindings,
        first.allows_http or other.allows_http,
    )


def _is_made(policy: Resource) -> bool:
    """Report whether Kyverno generated a Kubernetes policy from one of its own."""
    labels = policy.body["metadata"].get("labels")
    by = labels.get(_MANAGED_BY) if isinstance(labels, dict) else None
    return by == "kyverno" and policy.api_version.startswith("admissionregistration.k8s.io/")


def _objects(reader: Reader, wanted: Callable[[Resource], bool]) -> list[Resource]:
    """Return the objects of the requested kinds, each in one version: the first that is served.
    Exceptions, and objects outside namespaces, are read everywhere."""
    seen: set[tuple[str, str]] = set()
    objects: list[Resource] = []
    for served in reader.discovery.all:
        group, _, kind = served.kind
        example = Resource(sample(served))
        if (group, kind) in seen or not wanted(example):
            continue
        seen.add((group, kind))
        is_of_one = reader.namespace and served.namespaced and not is_exception(example)
        objects += reader.objects(served) if is_of_one else reader.everywhere(served)
    return objects


def kinds_to_read(policies: Iterable[RunnablePolicy], discovery: Discovery) -> list[ApiResource]:
    """Return the resources that any policy may concern, in the order they are served. Of a kind
    with several versions the server's preferred one is read, and another only for a policy that
    does not match the preferred one."""
    policies = [policy for policy in policies if not policy.judges_json]
    chosen: list[ApiResource] = []
    spoken: dict[tuple[str, str], set[int]] = {}
    for served in discovery.all:
        group, _, kind = served.kind
        if group in PASSED_OVER_GROUPS or (group, kind) in PASSED_OVER:
            continue
        request = Request(Resource(sample(served)), plural=served.plural)
        speaking = {index for index, policy in enumerate(policies) if policy.concerns(request)}
        covered = spoken.setdefault((group, kind), set())
        if speaking - covered:
            covered |= speaking
            chosen.append(served)
    return chosen
