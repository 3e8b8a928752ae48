"""AdmissionReviews (admission.k8s.io/v1), read from a request's body and written as its answer."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from typing import Final

from chartkit.documents.json_text import parse_json
from chartkit.engine import Operation
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.request import User
from chartkit.errors import InputError
from chartkit.model import (
    Body,
    Json,
    Location,
    Resource,
    mapping_at,
    mappings_at,
    text_of,
    texts_of,
)

VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
_NOWHERE: Final = Location("<review>")
_HEAD: Final = f'{{"apiVersion":"{VERSION}","kind":"{KIND}","response":{{'
_quoted: Final = encode_basestring
_FIELDS: Final = (
    *("uid", "kind", "resource", "subResource", "requestKind", "requestResource"),
    *("requestSubResource", "name", "namespace", "operation", "userInfo", "dryRun"),
)
GROUP: Final = "rbac.authorization.k8s.io"
_KINDS: Final = ("RoleBinding", "ClusterRoleBinding")


class ReviewError(InputError):
    """A body that is not an AdmissionReview of the version that is served."""


@dataclass(frozen=True, slots=True)
class Review:
    """A request of an API server.

    kind: of the object; resource: the name of the whole object's resource in URLs, api_version:
    its group and version; object: what is written, None for a deletion; old: what was there, None
    for a creation; user: `userInfo` as it stands; is_dry_run: whether nothing is stored; fields:
    the request as expressions see it, without its objects.
    """

    uid: str
    kind: GroupVersionKind
    api_version: str
    resource: str
    subresource: str
    operation: Operation
    name: str
    namespace: str
    object: Resource | None
    old: Resource | None
    user: Body
    is_dry_run: bool
    fields: Body

    @property
    def subject(self) -> Resource:
        """The object that rules look at: for a deletion, the one that goes."""
        resource = self.object or self.old
        assert resource is not None
        return resource


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a review. message: why it is denied; patch: RFC 6902, none for no change;
    warnings: shown to the user by `kubectl`."""

    allowed: bool
    message: str = ""
    warnings: Sequence[str] = ()
    patch: Sequence[Body] = field(default=())

    def encoded(self, uid: str) -> bytes:
        """Return the body of the HTTP response."""
        # Written by hand: the JSON encoder takes ten times as long to come to the texts.
        said = [f'"uid":{_quoted(uid)},"allowed":{"true" if self.allowed else "false"}']
        if self.message:
            said.append(f'"status":{{"status":"Failure","message":{_quoted(self.message)}}}')
        if self.patch:
            text = json.dumps(self.patch, ensure_ascii=False, separators=(",", ":"))
            encoded = base64.b64encode(text.encode("utf-8")).decode("ascii")
            said.append(f'"patch":"{encoded}","patchType":"JSONPatch"')
        if self.warnings:
            said.append(f'"warnings":[{",".join(map(_quoted, self.warnings))}]')
        return f"{_HEAD}{','.join(said)}}}}}".encode()


def parse_review(content: bytes) -> Review:
    """Return the request of a review; raise ReviewError for any other content."""
    try:
        review = parse_json(content)
    except ValueError as error:
        raise ReviewError(f"the body is not JSON: {error}") from None
    if not isinstance(review, dict) or review.get("kind") != KIND:
        raise ReviewError(f"the body is not an {KIND}")
    if review.get("apiVersion") != VERSION:
        raise ReviewError(
            f"'{review.get('apiVersion')}' is not a version of {KIND} that is served",
            hint=f"set admissionReviewVersions of the webhook to v1, for {VERSION}",
        )
    request = review.get("request")
    if not isinstance(request, dict):
        raise ReviewError(f"the {KIND} has no request")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise ReviewError("the request has no uid")
    group, version, name = _texts(request, "kind", "kind")
    kind = GroupVersionKind(group, version, name)
    if not (kind.version and kind.kind):
        raise ReviewError("the request has no kind")
    group, version, resource = _texts(request, "resource", "resource")
    namespace = _text(request, "namespace")
    user = request.get("userInfo")
    fields = {key: request[key] for key in _FIELDS if request.get(key) not in (None, "")}
    parsed = Review(
        uid,
        kind,
        f"{group}/{version}" if group else version,
        resource,
        _text(request, "subResource"),
        _operation(request.get("operation")),
        _text(request, "name"),
        namespace,
        _object(request, "object", kind, namespace),
        _object(request, "oldObject", kind, namespace),
        user if isinstance(user, dict) else {},
        request.get("dryRun") is True,
        {**fields, "options": request.get("options")},
    )
    if parsed.object is None and parsed.old is None:
        raise ReviewError("the request has neither object nor oldObject")
    return parsed


