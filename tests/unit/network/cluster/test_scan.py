"""What is scanned of a cluster, and by which policies."""

import json
from collections.abc import Callable

from chartkit.model import Body
from tests.api_server import Api
from tests.data import tables
from tests.unit.network.cluster.conftest import World
from tests.unit.network.cluster.server import labelled, namespace, pod, policy


def _failing(out: str) -> list[str]:
    """The objects of which a text report tells a failure or an error."""
    heads = (line for line in out.splitlines() if not line.startswith(" "))
    return [line.partition("  ")[0] for line in heads if "  /api" in line]


def test_objects_are_judged_where_they_are(world: World) -> None:
    world.server.add(pod("a"), pod("b", labels={"team": "x"}), pod("c", "kube-system"))
    code, out, err = world.scan("--cluster", *world.policies(labelled()))
    assert (code, err) == (1, "")
    assert _failing(out) == ["Pod/kube-system/c", "Pod/shop/a"]
    assert out.endswith("pass: 1, fail: 2, warn: 0, error: 0, skip: 0\n")


def test_only_what_policies_speak_of_is_read(world: World) -> None:
    world.scan("--cluster", *world.policies(labelled("one", "ConfigMap", "Namespace")))
    asked = world.server.asked()
    assert "/api/v1/configmaps" in asked
    assert not {"/api/v1/pods", "/api/v1/secrets", "/apis/apps/v1/deployments"} & set(asked)


def test_rules_for_controllers_make_controllers_read(world: World) -> None:
    world.scan("--cluster", *world.policies(labelled()))
    asked = world.server.asked()
    assert {"/apis/apps/v1/deployments", "/apis/batch/v1/cronjobs"} <= set(asked)
    # Kyverno's own chart leaves them out.
    assert "/apis/apps/v1/replicasets" not in asked


def test_wildcards_find_custom_kinds_by_discovery(world: World) -> None:
    world.server.serve(Api("shop.example", "v1", "stockpiles", "Stock", False))
    stock = {"apiVersion": "shop.example/v1", "kind": "Stock", "metadata": {"name": "s"}}
    world.server.add(stock)
    code, out, _ = world.scan("--cluster", *world.policies(labelled("any", "*/St*")))
    assert code == 1
    # Without a namespace, for the server says that the kind has none.
    assert "Stock/s" in _failing(out)


def test_a_kind_is_read_in_one_version(world: World) -> None:
    world.server.serve(Api("shop.example", "v1", "stocks", "Stock", True))
    world.server.serve(Api("shop.example", "v1beta1", "stocks", "Stock", True))
    world.scan("--cluster", *world.policies(labelled("any", "Stock")))
    asked = [path for path in world.server.asked() if path.endswith("/stocks")]
    assert len(asked) == 1


def test_custom_resources_are_judged_by_definitions_that_are_named(world: World) -> None:
    world.server.serve(Api("shop.example", "v1", "stocks", "Stock", True))
    for name, size in (("good", 1), ("bad", "many")):
        metadata = {"name": name, "namespace": "shop"}
        spec = {"size": size}
        world.server.add(
            {"apiVersion": "shop.example/v1", "kind": "Stock", "metadata": metadata, "spec": spec}
        )
    file = world.folder / "crds.yaml"
    texts = (definition("Stock", "stocks"), definition("Crate", "crates"))
    file.write_text("\n---\n".join(map(json.dumps, texts)))
    code, out, err = world.scan("--cluster", *world.policies(labelled()), "--crds", str(file))
    assert code == 1
    assert "stocks.shop.example/schema" in out
    assert 'spec.size: Invalid value: "string"' in out
    assert _failing(out) == ["Stock/shop/bad"]
    assert "not judged: shop.example/v1 Crate: the cluster does not serve it\n" in err


def definition(kind: str, plural: str) -> Body:
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.shop.example"},
        "spec": {
            "group": "shop.example",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def test_cel_policies_say_what_is_read(world: World) -> None:
    rules = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
        "operations": ["CREATE"],
    }
    body: Body = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "named"},
        "spec": {
            "matchConstraints": {"resourceRules": [rules]},
            "validations": [
                {"expression": "namespaceObject.metadata.labels['tier'] == 'front'", "message": "m"}
            ],
        },
    }
    for place in ("shop", "kube-system"):
        metadata = {"name": "settings", "namespace": place}
        world.server.add({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    code, out, _ = world.scan("--cluster", *world.policies(body))
    assert code == 1
    assert _failing(out) == ["ConfigMap/kube-system/settings"]
    assert "/api/v1/pods" not in world.server.asked()


def test_cel_policies_speak_of_custom_kinds_by_the_names_that_the_server_has(world: World) -> None:
    world.server.serve(Api("shop.example", "v1", "stock-piles", "Stock", True))
    metadata = {"name": "s", "namespace": "shop"}
    world.server.add({"apiVersion": "shop.example/v1", "kind": "Stock", "metadata": metadata})
    rules = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["stock-piles"]}
    gvr = "dyn(resource.ToGVR('shop.example/v1', 'Stock')).Resource"
    body: Body = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "named"},
        "spec": {
            "matchConstraints": {"resourceRules": [{**rules, "operations": ["CREATE"]}]},
            "validations": [
                {
                    "expression": "false",
                    "messageExpression": f"request.resource.resource + ' ' + {gvr}",
                }
            ],
        },
    }
    code, out, _ = world.scan("--cluster", *world.policies(body))
    assert (code, _failing(out)) == (1, ["Stock/shop/s"])
    assert "stock-piles stock-piles" in out


