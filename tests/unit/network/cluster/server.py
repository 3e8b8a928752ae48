"""The stub API server, with lists as the real one gives them: in pages, items without kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from chartkit.model import Body
from tests.api_server import Api, ApiServer, Refused, Request
from tests.objects import api_object

KYVERNO: Final = (
    Api("kyverno.io", "v1", "clusterpolicies", "ClusterPolicy", False),
    Api("kyverno.io", "v1", "policies", "Policy", True),
    Api("kyverno.io", "v2", "policyexceptions", "PolicyException", True),
    Api("kyverno.io", "v2beta1", "globalcontextentries", "GlobalContextEntry", False),
    Api("policies.kyverno.io", "v1", "validatingpolicies", "ValidatingPolicy", False),
    Api("wgpolicyk8s.io", "v1alpha2", "policyreports", "PolicyReport", True),
    Api("wgpolicyk8s.io", "v1alpha2", "clusterpolicyreports", "ClusterPolicyReport", False),
)


def forbidden(what: str) -> Refused:
    """As an API server words it."""
    return Refused(403, "Forbidden", f'{what} is forbidden: User "u" cannot list resource')


@dataclass
class PagedServer(ApiServer):
    """answers: called for each list after its page was cut; it may change or refuse it."""

    cut: Callable[[Request, Body], Body] = lambda _request, page: page
    _listed: dict[str, Body] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for api in KYVERNO:
            self.serve(api)

    def __enter__(self) -> PagedServer:
        super().__enter__()
        return self

    def add(self, *bodies: Body) -> None:
        """Puts objects where they belong."""
        kinds = {(f"{a.group}/{a.version}".lstrip("/"), a.kind): a for a in self.apis.values()}
        for body in bodies:
            api = kinds[body["apiVersion"], body["kind"]]
            namespace = body["metadata"].get("namespace")
            place = f"/namespaces/{namespace}" if namespace else ""
            path = f"{api.root}{place}/{api.plural}/{body['metadata']['name']}"
            self.put(path, body)
        self._listed.clear()

    def asked(self) -> list[str]:
        """The paths of all requests so far."""
        return [request.path for request in self.requests]

    def answer(self, request: Request) -> Body:
        if not request.query.keys() & {"limit", "continue"}:
            return super().answer(request)
        whole = self._listed.get(request.path)
        if whole is None:
            whole = super().answer(request)
            whole["items"] = [_bare(item) for item in whole["items"]]
            self._listed[request.path] = whole
        start, size = int(request.query.get("continue") or 0), int(request.query["limit"])
        page = {**whole, "items": whole["items"][start : start + size]}
        if start + size < len(whole["items"]):
            page["metadata"] = {**whole["metadata"], "continue": str(start + size)}
        return self.cut(request, page)


def _bare(item: Body) -> Body:
    return {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}


def namespace(name: str, **labels: str) -> Body:
    """A Namespace."""
    named = {"kubernetes.io/metadata.name": name, **labels}
    return api_object("v1", "Namespace", {"name": name, "labels": named})


def pod(name: str, place: str = "shop", **metadata: object) -> Body:
    """A Pod of one container."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": place, **metadata},
        "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}]},
    }


def policy(name: str, kinds: Iterable[str], rule: Body) -> Body:
    """A ClusterPolicy of one rule."""
    match = {"any": [{"resources": {"kinds": list(kinds)}}]}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name},
        "spec": {"rules": [{"name": "rule", "match": match, **rule}]},
    }


def labelled(name: str = "labelled", *kinds: str) -> Body:
    """A policy that wants a label `team`."""
    pattern = {"metadata": {"labels": {"team": "?*"}}}
    return policy(
        name, kinds or ("Pod",), {"validate": {"message": "a team is missing", "pattern": pattern}}
    )
