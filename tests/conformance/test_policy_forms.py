"""Every policy of the library says the same in each of its forms."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from chartkit.engine.cel.declarations import Variable
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.shapes import kinds_matched, shape_of
from chartkit.engine.cel_policies.admission import AdmissionExpressions
from chartkit.engine.cel_policies.policy import NamedExpression
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.kyverno.cel_literals import kyverno_call
from chartkit.library.policies import Examples, FolderPolicy
from chartkit.model import Body, Json, Resource, RuleResult, Status
from chartkit.scan import verdicts
from chartkit.scan.verdicts import example_world
from tests.policy_forms import (
    ADMISSION,
    ALL,
    CLUSTER,
    FORMS,
    VALIDATING,
    compiled,
    judge,
    render_for,
)
from tests.policy_library import read

IN_CEL = (VALIDATING, ADMISSION)


def _kind(policy: FolderPolicy) -> str:
    found = re.search(r"^kind: (\w+)$", policy.cel.text if policy.cel else "", re.MULTILINE)
    assert found, policy.name
    return found[1]


POLICIES = [policy for policy in ALL if _kind(policy) == VALIDATING]
"""Those that validate; the others change, make or verify, and have no form for an API server."""
EXAMPLES = [(policy, examples) for policy in POLICIES for examples in policy.examples]
EVERY_EXAMPLE = [(policy, examples) for policy in ALL for examples in policy.examples]


def _name(value: FolderPolicy | Examples) -> str:
    return value.name or "own"


each_policy = pytest.mark.parametrize("policy", POLICIES, ids=_name)
each_example = pytest.mark.parametrize(("policy", "examples"), EXAMPLES, ids=_name)
each_form = pytest.mark.parametrize("form", FORMS)


@pytest.mark.parametrize("policy", ALL, ids=_name)
def test_every_policy_has_a_form_in_cel(policy: FolderPolicy) -> None:
    kind, first = _kind(policy), policy.examples[0]
    assert {each.kind for each in render_for(CLUSTER, policy, first)} == {CLUSTER}
    rendered = render_for(VALIDATING, policy, first)
    assert {each.kind for each in rendered} == {kind}
    asks = any(kyverno_call(each.body) for each in rendered)
    found = {each.kind for each in render_for(ADMISSION, policy, first)} - {f"{ADMISSION}Binding"}
    if kind == VALIDATING:
        assert found == {VALIDATING if asks else ADMISSION}
    else:
        assert found == {CLUSTER}


@each_form
@pytest.mark.parametrize(("policy", "examples"), EVERY_EXAMPLE, ids=_name)
def test_good_and_bad_resources_come_out_right(
    policy: FolderPolicy, examples: Examples, form: str
) -> None:
    rendered = render_for(form, policy, examples)
    policies = compiled(rendered)
    for resource in read(examples.good):
        verdict = verdicts.judge(
            policies, (), resource, example_world(resource, wants_fields=False)
        )
        assert not verdict.error, resource.name
        assert not verdict.acts, resource.name
    bad = read(examples.bad)
    assert rendered or not bad, "a policy that is not written cannot refuse anything"
    for resource in bad:
        verdict = verdicts.judge(
            policies, (), resource, example_world(resource, wants_fields=False)
        )
        assert not verdict.error, resource.name
        assert verdict.acts, resource.name


@each_example
def test_forms_refuse_in_the_same_words(policy: FolderPolicy, examples: Examples) -> None:
    """A policy in CEL tells the first rule that fails, a ClusterPolicy each of them."""
    ready = {form: compiled(render_for(form, policy, examples)) for form in FORMS}
    for resource in read(examples.bad):
        expected = _told(judge(ready[CLUSTER], resource))
        for form in IN_CEL:
            (told,) = _told(judge(ready[form], resource))
            assert told == expected[0], (form, resource.name)


def _told(results: Iterable[RuleResult]) -> list[list[str]]:
    """The words of each failure; names that a message lists come in an order of its own."""
    failed = (each.message for each in results if each.status is Status.FAIL)
    return [sorted(re.findall(r"[^\s,]+", _without_path(text).rstrip("."))) for text in failed]


def _without_path(message: str) -> str:
    """What the policy itself says: patterns add how they were reached."""
    return re.sub(
        r"^validation (?:error|failure): |[.]? rule [\w-]+ failed .*$|[.]? rule [\w-]+\[\d+\].*$",
        "",
        message,
        flags=re.DOTALL,
    )


@each_example
def test_a_validation_for_each_rule(policy: FolderPolicy, examples: Examples) -> None:
    """Values may speak of single rules, so the validations stand in the rules' order."""
    rules = [each.body["spec"]["rules"] for each in render_for(CLUSTER, policy, examples)]
    for form in IN_CEL:
        for each in _policies(render_for(form, policy, examples)):
            assert len(each.body["spec"]["validations"]) == len(rules[0]), each.name


