"""What a cluster lists: pages, paths, permissions, installed policies and nonsense."""

import json
import weakref
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml
from urllib3.util import parse_url

from chartkit.cli.main import main
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.errors import InputError
from chartkit.model import Body
from chartkit.network.cluster.client import CRDS, Collection, object_path
from chartkit.network.cluster.reader import PAGE, ApiResource, Reader, listed
from chartkit.network.cluster.source import RefusedError
from tests.api_server import Api, Request
from tests.data import tables
from tests.objects import api_object
from tests.shared import ROOT
from tests.unit.network.cluster.conftest import World
from tests.unit.network.cluster.server import forbidden, labelled, pod, policy

OBJECTS = 50_000


class _Spec(dict[str, str]):
    """A part of an object that can be watched while it is held."""


class _Many:
    """A server with a list of many Pods; held: how many of them anybody has still."""

    fault = None

    def __init__(self) -> None:
        self.pages = 0
        self._given: list[weakref.ref[_Spec]] = []

    @property
    def held(self) -> int:
        self._given = [each for each in self._given if each() is not None]
        return len(self._given)

    def get(self, path: str, /) -> Body:
        query = parse_qs(urlsplit(path).query)
        start, size = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
        self.pages += 1
        specs = [_Spec() for _ in range(size)]
        self._given += map(weakref.ref, specs)
        items = [
            {"metadata": {"name": f"p{start + index}", "namespace": "a"}, "spec": spec}
            for index, spec in enumerate(specs)
        ]
        following = "" if start + size >= OBJECTS else str(start + size)
        return {"metadata": {"continue": following}, "items": items}


def test_fifty_thousand_objects() -> None:
    source = _Many()
    names: set[str] = set()
    for body in listed(source, "/api/v1/pods", "v1", "Pod"):
        assert body["kind"] == "Pod"
        names.add(body["metadata"]["name"])
        if len(names) % PAGE == 1:
            # The page that is handed on, and what is left of the one before.
            assert source.held <= 2 * PAGE
    assert len(names) == OBJECTS
    assert source.pages == OBJECTS / PAGE


