"""Verdicts that objects share which are equal in what policies read."""

import copy
import random
from typing import Any

import pytest

from chartkit.engine import sharing, verdicts
from chartkit.engine.cleanup import Cleaner
from chartkit.engine.policies import (
    NO_ATTACHMENTS,
    PolicyAttachments,
    RunnablePolicy,
    compile_any,
    evaluate,
    read_exceptions,
)
from chartkit.engine.ports.world import OFFLINE
from chartkit.engine.request import Request
from chartkit.engine.sharing import Shared, Space, Verdict, judged
from chartkit.engine.verdicts import Judge
from chartkit.model import Body, Json, Resource
from tests.data import tables
from tests.unit.engine.policies import policy_resource, rule

_TABLES = tables(__file__)

_PATTERNS: tuple[Json, ...] = (
    {"spec": {"=(hostNetwork)": "false"}},
    {"spec": {"X(hostPID)": "null"}},
    {"spec": {"X(volumes)": "null"}},
    {"spec": {"containers": [{"image": "!*:latest", "name": "?*"}]}},
    {"spec": {"containers": [{"(image)": "reg/*", "ports": [{"=(hostPort)": "<1024"}]}]}},
    {"spec": {"^(volumes)": [{"name": "data"}]}},
    {"metadata": {"labels": {"app*": "?*"}}},
    {"metadata": {"annotations": {"<(team)": "{{ request.object.metadata.labels.team }}"}}},
    {"spec": {"volumes": ["x"]}, "metadata": "*"},
)
_QUERIES = (
    "request.object.spec.containers[].ports[].hostPort",
    "request.object.spec.[containers, initContainers][].name",
    "request.object.spec.containers[?securityContext.privileged].image",
    "request.object.spec.volumes[*].keys(@)[]",
    "length(request.object.spec.containers)",
    "request.object.metadata.labels.* || `[]`",
    "request.object.spec.volumes[0] == null",
    "request.object.metadata.annotations | to_string(@)",
    "request.object.spec.containers[1:].{name: name, image: image}",
    "not_null(request.object.spec.hostNetwork, `false`) && request.object.kind",
    "request.object.spec.containers[].map(&name, ports || `[]`)",
    "time_now()",
    "images.containers.*.registry",
)
_EXPRESSIONS = (
    "object.spec.?hostNetwork.orValue(false) == false",
    "!has(object.spec.volumes) || object.spec.volumes.all(v, v.?name.orValue('') != 'x')",
    "variables.containers.exists(c, c.image.startsWith('reg/'))",
    "size(variables.containers) < 2 || variables.containers.map(c, c.name).isSorted()",
    "object.metadata.?labels.orValue({}).all(key, key != 'team')",
    "(variables.containers + [dyn(object.spec)]).filter(e, e != null).all(e, e.?ports == null)",
    "[object.?metadata.?name.orValue('a'), dyn('x')].all(text, text in ['pod', 'x'])",
    "variables.containers.map(c, c.?ports.orValue([])).all(ps, ps.all(p, has(p.hostPort)))",
    "request.name != 'pod' && request.object.spec.containers[0].image != ''",
    "object.spec.containers.map(c, [c.name, c.image])[0][1] != 'reg/a:latest'",
    "request.namespace == 'default'",
    "time.now() > timestamp('2020-01-01T00:00:00Z')",
)
_POD: Body = _TABLES["pod"]
_VALUES: tuple[Json, ...] = (
    None,
    True,
    0,
    1,
    1.5,
    "x",
    "",
    [],
    {},
    "{{ request.object.metadata.name }}",
    ["x"],
)


def _patterned(pattern: Json) -> RunnablePolicy:
    return _compiled(policy_resource(rule(validate={"message": "m", "pattern": pattern})))


def _denied(query: str) -> RunnablePolicy:
    condition = {"key": f"{{{{ {query} }}}}", "operator": "AnyIn", "value": ["x", 80, "main"]}
    deny = {
        "message": "m {{ request.object.spec.hostNetwork }}",
        "deny": {"conditions": {"any": [condition]}},
    }
    return _compiled(policy_resource(rule(validate=deny)))


def _looped(query: str) -> RunnablePolicy:
    inner = {"list": query, "deny": {"conditions": {"all": [
        {"key": "{{ element }}", "operator": "Equals", "value": "{{ request.object.kind }}"}
    ]}}}  # fmt: skip
    return _compiled(policy_resource(rule(validate={"message": "m", "foreach": [inner]})))


