"""A Kubernetes API server on loopback that keeps objects in memory.

It speaks what Helm and chartkit ask of the real one: discovery, reading, server-side apply and
the older patches (merged field by field, lists as a whole), dry runs, watches. What controllers
would do is in `tests.api_server_controllers`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from chartkit.model import Body
from tests.api_server_http import TOKEN, Refused, Request, handler
from tests.api_server_managers import after_apply
from tests.loopback import LoopbackServer

SET_OF_TEXTS = "validationActions"

__all__ = ["TOKEN", "Api", "ApiServer", "Refused", "Request", "selected"]


@dataclass(frozen=True, slots=True)
class Api:
    """One resource that is served; group: empty for the core."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def root(self) -> str:
        """Where its group and version stand: `/apis/apps/v1`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


def _apis() -> Iterator[Api]:
    for group, version, namespaced, kinds in (
        ("", "v1", True, "Service ServiceAccount ConfigMap Secret Pod Event"),
        ("", "v1", False, "Namespace Node"),
        ("apps", "v1", True, "Deployment StatefulSet DaemonSet ReplicaSet"),
        ("batch", "v1", True, "Job CronJob"),
        ("rbac.authorization.k8s.io", "v1", False, "ClusterRole ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "v1", True, "Role RoleBinding"),
        ("apiextensions.k8s.io", "v1", False, "CustomResourceDefinition"),
        (
            "admissionregistration.k8s.io",
            "v1",
            False,
            "ValidatingWebhookConfiguration MutatingWebhookConfiguration",
        ),
    ):
        for kind in kinds.split():
            yield Api(group, version, f"{kind.lower()}s", kind, namespaced)
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        plural = f"{kind.lower()}s".replace("policys", "policies")
        yield Api("admissionregistration.k8s.io", "v1", plural, kind, False)
    yield Api("apiregistration.k8s.io", "v1", "apiservices", "APIService", False)
    yield Api("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True)
    yield Api("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", True)


@dataclass
class ApiServer:
    """The server and its objects, which are kept by their paths.

    version: what `/version` says; admit: raises Refused for a write that a webhook refuses;
    written: called after each write, as controllers watch; before: called before each request.
    """

    version: str = "v1.34.1"
    objects: dict[str, Body] = field(default_factory=dict)
    apis: dict[str, Api] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    admit: Callable[[Request], None] = lambda _: None
    written: Callable[[ApiServer, str, Body | None], None] = lambda *_: None
    before: Callable[[Request], None] = lambda _: None

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.events: list[tuple[str, Body]] = []
        self.applied: dict[str, dict[str, Body]] = {}
        self.stopped = False
        for api in _apis():
            self.serve(api)
        self._http = LoopbackServer(("127.0.0.1", 0), handler(self.reply, self.watch))

    def __enter__(self) -> ApiServer:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def kubeconfig(self) -> str:
        """A kubeconfig with the contexts `stub` and `closed`, at whose port nobody listens."""
        clusters = {"stub": self.url, "closed": "http://127.0.0.1:9"}
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "stub",
            "clusters": [{"name": n, "cluster": {"server": u}} for n, u in clusters.items()],
            "users": [{"name": "u", "user": {"token": TOKEN}}],
            "contexts": [{"name": n, "context": {"cluster": n, "user": "u"}} for n in clusters],
        }
        return json.dumps(body)

    def serve(self, api: Api) -> None:
        """Serves one more resource."""
        self.apis[f"{api.root}/{api.plural}"] = api

    def of_kind(self, kind: str) -> list[Body]:
        """Every object of a kind."""
        with self.lock:
            return [body for body in self.objects.values() if body.get("kind") == kind]

    def names(self, kind: str) -> set[str]:
        """The names of every object of a kind."""
        return {body["metadata"]["name"] for body in self.of_kind(kind)}

    def put(self, path: str, body: Body | None) -> None:
        """Writes an object as a controller does; None: deletes it."""
        with self.changed:
            there = self.objects.get(path)
            if body is None:
                if there is None:
                    return
                del self.objects[path]
                event = ("DELETED", there)
            else:
                event = ("MODIFIED" if there else "ADDED", body)
                metadata = body.setdefault("metadata", {})
                metadata["resourceVersion"] = str(len(self.events) + 1)
                metadata.setdefault("uid", f"uid-{len(self.events)}")
                metadata.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
                self.objects[path] = body
            self.events.append(event)
            self.changed.notify_all()

    def reply(self, request: Request) -> tuple[int, Body]:
        """The status and a copy of the answer to a request; raises Refused."""
        self.before(request)
        with self.lock:
            self.requests.append(request)
            return 200, json.loads(json.dumps(self.answer(request)))

    def answer(self, request: Request) -> Body:
        """The answer to anything but a watch; raises Refused."""
        if request.path == "/version":
            major, minor = self.version.removeprefix("v").split(".")[:2]
            others = "buildDate compiler gitCommit gitTreeState goVersion platform"
            known = {"major": major, "minor": minor, "gitVersion": self.version}
            return {**dict.fromkeys(others.split(), ""), **known}
        found = self._discovery(request.path)
        if found is not None:
            return found
        api, collection, name, sub = self._parse(request.path)
        if request.method == "GET":
            return self._item(request.path) if name else self._list(api, collection, request)
        return self._write(request, api, collection, name, sub)

    def _open_api(self, path: str) -> Body:
        """What makes a client leave the validation of fields to the server."""
        roots = sorted({api.root for api in self.apis.values()})
        below = path.removeprefix("/openapi/v3")
        if not below:
            return {"paths": {r[1:]: {"serverRelativeURL": f"/openapi/v3{r}"} for r in roots}}
        parameter = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
        paths = {}
        for api in self.apis.values():
            if api.root == below:
                kind = {"group": api.group, "version": api.version, "kind": api.kind}
                patch = {"parameters": [parameter], "x-kubernetes-group-version-kind": kind}
                paths[f"{below}/{api.plural}/{{name}}"] = {"patch": {**patch, "responses": {}}}
        return {"openapi": "3.0.0", "info": {"title": "t", "version": "v"}, "paths": paths}

    def _discovery(self, path: str) -> Body | None:
        if path.startswith("/openapi/v3"):
            return self._open_api(path)
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        roots: dict[str, set[str]] = {}
        for api in self.apis.values():
            roots.setdefault(api.group, set()).add(api.version)
        if path == "/apis":
            groups = []
            for group, versions in roots.items():
                named = [
                    {"groupVersion": f"{group}/{each}", "version": each}
                    for each in sorted(versions)
                ]
                groups.append({"name": group, "versions": named, "preferredVersion": named[-1]})
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups[1:]}
        served = [api for api in self.apis.values() if api.root == path]
        if not served:
            return None
        verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
        listed = [
            {"name": a.plural, "kind": a.kind, "namespaced": a.namespaced, "verbs": verbs}
            for a in served
        ]
        version = path.removeprefix("/apis/").removeprefix("/api/")
        return {"kind": "APIResourceList", "groupVersion": version, "resources": listed}

    def _parse(self, path: str) -> tuple[Api, str, str, str]:
        """The resource, the collection's path, the name and the subresource of a path."""
        parts = path.strip("/").split("/")
        start = 2 if parts[0] == "api" else 3
        root, rest = "/" + "/".join(parts[:start]), parts[start:]
        inside = len(rest) > 2 and rest[0] == "namespaces" and f"{root}/{rest[2]}" in self.apis
        at = 2 if inside else 0
        api = self.apis.get(f"{root}/{rest[at]}") if len(rest) > at else None
        if api is None:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        collection = "/".join([root, *rest[: at + 1]])
        name, sub = ([*rest[at + 1 :], "", ""])[:2]
        return api, collection, name, sub

    def _item(self, path: str) -> Body:
        if path not in self.objects:
            raise Refused(404, "NotFound", f"{path} not found")
        return self.objects[path]

    def _list(self, api: Api, collection: str, request: Request) -> Body:
        matching = [
            body
            for path, body in sorted(self.objects.items())
            if self._collected(api, collection, body, path) and selected(body, request.query)
        ]
        return {
            "kind": f"{api.kind}List",
            "apiVersion": f"{api.group}/{api.version}".lstrip("/"),
            "metadata": {"resourceVersion": str(len(self.events))},
            "items": matching,
        }

    def _collected(self, api: Api, collection: str, body: Body, path: str) -> bool:
        everywhere = collection == f"{api.root}/{api.plural}"
        if everywhere:
            version = f"{api.group}/{api.version}".lstrip("/")
            return bool(body["kind"] == api.kind and body["apiVersion"] == version)
        return path.rpartition("/")[0] == collection

    def _write(self, request: Request, api: Api, collection: str, name: str, sub: str) -> Body:
        path = request.path.removesuffix(f"/{sub}") if sub else request.path
        if request.method == "POST":
            assert request.body is not None
            name = request.body["metadata"]["name"]
            path = f"{collection}/{name}"
            if path in self.objects:
                raise Refused(409, "AlreadyExists", f'{api.plural} "{name}" already exists')
        there = self.objects.get(path)
        applied = request.kind_of_patch == "apply-patch"
        if there is None and request.method != "POST" and not applied:
            raise Refused(404, "NotFound", f'{api.plural} "{name}" not found')
        self.admit(request)
        if request.method == "DELETE":
            return self._delete(path, request)
        assert request.body is not None
        new = deepcopy(request.body)
        if request.method == "PATCH":
            new = _patched(there or {}, request.body)
            if applied and there and "managedFields" in there["metadata"]:
                manager, force = request.query["fieldManager"], request.query.get("force") == "true"
                new["metadata"]["managedFields"] = after_apply(there, request.body, manager, force)
            self._share(request, path, new)
        self._require_namespace(collection)
        if request.query.get("dryRun"):
            return new
        if there is not None:
            new["metadata"] = {**there["metadata"], **new.get("metadata", {})}
        self.put(path, new)
        self.written(self, path, new)
        return self.objects.get(path, new)

    def _share(self, request: Request, path: str, new: Body) -> None:
        """Under server-side apply `validationActions` is a set: what its managers wrote adds up,
        until somebody writes the field in another way."""
        managers = self.applied.setdefault(path, {})
        if request.kind_of_patch != "apply-patch":
            managers.clear()
        elif not request.query.get("dryRun"):
            managers[request.query.get("fieldManager", "")] = request.body or {}
        written = [each.get("spec", {}).get(SET_OF_TEXTS) or [] for each in managers.values()]
        if SET_OF_TEXTS in (new.get("spec") or {}) and written:
            new["spec"][SET_OF_TEXTS] = sorted({text for each in written for text in each})

    def _require_namespace(self, collection: str) -> None:
        before, marker, after = collection.partition("/namespaces/")
        namespace = after.partition("/")[0]
        if marker and before and f"/api/v1/namespaces/{namespace}" not in self.objects:
            raise Refused(404, "NotFound", f'namespaces "{namespace}" not found')

    def _delete(self, path: str, request: Request) -> Body:
        there = self._item(path)
        if not request.query.get("dryRun"):
            self.put(path, None)
            self.written(self, path, None)
        return {
            "kind": "Status",
            "status": "Success",
            "details": {"name": path, "x": there["kind"]},
        }

    def watch(self, request: Request) -> Iterator[tuple[str, Body]]:
        """Events after a resource version, until the server stops or the time is over."""
        api, collection, _, _ = self._parse(request.path)
        if request.query.get("sendInitialEvents"):
            raise Refused(422, "Invalid", "sendInitialEvents is not served")
        at = int(request.query.get("resourceVersion") or 0)
        while True:
            with self.changed:
                if at >= len(self.events) and not self.stopped:
                    self.changed.wait(1)
                if self.stopped:
                    return
                new, at = self.events[at:], len(self.events)
            for what, body in new:
                metadata = body["metadata"]
                namespace = metadata.get("namespace", "")
                own = f"{api.root}/namespaces/{namespace}/{api.plural}"
                everywhere = f"{api.root}/{api.plural}"
                ours = body["kind"] == api.kind and collection in (own, everywhere)
                if ours and selected(body, request.query):
                    yield what, body


def selected(body: Body, query: Mapping[str, str]) -> bool:
    """Whether an object is meant by the label and field selectors of a query: `a=b`, `a`, `a!=b`,
    and `metadata.name=x` or `type=x`."""
    metadata = body["metadata"]
    labels = metadata.get("labels") or {}
    for part in filter(None, query.get("labelSelector", "").split(",")):
        key, equals, value = part.replace("==", "=").partition("=")
        if key.endswith("!"):
            if labels.get(key[:-1]) == value:
                return False
        elif (labels.get(key) != value) if equals else key not in labels:
            return False
    field_selector = query.get("fieldSelector", "")
    known = (f"metadata.name={metadata['name']}", f"type={body.get('type')}")
    return not field_selector or field_selector in known


def _patched(there: Any, patch: Any) -> Any:
    """A merge of fields: null removes one, lists are taken whole."""
    if not isinstance(there, dict) or not isinstance(patch, dict):
        return deepcopy(patch)
    merged = dict(there)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _patched(merged.get(key, {}), value)
    return merged
