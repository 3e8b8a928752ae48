"""What policies ask a cluster: each question once, and nothing but questions."""

import pytest

from chartkit.engine.cleanup.deleting import read_deleting_policy
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.ports.services import ObjectKey
from chartkit.engine.request import Request as Admission
from chartkit.model import Body, Json, Resource, Status
from chartkit.network.cluster.reader import ApiResource, Reader
from chartkit.network.cluster.world import CachedReads, live_world
from tests.api_server import Api, Refused, Request
from tests.data import from_table, tables
from tests.objects import api_object
from tests.unit.network.cluster.conftest import World
from tests.unit.network.cluster.server import forbidden, pod, policy


def _denies(context: Json, key: str, value: Json, *kinds: str) -> Body:
    """A policy that denies where a value from the cluster is not the one that is wanted."""
    condition = {"key": key, "operator": "NotEquals", "value": value}
    deny = {"message": f"found {key}", "deny": {"conditions": {"any": [condition]}}}
    return policy("asks", kinds or ("Pod",), {"context": context, "validate": deny})


def _config_map(name: str, place: str = "shop", **data: str) -> Body:
    metadata = {"name": name, "namespace": place}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def test_config_maps(world: World) -> None:
    context = [{"name": "c", "configMap": {"name": "settings", "namespace": "shop"}}]
    world.server.add(pod("a"), pod("b"), _config_map("settings", tier="front"))
    code, out, err = world.scan(
        "--cluster", *world.policies(_denies(context, "{{ c.data.tier }}", "front"))
    )
    assert (code, err) == (0, "")
    assert "pass: 2" in out
    path = "/api/v1/namespaces/shop/configmaps/settings"
    assert world.server.asked().count(path) == 1


def test_a_config_map_that_is_not_there(world: World) -> None:
    context = [{"name": "c", "configMap": {"name": "settings", "namespace": "shop"}}]
    world.server.add(pod("a"))
    code, out, err = world.scan(
        "--cluster", *world.policies(_denies(context, "{{ c.data.tier }}", "front"))
    )
    assert (code, err) == (1, "")
    assert "settings" in out
    assert "error: 1" in out


def test_api_calls(world: World) -> None:
    url = "/api/v1/namespaces/{{ request.namespace }}/configmaps"
    context = [{"name": "n", "apiCall": {"urlPath": url, "jmesPath": "items | length(@)"}}]
    world.server.add(pod("a"), pod("b", "kube-system"), _config_map("x"), _config_map("y"))
    code, out, err = world.scan("--cluster", *world.policies(_denies(context, "{{ n }}", 2)))
    assert (code, err) == (1, "")
    assert "found 0" in out
    assert "pass: 1, fail: 1" in out


def test_an_api_call_that_is_forbidden_is_told_once(world: World) -> None:
    context = [{"name": "n", "apiCall": {"urlPath": "/api/v1/configmaps"}}]
    world.server.add(pod("a"), pod("b"))

    def refuse(request: object) -> None:
        if getattr(request, "path", "") == "/api/v1/configmaps":
            raise forbidden("configmaps")

    world.server.before = refuse
    code, out, err = world.scan("--cluster", *world.policies(_denies(context, "{{ n }}", 2)))
    assert code == 1
    assert "error: 2" in out
    assert "failed to GET resource with raw url: /api/v1/configmaps: configmaps is forbidden" in out
    assert err == "not read: /api/v1/configmaps: forbidden (403)\n"
    assert world.server.asked().count("/api/v1/configmaps") == 0


def test_a_post_is_not_sent(world: World) -> None:
    call = {"urlPath": "/apis/authorization.k8s.io/v1/subjectaccessreviews", "method": "POST"}
    world.server.add(pod("a"))
    body = _denies([{"name": "n", "apiCall": {**call, "data": []}}], "{{ n }}", 2)
    code, out, _ = world.scan("--cluster", *world.policies(body))
    assert code == 1
    assert "a scan only reads, and POST is not a reading" in out


@from_table("spec")
def test_entries_of_the_global_context(world: World, spec: Body) -> None:
    path = "items[].metadata.name" if "apiCall" in spec else "[].metadata.name"
    projections = [{"name": "names", "jmesPath": path}]
    entry = {
        "apiVersion": "kyverno.io/v2beta1",
        "kind": "GlobalContextEntry",
        "metadata": {"name": "maps"},
        "spec": {**spec, "projections": projections},
    }
    world.server.add(pod("a"), _config_map("x"), entry)
    context = [{"name": "n", "globalReference": {"name": "maps.names"}}]
    code, out, err = world.scan("--cluster", *world.policies(_denies(context, "{{ n }}", ["x"])))
    assert (code, err) == (0, ""), out