NO_LIST: list[Body] = [
    {},
    {"type": "object"},
    {"kind": "Pod", "items": []},
    {"kind": "Status", "items": [], "status": "Success"},
    {"kind": "PodList"},
    {"kind": "PodList", "items": {}},
    {"kind": "PodList", "items": "x"},
    {"kind": "PodList", "items": ["x"]},
    {"kind": "PodList", "items": [{"metadata": "x"}]},
    {"kind": "PodList", "items": [None]},
    {"kind": "PodList", "items": [{"metadata": {}}]},
    *(
        {"kind": "PodList", "items": [{"metadata": {"name": "a", key: wrong}}]}
        for key in ("name", "namespace")
        for wrong in (1, 1.5, True, ["a"], [], {}, {"a": "b"})
    ),
    {"kind": "PodList", "items": [{"metadata": {"name": None}}]},
    {"kind": 1, "items": []},
]
PODS = {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list"]}


class _Answers:
    """A server of fixed answers; the answer of every other path is the one for ``*``."""

    fault = None

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    def get(self, path: str, /) -> Body:
        found: Body = self._answers.get(path.partition("?")[0], self._answers["*"])
        return found


@pytest.mark.parametrize("answer", NO_LIST)
def test_what_is_no_list_of_objects(answer: Body) -> None:
    with pytest.raises(RefusedError, match="the response"):
        list(listed(_Answers({"*": answer}), "/api/v1/pods", "v1", "Pod"))


@pytest.mark.parametrize("items", [[], None, [{"metadata": {"name": "a"}}]])
def test_what_is_a_list(items: Any) -> None:
    found = list(
        listed(_Answers({"*": {"kind": "PodList", "items": items}}), "/api/v1/pods", "v1", "Pod")
    )
    assert len(found) == len(items or ())


@pytest.mark.parametrize("answer", [{"type": "object"}, {"kind": "APIGroupList"}, {"groups": "x"}])
def test_a_server_that_does_not_say_what_it_serves(answer: Body) -> None:
    with pytest.raises(InputError, match="does not say what it serves: the response is not"):
        Reader(_Answers({"*": answer}))


@pytest.mark.parametrize(
    "wrong", [None, 1, True, "x", [], ["a"], [None], {}, {"a": "b"}, [{"a": 1}]]
)
def test_groups_and_resources_with_values_of_any_type(wrong: Any) -> None:
    group: Body = {"name": "a", "versions": [{"groupVersion": "a/v1", "version": "v1"}]}
    group["preferredVersion"] = {"groupVersion": "a/v1"}
    for key in (*PODS, "shortNames", "group", "version", "singularName"):
        resources = {"kind": "APIResourceList", "resources": [{**PODS, key: wrong}]}
        for changed in group:
            groups = {"kind": "APIGroupList", "groups": [{**group, changed: wrong}]}
            reader = Reader(_Answers({"/apis": groups, "*": resources}))
            assert all(isinstance(each.name, str) for each in reader.discovery.all)


def test_a_version_whose_resources_are_no_list() -> None:
    groups = {"kind": "APIGroupList", "groups": []}
    reader = Reader(_Answers({"/apis": groups, "*": {"type": "object"}}))
    assert list(reader.unread) == ["the kinds of v1"]


def test_lists_that_are_none_are_not_read() -> None:
    answers: dict[str, Body] = {
        "/apis": {"kind": "APIGroupList", "groups": []},
        "/api/v1": {"kind": "APIResourceList", "resources": [PODS]},
        "*": {"type": "object"},
    }
    reader = Reader(_Answers(answers))
    [pods] = reader.discovery.all
    assert list(reader.everywhere(pods)) == []
    assert reader.unread["pods"] == "the response is not a list"
    assert not reader.namespaces
    assert "namespaces" in reader.unread


def test_a_scan_of_such_a_server_fails(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    named = world.policies(labelled())
    monkeypatch.setattr(type(world.server), "answer", lambda *_: {"type": "object"})
    code, out, err = world.scan("--cluster", *named)
    assert (code, out) == (2, "")
    assert "is this an API server?" in err


_PODS = ApiResource(GroupVersionKind("", "v1", "Pod"), "pods", namespaced=True)
_NAMES = (
    "../../secrets/x",
    "a/b",
    "..",
    ".",
    "a?dryRun=All",
    "a#b",
    "a%2fb",
    "a\r\nHost: b",
    "ü",
    "\ud800",
)


@pytest.mark.parametrize("name", _NAMES)
def test_a_name_is_one_segment(name: str) -> None:
    for path in (
        object_path("v1", "pods", name, name),
        _PODS.path(name, name),
        Collection("", "v1", "pods").path(name, name),
    ):
        sent = parse_url(f"https://127.0.0.1:1{path}")
        assert sent.query is None
        assert sent.fragment is None
        _, _, version, _, namespace, plural, last = (sent.path or "").split("/")
        assert (version, plural) == ("v1", "pods")
        assert unquote(namespace) == unquote(last) == name.replace("\ud800", "?")


def test_paths_of_objects() -> None:
    assert object_path("apps/v1", "deployments") == "/apis/apps/v1/deployments"
    assert CRDS.path(name="a.b") == ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b")
    assert _PODS.path("ns", "system:a") == "/api/v1/namespaces/ns/pods/system:a"


Allowed = set[tuple[str, str, str]]


def _allowed() -> Allowed:
    """(verb, group, resource) of the manifest."""
    roles = yaml.safe_load_all(
        (ROOT / "docs" / "how-to" / "scan-cluster-rbac.yaml").read_text("utf-8")
    )
    return {
        (verb, group, resource)
        for role in roles
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def _asked(request: Request) -> tuple[str, str, str] | None:
    """(verb, group, resource) of a request; None for discovery."""
    root, *parts = request.path.strip("/").split("/")
    group = parts.pop(0) if root == "apis" and parts else ""
    resource = parts[1:]
    if len(resource) > 2 and resource[0] == "namespaces":
        resource = resource[2:]
    if not resource:
        return None
    return ("get" if len(resource) > 1 else "list", group, resource[0])


def test_enough_for_policies_about_pods(world: World) -> None:
    allowed = _allowed()
    used: Allowed = set()
    assert {verb for verb, _, _ in allowed} == {"get", "list"}

    def refuse(request: Request) -> None:
        asked = _asked(request)
        if asked is not None and asked not in allowed:
            raise forbidden(request.path)
        used.update([asked] if asked is not None else [])

    world.server.add(pod("a"), labelled("inside"))
    world.server.before = refuse
    named = world.policies(labelled())
    code, out, err = world.scan("--cluster", "--cluster-policies", "--reports", *named)
    assert (code, err) == (1, "")
    assert "fail: 2," in out
    assert ("list", "wgpolicyk8s.io", "policyreports") in used


def _vap(name: str, **labels: str) -> Body:
    rules = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["pods"],
        "operations": ["CREATE"],
        "scope": "*",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name, "labels": labels, "generation": 1},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {},
                "resourceRules": [rules],
            },
            "validations": [{"expression": "has(object.metadata.labels)", "message": "m"}],
        },
        "status": {"observedGeneration": 1, "typeChecking": {}},
    }


def _binding(name: str, policy: str) -> Body:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": policy, "validationActions": ["Deny"]},
    }


def test_a_policy_with_all_that_a_cluster_adds(world: World) -> None:
    body = labelled("inside")
    body["metadata"]["generation"] = 2
    body["spec"] |= {
        "admission": True,
        "background": True,
        "emitWarning": False,
        "validationFailureAction": "Audit",
    }
    rule = body["spec"]["rules"][0]
    rule["skipBackgroundRequests"] = True
    rule["validate"]["allowExistingViolations"] = True
    body["status"] = tables(__file__)["a_policy_with_all_that_a_cluster_adds"]
    world.server.add(pod("a"), body)
    code, out, err = world.scan("--cluster", "--cluster-policies")
    assert (code, err) == (1, "")
    assert "fail: 1," in out