@each_policy
def test_every_validation_is_pinned_down(policy: FolderPolicy) -> None:
    """Without a validation some bad resource passes."""
    first = policy.examples[0]
    rendered = render_for(VALIDATING, policy, first)
    for index in range(len(rendered[0].body["spec"]["validations"])):
        changed = [_holding(each, index) for each in rendered]
        policies = compiled(changed)
        let_through = [
            resource.name
            for resource in read(first.bad)
            if all(each.status is Status.PASS for each in judge(policies, resource))
        ]
        assert let_through, index


def _holding(policy: Resource, index: int) -> Resource:
    body: Body = json.loads(json.dumps(policy.body))
    body["spec"]["validations"][index]["expression"] = "true"
    return Resource(body, policy.location)


@pytest.mark.parametrize("form", IN_CEL)
@each_policy
def test_what_is_null_is_not_there(policy: FolderPolicy, form: str) -> None:
    """Helm charts write fields with nothing behind them; an API server drops those."""
    policies = compiled(render_for(form, policy, policy.examples[0]))
    for resource in (*read(policy.examples[0].good), *read(policy.examples[0].bad)):
        expected = [each.status for each in judge(policies, resource)]
        for path, changed in _with_nulls(resource):
            found = judge(policies, changed)
            assert [each.status for each in found] == expected, (resource.name, path, found)


_OPTIONAL = {
    "": ("initContainers", "ephemeralContainers", "volumes", "securityContext", "os", "hostUsers",
         "affinity", "topologySpreadConstraints", "resources", "hostNetwork", "hostPID", "hostIPC",
         "serviceAccountName", "restartPolicy", "automountServiceAccountToken"),
    "containers": ("securityContext", "ports", "livenessProbe", "readinessProbe", "startupProbe",
                   "lifecycle", "resources"),
    "securityContext": ("privileged", "capabilities", "procMount", "runAsUser", "runAsNonRoot",
                        "runAsGroup", "seLinuxOptions", "seccompProfile", "appArmorProfile",
                        "windowsOptions", "allowPrivilegeEscalation", "readOnlyRootFilesystem",
                        "sysctls", "supplementalGroups", "fsGroup"),
    "capabilities": ("add", "drop"),
    "seLinuxOptions": ("user", "role", "type"),
    "windowsOptions": ("hostProcess",),
    "ports": ("hostPort",),
    "volumes": ("hostPath", "emptyDir", "nfs"),
    "livenessProbe": ("httpGet", "tcpSocket"),
    "httpGet": ("host",),
    "tcpSocket": ("host",),
    "lifecycle": ("postStart", "preStop"),
    "resources": ("requests", "limits"),
    "metadata": ("annotations",),
    "annotations": ("container.apparmor.security.beta.kubernetes.io/null",
                    "service.beta.kubernetes.io/aws-load-balancer-ssl-cert"),
    "affinity": ("podAntiAffinity", "podAffinity"),
}  # fmt: skip
"""Fields of a Pod that may be null, by the field that holds them; "": those of a spec."""