@from_table("status", "failures", "limit", "asked", "code")
def test_calls_of_entries_are_made_again(
    world: World, status: int, failures: int, limit: int | None, asked: int, code: int
) -> None:
    path = "/api/v1/namespaces/shop/configmaps"
    call = {"urlPath": path, **({"retryLimit": limit} if limit else {})}
    entry = api_object("kyverno.io/v2beta1", "GlobalContextEntry", "maps", spec={"apiCall": call})
    world.server.add(pod("a"), pod("b"), _config_map("x"), entry)
    tries: list[str] = []

    def fail(request: Request) -> None:
        if request.path == path:
            tries.append(path)
            if len(tries) <= failures:
                raise Refused(status, "Failure", "it does not work")

    world.server.before = fail
    context = [{"name": "n", "globalReference": {"name": "maps"}}]
    denies = _denies(context, "{{ n.items | length(@) }}", 1)
    found, out, _ = world.scan("--cluster", *world.policies(denies))
    assert (found, len(tries)) == (code, asked), out
    assert ("pass: 2" if code == 0 else "error: 2") in out


def test_what_rules_generate_is_cloned_from_the_cluster(world: World) -> None:
    clone = tables(__file__)["clone"]
    world.server.add(_config_map("original", a="1"))
    code, out, err = world.scan(
        "--cluster",
        "--detailed",
        *world.policies(policy("clones", ["Namespace"], {"generate": clone})),
    )
    assert (code, err) == (0, ""), out
    assert "pass: 2" in out
    assert "/api/v1/namespaces/shop/configmaps/original" in world.server.asked()


def _cel(expression: str) -> Body:
    rules = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["pods"],
        "operations": ["CREATE"],
    }
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "asks"},
        "spec": {
            "autogen": {"podControllers": {"controllers": []}},
            "matchConstraints": {"resourceRules": [rules]},
            "validations": [{"expression": expression, "message": "m"}],
        },
    }


def test_cel_asks_the_cluster(world: World) -> None:
    world.server.serve(Api("shop.example", "v1", "stockpiles", "Stock", True))
    world.server.add(pod("a"), _config_map("x", tier="front"))
    code, out, err = world.scan(
        "--cluster",
        *world.policies(
            _cel(
                "resource.Get('v1', 'configmaps', 'shop', 'x').data.tier == 'front' && "
                # Served, and there is none: no error.
                "resource.List('shop.example/v1', 'stockpiles', 'shop').items.size() == 0"
            )
        ),
    )
    assert (code, err) == (0, ""), out


def test_cel_is_told_what_is_forbidden(world: World) -> None:
    world.server.add(pod("a"))

    def refuse(request: object) -> None:
        if "configmaps" in getattr(request, "path", ""):
            raise forbidden("configmaps")

    world.server.before = refuse
    body = _cel("resource.List('v1', 'configmaps', 'shop').items.size() == 0")
    code, out, err = world.scan("--cluster", *world.policies(body))
    assert code == 1
    assert "configmaps is forbidden" in out
    assert "not read: /api/v1/namespaces/shop/configmaps: forbidden (403)" in err


def _changing(group: str, resource: str) -> Body:
    """A policy about Pods that changes the objects of a resource."""
    body = {**_cel("true"), "kind": "MutatingPolicy"}
    spec = body["spec"]
    del spec["validations"]
    targets = {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "resources": [resource],
        "operations": ["CREATE", "UPDATE"],
    }
    spec |= {
        "evaluation": {"mutateExisting": {"enabled": True}},
        "targetMatchConstraints": {"resourceRules": [targets]},
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": "Object{metadata: Object.metadata{labels: {'seen': 'yes'}}}"
                },
            }
        ],
    }
    return body


def test_objects_that_a_policy_changes_are_read_kind_by_kind(world: World) -> None:
    """Targets are those of the constraints: nothing else is asked for."""
    world.server.serve(
        Api("policies.kyverno.io", "v1", "mutatingpolicies", "MutatingPolicy", False)
    )
    world.server.add(pod("a"), _config_map("x"), _changing("", "configmaps"))
    code, out, err = world.scan("--cluster", "--cluster-policies", "--detailed")
    assert (code, err) == (0, ""), out
    assert "/api/v1/configmaps" in world.server.asked()
    assert "/api/v1/services" not in world.server.asked()
    assert "pass: 2" in out

    def refuse(request: object) -> None:
        if getattr(request, "path", "") == "/api/v1/configmaps":
            raise forbidden("configmaps")

    world.server.before = refuse
    code, out, err = world.scan("--cluster", "--cluster-policies")
    assert code == 1
    assert "failed to find targets: configmaps is forbidden" in out
    assert err == "not read: /api/v1/configmaps: forbidden (403)\n"