def test_kubernetes_own_policies_with_bindings_but_not_those_of_kyverno(world: World) -> None:
    made = {"app.kubernetes.io/managed-by": "kyverno"}
    world.server.add(
        pod("a"),
        _vap("own"),
        _binding("own-binding", "own"),
        _vap("made", **made),
        _binding("made-binding", "made"),
    )
    code, out, err = world.scan("--cluster", "--cluster-policies")
    assert (code, err) == (1, "")
    assert "own" in out
    assert "made" not in out


def test_a_policy_that_cannot_be_read_is_named_by_its_place(world: World) -> None:
    broken = labelled("broken")
    broken["spec"]["rules"][0]["validate"]["foreach"] = []
    broken["spec"]["rules"][0]["match"] = {}
    world.server.add(pod("a"), broken, labelled("inside"))
    code, out, err = world.scan("--cluster", "--cluster-policies")
    assert code == 1
    assert err.startswith("/apis/kyverno.io/v1/clusterpolicies/broken: error")
    assert "inside/rule" in out


def test_a_kind_that_is_served_in_several_versions(world: World) -> None:
    world.server.serve(Api("kyverno.io", "v2beta1", "clusterpolicies", "ClusterPolicy", False))
    world.server.add(pod("a"), labelled("inside"))
    world.scan("--cluster", "--cluster-policies")
    asked = [path for path in world.server.asked() if path.endswith("/clusterpolicies")]
    assert len(asked) == 1


_EXCEPTION: Body = api_object(
    "kyverno.io/v2",
    "PolicyException",
    {"name": "off", "namespace": "shop", "annotations": {"meta.helm.sh/release-name": "shop"}},
    spec={
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "exceptions": [{"policyName": "inside", "ruleNames": ["rule"]}],
    },
)


def by_hand(name: str) -> Body:
    """A policy of which a person converts the rule: no proof takes time."""
    chance = {"key": "{{ random('[a-z]{3}') }}", "operator": "Equals", "value": "abc"}
    deny = {"conditions": {"any": [chance]}}
    return policy(name, ("Pod",), {"validate": {"message": "by chance", "deny": deny}})


def _plan(world: World, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["migrate", "plan", *arguments])
    captured = world.capture.readouterr()
    assert {request.method for request in world.server.requests} <= {"GET"}
    return int(ended.value.code or 0), captured.out, captured.err


def test_a_cluster_without_legacy_policies(world: World) -> None:
    world.server.add(pod("a"))
    code, out, err = _plan(world, "--cluster")
    assert (code, err) == (0, "")
    assert "will not refuse the upgrade" in out
    assert "/api/v1/pods" not in world.server.asked()


def test_legacy_policies_of_a_cluster_and_its_recording(world: World) -> None:
    world.server.add(by_hand("inside"), by_hand("other"), _EXCEPTION)
    live = _plan(world, "--cluster", "--record", "rec")
    code, out, err = live
    assert (code, err) == (1, "")
    assert out.endswith("will refuse the upgrade: 3 objects\n")
    assert "PolicyException/shop/off" in out
    assert "generated by Helm release shop" in out
    assert "  /apis/kyverno.io/v1/clusterpolicies/inside" in out
    asked = len(world.server.requests)
    assert _plan(world, "rec") == live
    assert len(world.server.requests) == asked
    assert json.loads(_plan(world, "rec", "-o", "json")[1])["blocking"] == 3


def test_what_a_recording_lacks_is_a_gap(world: World) -> None:
    world.server.add(pod("a"), labelled("inside"))
    world.scan("--cluster", "--record", "rec", *world.policies(labelled()))
    code, out, _ = _plan(world, "rec")
    assert code == 1
    assert "not read: clusterpolicies.kyverno.io: was not recorded" in out
    assert "will not refuse" not in out


def test_kinds_that_may_not_be_listed_are_a_gap(world: World) -> None:
    world.server.add(labelled("inside"))

    def refuse(request: object) -> None:
        if str(getattr(request, "path", "")).endswith("/clusterpolicies"):
            raise forbidden("clusterpolicies")

    world.server.before = refuse
    code, out, _ = _plan(world, "--cluster")
    assert code == 1
    assert "not read: clusterpolicies.kyverno.io: forbidden (403)" in out


def test_a_recording_is_read_alone(world: World) -> None:
    _plan(world, "--cluster", "--record", "rec")
    Path("a.yaml").write_text("{}")
    assert _plan(world, "rec", "a.yaml")[::2] == (
        2,
        "a cluster is read alone (leave the other PATHs out)\n",
    )
    assert _plan(world, "rec", "--context", "x")[0] == 2