def _with_nulls(resource: Resource) -> Iterator[tuple[str, Resource]]:
    """The object with one field that it does not have set to null, for each such field."""
    for path in _holders(resource.body, ()):
        body: Body = json.loads(json.dumps(resource.body))
        holder: Any = body
        for step in path:
            holder = holder[step]
        named = next((step for step in reversed(path) if isinstance(step, str)), "")
        named = {"spec": "", "initContainers": "containers"}.get(named, named)
        if named == "livenessProbe" and not holder:
            continue  # no API server takes a probe that does nothing
        absent = [name for name in _OPTIONAL.get(named, ()) if name not in holder]
        for name in absent:
            holder[name] = None
            changed = Resource(json.loads(json.dumps(body)), resource.location)
            yield ".".join(map(str, (*path, name))), changed
            del holder[name]


def _holders(value: Json, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        if path:
            yield path
        for key, member in value.items():
            yield from _holders(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _holders(member, (*path, index))


@each_example
def test_an_api_server_warns_of_no_expression(policy: FolderPolicy, examples: Examples) -> None:
    """It checks expressions against the kinds they speak of and writes what it finds into the
    policy's status; for its own kinds and for what the chart derives of them there is nothing."""
    for each in _for_api_servers(render_for(ADMISSION, policy, examples)):
        assert list(_warnings(each.body["spec"])) == [], each.name


@each_example
def test_an_api_server_compiles_every_expression(policy: FolderPolicy, examples: Examples) -> None:
    """It refuses a policy with one that does not compile. It has `orValue` of optional values
    alone, with types; Kyverno's, which scans use, takes anything."""
    for each in _for_api_servers(render_for(ADMISSION, policy, examples)):
        assert list(_refusals(each.body["spec"])) == [], each.name


def test_what_an_api_server_would_refuse_is_found() -> None:
    spec = {"variables": [{"name": "a", "expression": "object.?a[?'b'].orValue(null)"}]}
    validations = [{"expression": "variables.a == 'c'"}]
    assert list(_refusals({**spec, "validations": validations}))


def test_what_an_api_server_would_warn_of_is_found() -> None:
    spec = {
        "matchConstraints": {
            "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
        },
        "validations": [{"expression": "object.spec.hostNetworks"}],
    }
    assert list(_warnings(spec))


def _warnings(spec: Mapping[str, Any]) -> Iterator[str]:
    variables = [NamedExpression(v["name"], v["expression"]) for v in spec.get("variables", ())]
    for kind in _kinds(spec):
        shape = shape_of(kind)
        assert shape is not None, kind
        objects = {name: Variable(shape.type) for name in ("object", "oldObject")}
        typed = ENVIRONMENTS["k8s"].extend(objects, structs=shape.structs)
        expressions = AdmissionExpressions(typed, variables, has_params=False)
        for text in _texts(spec):
            problem = expressions.compile(text).problem
            if problem:
                yield f"{kind.kind}: {text}: {problem}"


def _refusals(spec: Mapping[str, Any]) -> Iterator[str]:
    variables = [NamedExpression(v["name"], v["expression"]) for v in spec.get("variables", ())]
    expressions = AdmissionExpressions(ENVIRONMENTS["k8s"], variables, has_params=False)
    for text in _texts(spec):
        problem = expressions.compile(text).problem
        if problem:
            yield f"{text}: {problem}"


def _kinds(spec: Mapping[str, Any]) -> list[GroupVersionKind]:
    rules: Sequence[Mapping[str, Any]] = spec["matchConstraints"]["resourceRules"]
    return [
        kind
        for rule in rules
        for kind in kinds_matched(rule["apiGroups"], rule["apiVersions"], rule["resources"])
    ]


def _texts(spec: Mapping[str, Any]) -> Iterator[str]:
    for name in ("variables", "validations", "matchConditions"):
        for each in spec.get(name, ()):
            yield from (each[key] for key in ("expression", "messageExpression") if key in each)


def _for_api_servers(found: Iterable[Resource]) -> list[Resource]:
    return [each for each in found if each.kind == ADMISSION]


def _policies(found: Iterable[Resource]) -> list[Resource]:
    return [each for each in found if each.kind in FORMS]