def test_targets_of_custom_kinds_have_the_names_that_the_server_gives_them(world: World) -> None:
    world.server.serve(Api("shop.example", "v1", "stock-piles", "Stock", True))
    metadata = {"name": "x", "namespace": "shop"}
    world.server.add(
        pod("a"), {"apiVersion": "shop.example/v1", "kind": "Stock", "metadata": metadata}
    )
    for resource, passes in (("stock-piles", 2), ("stocks", 1)):
        named = world.policies(_changing("shop.example", resource))
        code, out, err = world.scan("--cluster", "--detailed", *named)
        assert (code, err) == (0, ""), out
        assert f"pass: {passes}," in out


def test_a_target_that_is_not_there_is_named_as_the_server_names_it(world: World) -> None:
    world.server.serve(Api("shop.example", "v1", "stock-piles", "Stock", True))
    world.server.add(pod("a"))
    target = {"apiVersion": "shop.example/v1", "kind": "Stock", "namespace": "shop", "name": "x"}
    patch = {"metadata": {"labels": {"seen": "yes"}}}
    mutate = {"targets": [target], "patchStrategicMerge": patch}
    code, out, _ = world.scan(
        "--cluster", *world.policies(policy("t", ["Pod"], {"mutate": mutate}))
    )
    assert code == 1
    assert 'stock-piles.shop.example "x" not found' in out


def test_what_deletes_asks_for_the_names_that_the_server_gives(world: World) -> None:
    from chartkit.network.cluster.client import connect
    from chartkit.network.cluster.live import LiveSource

    world.server.serve(Api("shop.example", "v1", "stock-piles", "Stock", True))
    live = live_world(Reader(LiveSource(connect(None))))
    metadata = {"name": "x", "namespace": "shop"}
    stock = Resource({"apiVersion": "shop.example/v1", "kind": "Stock", "metadata": metadata})
    for resource, is_deleted in (("stock-piles", True), ("stocks", False)):
        rule = {"apiGroups": ["shop.example"], "apiVersions": ["v1"], "resources": [resource]}
        spec = {
            "schedule": "0 0 * * *",
            "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE"]}]},
            "conditions": [{"name": "all", "expression": "true"}],
        }
        body = {**_cel("true"), "kind": "DeletingPolicy", "spec": spec}
        result = read_deleting_policy(Resource(body)).evaluate(Admission(stock), live)
        assert (result is not None and result.status is Status.PASS) == is_deleted


class _Source:
    """Answers anything, and counts."""

    fault = None

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, path: str, /) -> Body:
        self.asked.append(path)
        if path == "/apis":
            return {"groups": []}
        if path == "/api/v1":
            kinds = {"pods": "Pod"}.items()
            listed = [
                {"name": n, "kind": k, "namespaced": True, "verbs": ["list"]} for n, k in kinds
            ]
            return {"resources": listed}
        items = [{"metadata": {"name": f"p{index}", "namespace": "a"}} for index in range(6)]
        return {"items": items}


def test_answers_are_forgotten_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chartkit.network.cluster.world.MOST_REMEMBERED", 12)
    source = _Source()
    reads = CachedReads(Reader(source))
    source.asked.clear()
    for path in ("/a", "/b", "/a", "/c", "/a", "/b"):
        assert len(reads.get(path)["items"]) == 6
    assert source.asked == ["/a", "/b", "/c", "/b"]


def test_a_list_that_is_too_long_is_still_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chartkit.network.cluster.world.MOST_REMEMBERED", 1)
    reads = CachedReads(Reader(_Source()))
    pods = ApiResource(GroupVersionKind("", "v1", "Pod"), "pods", True)
    assert [body["kind"] for body in reads.objects(pods, "")] == ["Pod"] * 6


def test_objects_that_are_not_there(world: World) -> None:
    from chartkit.network.cluster.client import connect
    from chartkit.network.cluster.live import LiveSource

    world.server.add(pod("a"))
    live = live_world(Reader(LiveSource(connect(None))))
    cluster = live.api.cluster("", "")
    assert cluster.find(ObjectKey("v1", "Pod", "shop", "b")) is None
    assert cluster.find(ObjectKey("v1", "Nothing", "shop", "b")) is None
    found = cluster.find(ObjectKey("v1", "Pod", "shop", "a"))
    assert found is not None
    assert found["metadata"]["name"] == "a"
    assert list(cluster.listed("v1", "nothings", "")) == []
    assert cluster.kind_served("v1", "pods") == "Pod"