def test_one_namespace(world: World) -> None:
    world.server.add(pod("a"), pod("c", "kube-system"))
    code, out, err = world.scan("--cluster", "-n", "shop", *world.policies(labelled()))
    assert (code, err) == (1, "")
    assert _failing(out) == ["Pod/shop/a"]
    assert "/api/v1/namespaces" not in world.server.asked()
    assert "/api/v1/pods" not in world.server.asked()


def test_a_namespace_that_is_not_there(world: World) -> None:
    code, out, err = world.scan("--cluster", "--namespace", "shops", *world.policies(labelled()))
    assert (code, out, err) == (2, "", "there is no namespace 'shops'\n")


def test_policies_of_the_cluster_with_exceptions(world: World) -> None:
    exception = tables(__file__)["exception"]
    world.server.add(pod("a"), pod("b"), labelled("inside"), exception)
    code, out, err = world.scan("--cluster", "--cluster-policies")
    assert (code, err) == (1, "")
    assert _failing(out) == ["Pod/shop/b"]
    assert "skip: 1" in out


def test_kinds_that_kyverno_will_remove_are_said_once(world: World) -> None:
    world.server.add(pod("a"), labelled("inside"), labelled("other"))
    said = "note policy-warning: 2 policies: ClusterPolicy (kyverno.io) is deprecated"
    scanned = ("--cluster", "--cluster-policies", "--detailed")
    _, out, err = world.scan(*scanned)
    assert (out.count(said), err) == (1, "")
    assert "`chartkit migrate plan` lists them" in out
    _, out, err = world.scan(*scanned, "-o", "json")
    assert (out.count(said), err.count(said)) == (0, 1)
    json.loads(out)


def test_no_policy_in_the_cluster(world: World) -> None:
    code, _, err = world.scan("--cluster", "--cluster-policies")
    assert (code, err) == (2, "the cluster has no policy that can be read (-p names others)\n")


def test_parameters_need_policies_that_have_them(world: World) -> None:
    world.server.add(pod("a"), labelled("inside"))
    code, _, err = world.scan("--cluster", "--cluster-policies", "--param", "labels=x")
    assert code == 2
    assert "--param sets nothing: the cluster's policies have no parameters" in err


def test_policies_of_the_cluster_beside_others(world: World) -> None:
    world.server.add(pod("a"), labelled("inside"))
    named = world.policies(labelled("outside"))
    _, out, _ = world.scan("--cluster", "--cluster-policies", *named)
    assert "inside/rule" in out
    assert "outside/rule" in out


def test_labels_of_namespaces(world: World) -> None:
    body = labelled()
    body["spec"]["rules"][0]["match"]["any"][0]["resources"]["namespaceSelector"] = {
        "matchLabels": {"tier": "front"}
    }
    world.server.add(pod("a"), pod("c", "kube-system"))
    _, out, _ = world.scan("--cluster", *world.policies(body))
    assert _failing(out) == ["Pod/shop/a"]


def test_pages_are_followed(world: World, small_pages: Callable[[int], None]) -> None:
    small_pages(3)
    world.server.add(*(pod(f"p{index}") for index in range(8)))
    _, out, _ = world.scan("--cluster", *world.policies(labelled()))
    assert "fail: 8," in out
    assert len([path for path in world.server.asked() if path == "/api/v1/pods"]) == 3


def test_formats_and_nothing_to_say(world: World) -> None:
    world.server.add(pod("a", labels={"team": "x"}))
    code, out, _ = world.scan("--cluster", "-o", "json", *world.policies(labelled()))
    assert code == 0
    assert json.loads(out)["summary"]["pass"] == 1


def test_options_that_cannot_be_had_together(world: World) -> None:
    (world.folder / "a.yaml").write_text(json.dumps(pod("a")))
    wrong = {
        ("a.yaml", "--cluster"): "a cluster is scanned alone",
        ("a.yaml", "--reports"): "--reports needs --cluster",
        ("a.yaml", "--record", "d"): "--record needs --cluster",
        ("--cluster", "--at", "now"): "--at is not for a scan of a cluster",
        ("--cluster", "--json"): "--json is not for a scan of a cluster",
        ("--cluster", "--reports", "--audit-warn"): "--audit-warn changes results",
        ("--cluster", "-f", "values.yaml"): "-f is for charts",
        (): "Missing argument",
    }
    (world.folder / "values.yaml").write_text("a: 1\n")
    for arguments, text in wrong.items():
        code, out, err = world.scan(*arguments)
        assert (code, out) == (2, ""), arguments
        assert text in err


def test_rules_that_look_at_the_operation_see_whole_objects(world: World) -> None:
    """managedFields and kubectl's copy of an object are not looked at."""
    deny = tables(__file__)["deny"]
    world.server.add(pod("a", managedFields=[{"manager": "kubectl"}]), namespace("more"))
    code, out, _ = world.scan("--cluster", *world.policies(policy("whole", ["Pod"], deny)))
    assert (code, "pass: 1" in out) == (0, True)