def _expressed(expression: str) -> RunnablePolicy:
    pods = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [pods]},
        "variables": [{"name": "containers", "expression": "object.spec.containers"}],
        "validations": [{"expression": expression}],
    }
    body = {"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy", "spec": spec}
    return _compiled(Resource({**body, "metadata": {"name": "p"}}))


def _compiled(
    resource: Resource, attachments: PolicyAttachments = NO_ATTACHMENTS
) -> RunnablePolicy:
    policy = compile_any(resource, attachments)
    assert not isinstance(policy, Cleaner)
    return policy


def _excepted() -> RunnablePolicy:
    """Return a policy with an exception for some objects."""
    conditions = {"any": [{"key": "{{ request.object.spec.hostNetwork }}", "operator": "Equals",
                           "value": True}]}  # fmt: skip
    match = {"any": [{"resources": {"kinds": ["Pod"], "names": ["p*"]}}]}
    named = [{"policyName": "p", "ruleNames": ["r"]}]
    spec = {"exceptions": named, "match": match, "conditions": conditions}
    body = {"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "spec": spec}
    exception = Resource({**body, "metadata": {"name": "e", "namespace": "default"}})
    pattern = {"message": "m", "pattern": {"spec": {"volumes": [{"name": "data"}]}}}
    return _compiled(policy_resource(rule(validate=pattern)), read_exceptions([exception]))


_SELECTED: Body = {"kinds": ["Pod"], "selector": {"matchLabels": {"app": "a"}}}


def _others() -> dict[str, RunnablePolicy]:
    """Return policies with each kind of rule, match and condition."""
    noted = {"kinds": ["Pod"], "annotations": {"team": "b*"}}
    standard = {"podSecurity": {"level": "restricted", "version": "latest"}}
    in_cel = {"cel": {"expressions": [{"expression": _EXPRESSIONS[0], "message": "m"}]}}
    sent = [{"name": "c", "expression": "object.metadata.?labels.orValue({}).size() > 1"}]
    rules = {
        "selector": rule(match={"any": [{"resources": _SELECTED}]}),
        "annotations": rule(exclude={"any": [{"resources": noted}]}),
        "name": rule(match={"any": [{"resources": {"kinds": ["Pod"], "names": ["p*"]}}]}),
        "pod security": rule(validate=standard),
        "CEL": rule(validate=in_cel),
        "properties": rule(reportProperties={"of": "{{ request.object.metadata.name }}"}),
    }
    made = {name: _compiled(policy_resource(each)) for name, each in rules.items()}
    webhook = policy_resource(rule(), webhookConfiguration={"matchConditions": sent})
    return {**made, "webhook": _compiled(webhook), "exception": _excepted()}


_POLICIES = {
    **_others(),
    **{f"pattern {number}": _patterned(each) for number, each in enumerate(_PATTERNS)},
    **{f"deny {each}": _denied(each) for each in _QUERIES},
    **{f"foreach {each}": _looped(each) for each in _QUERIES},
    **{f"cel {each}": _expressed(each) for each in _EXPRESSIONS},
}


def _places(value: Json, parent: Any = None, key: Any = None) -> list[tuple[Any, Any]]:
    found = [] if parent is None or key in ("apiVersion", "kind") else [(parent, key)]
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for inner, member in members:
        found += _places(member, value, inner)
    return found


def _varied(pick: random.Random) -> Body:
    body = copy.deepcopy(_POD)
    for _ in range(pick.randrange(4)):
        places = _places(body)
        if not places:
            break
        parent, key = pick.choice(places)
        action = pick.randrange(3)
        if action == 0:
            del parent[key]
        elif action == 1:
            parent[key] = copy.deepcopy(pick.choice(_VALUES))
        else:
            parent[key] = copy.deepcopy(pick.choice(_places(_POD))[0])
    return body


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share verdicts from the first object on."""
    monkeypatch.setattr(verdicts, "FEW", 1)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", _POLICIES)
def test_a_shared_verdict_is_that_of_the_object_alone(name: str) -> None:
    pick = random.Random(name)
    policy, judge = _POLICIES[name], Judge([_POLICIES[name]])
    for _ in range(150):
        request = Request(Resource(_varied(pick)))
        assert list(judge.results(request)) == evaluate([policy], request)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("place", ["args", "labels"])
def test_deeply_nested_objects_get_their_own_verdict(place: str) -> None:
    policies = [
        _expressed("object.spec.args == ['a']"),
        _patterned({"spec": {"args": "!y"}}),
        _compiled(policy_resource(rule(match={"any": [{"resources": _SELECTED}]}))),
    ]
    judge = Judge(policies)
    for depth in (0, 900, 0, *range(300, 900, 60)):
        nested: Json = "a"
        for _ in range(depth):
            nested = [nested]
        body = copy.deepcopy(_POD)
        body["metadata"]["labels"] = {"app": nested if place == "labels" else "a"}
        body["spec"]["args"] = nested if place == "args" else ["a"]
        request = Request(Resource(body))
        assert list(judge.results(request)) == evaluate(policies, request)


def _counted(monkeypatch: pytest.MonkeyPatch, policy: RunnablePolicy, pods: list[Body]) -> int:
    """Return how many of some Pods a policy judges."""
    judged: list[Body] = []
    kind = type(policy)
    judge_one = kind.run_phase

    def run_phase(self: Any, run: Any, *others: Any) -> None:
        judged.append(run.request.resource.body)
        judge_one(self, run, *others)

    with monkeypatch.context() as patched:
        patched.setattr(kind, "run_phase", run_phase)
        judge = Judge([policy])
        for each in pods:
            judge.results(Request(Resource(each)))
    return len(judged)


def _pods(count: int) -> list[Body]:
    """Return Pods that differ in name and image."""
    pods = [copy.deepcopy(_POD) for _ in range(count)]
    for number, each in enumerate(pods):
        each["metadata"]["name"] = f"pod-{number}"
        each["spec"]["containers"][0]["image"] = f"reg/a:{number}"
    return pods


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    "policy",
    [
        _patterned({"spec": {"containers": [{"ports": [{"hostPort": "<90"}]}]}}),
        _denied("request.object.spec.[initContainers, containers][].ports[].hostPort"),
        _expressed("variables.containers.all(c, c.?securityContext.orValue(null) == null)"),
    ],
    ids=("pattern", "deny", "CEL"),
)
def test_what_is_not_read_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, policy: RunnablePolicy
) -> None:
    assert _counted(monkeypatch, policy, _pods(40)) == 1


@pytest.mark.usefixtures("at_once")
def test_what_is_read_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = _patterned({"spec": {"containers": [{"image": "!*:7"}]}})
    assert _counted(monkeypatch, policy, _pods(40)) == 40


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    "policy",
    [
        _denied("time_now()"),
        _denied("random('[a-z]{3}')"),
        _expressed("time.now() > timestamp('2020-01-01T00:00:00Z')"),
    ],
)
def test_what_asks_the_clock_or_chance_is_not_shared(
    monkeypatch: pytest.MonkeyPatch, policy: RunnablePolicy
) -> None:
    assert _counted(monkeypatch, policy, [copy.deepcopy(_POD) for _ in range(20)]) == 20


@pytest.mark.usefixtures("at_once")
def test_policies_share_nothing_of_each_other() -> None:
    pick = random.Random(1)
    policies = list(_POLICIES.values())
    judge = Judge(policies)
    for _ in range(60):
        request = Request(Resource(_varied(pick)))
        assert list(judge.results(request)) == evaluate(policies, request)


@pytest.mark.usefixtures("at_once")
def test_shared_verdicts_take_bounded_space() -> None:
    policy, space = _patterned({"spec": {"containers": [{"image": "!*:7"}]}}), Space(20_000)
    shared: Shared[Verdict] = Shared(space, 16)
    for pod in _pods(200):
        judged(policy, Request(Resource(pod)), OFFLINE, shared, None)
        held = sum(tree.size for tree in shared._trees.values())
        assert held <= 20_000 // 100


@pytest.mark.usefixtures("at_once")
def test_errors_are_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = _denied("request.object.spec.none.at.all")
    assert _counted(monkeypatch, policy, _pods(10)) >= 10


@pytest.mark.usefixtures("at_once")
def test_sharing_ends_where_it_is_not_worth_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_TRIAL", 16)
    policies = [_patterned({"spec": {"containers": [{"image": "!*:7"}]}}), _patterned({})]
    judge = Judge(policies)
    for each in _pods(40):
        judge.results(Request(Resource(each)))
    [kind] = judge._kinds.values()
    assert list(kind._sharing.verdicts) == [1]


@pytest.mark.usefixtures("at_once")
def test_a_mutated_object_is_judged_alone() -> None:
    label = {"metadata": {"labels": {"app": "new"}}}
    first = policy_resource(rule(mutate={"patchStrategicMerge": label}, validate=None))
    first.body["metadata"] = {"name": "first"}
    second = _patterned({"metadata": {"labels": {"app": "new"}}})
    judge = Judge(policies := [_compiled(first), second])
    for each in _pods(5):
        request = Request(Resource(each))
        results = list(judge.results(request))
        assert results == evaluate(policies, request)
        assert [one.status for one in results] == ["pass", "pass"]