def _texts(request: Body, key: str, name: str) -> tuple[str, str, str]:
    """Return the group, the version and the name of a type."""
    body = mapping_at(request, key)
    path = f"{key}."
    return _text(body, "group", path), _text(body, "version", path), _text(body, name, path)


def _text(body: Body, key: str, path: str = "") -> str:
    value = body.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ReviewError(f"request.{path}{key} is not a string")
    return value


def _operation(value: Json) -> Operation:
    try:
        return Operation(value)
    except ValueError:
        operations = ", ".join(Operation)
        raise ReviewError(f"request.operation is none of {operations}") from None


def _object(request: Body, key: str, kind: GroupVersionKind, namespace: str) -> Resource | None:
    """An object with the request's kind and namespace, as in Kyverno's `pkg/utils/admission`."""
    body = request.get(key)
    if body is None:
        return None
    if not isinstance(body, dict):
        raise ReviewError(f"request.{key} is not an object")
    metadata = body.get("metadata")
    if not isinstance(metadata, dict | None):
        raise ReviewError(f"request.{key}.metadata is not an object")
    version = f"{kind.group}/{kind.version}" if kind.group else kind.version
    if body.get("apiVersion") != version or body.get("kind") != kind.kind:
        body = {**body, "apiVersion": version, "kind": kind.kind}
    inside = "" if kind.kind == "Namespace" else namespace
    there = (metadata or {}).get("namespace")
    if kind.kind == "Namespace" and there:
        body = {**body, "metadata": {k: v for k, v in (metadata or {}).items() if k != "namespace"}}
    elif inside and there != inside:
        body = {**body, "metadata": {**(metadata or {}), "namespace": inside}}
    return Resource(body, _NOWHERE)


def is_role_binding(resource: Resource) -> bool:
    """Report whether an object gives roles to users."""
    return resource.kind in _KINDS and resource.api_version.startswith(f"{GROUP}/")


@dataclass(frozen=True, slots=True)
class _Binding:
    """A binding; namespace: empty for a cluster's; users: service accounts among them."""

    namespace: str
    is_cluster_role: bool
    role: str
    users: frozenset[str]
    groups: frozenset[str]


class RoleBindings:
    """The RoleBindings and ClusterRoleBindings among objects."""

    __slots__ = ("_bindings",)

    def __init__(self, roles: Iterable[Resource] = ()) -> None:
        self._bindings = tuple(_binding(binding) for binding in roles if is_role_binding(binding))

    def user(self, info: Body, namespace: str) -> User:
        """Return a user with its roles; namespace: the namespace of the request."""
        name, groups = text_of(info.get("username")), tuple(texts_of(info.get("groups")))
        extra = mapping_at(info, "extra")
        uid = text_of(info.get("uid"))
        if not self._bindings:
            return User(name, uid, groups, extra)
        roles: set[str] = set()
        cluster_roles: set[str] = set()
        for binding in self._bindings:
            if name not in binding.users and binding.groups.isdisjoint(groups):
                continue
            if not binding.is_cluster_role:
                if binding.namespace:
                    roles.add(f"{binding.namespace}:{binding.role}")
            elif binding.namespace in ("", namespace):
                cluster_roles.add(binding.role)
        return User(name, uid, groups, extra, tuple(sorted(roles)), tuple(sorted(cluster_roles)))


def _binding(resource: Resource) -> _Binding:
    namespace = resource.namespace if resource.kind == "RoleBinding" else ""
    users: set[str] = set()
    groups: set[str] = set()
    for subject in mappings_at(resource.body, "subjects"):
        kind, name = subject.get("kind"), text_of(subject.get("name"))
        if kind == "ServiceAccount":
            home = text_of(subject.get("namespace")) or namespace
            if home:
                users.add(f"system:serviceaccount:{home}:{name}")
        elif kind == "Group":
            groups.add(name)
        elif kind == "User":
            users.add(name)
    reference = mapping_at(resource.body, "roleRef")
    is_cluster_role = reference.get("kind") == "ClusterRole"
    role = text_of(reference.get("name"))
    return _Binding(namespace, is_cluster_role, role, frozenset(users), frozenset(groups))
