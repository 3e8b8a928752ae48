"""Webhook configurations by policies."""

from typing import Any

import pytest

from chartkit.addons.serve.admission.registration import Endpoint, webhook_configurations
from chartkit.addons.serve.admission.webhooks import Scope, other_namespaces
from chartkit.engine.kubernetes.kinds import CustomNames, GroupVersionKind
from chartkit.model import Body
from tests.addons.serve.admission.bodies import CEL, LABELS, TEAM, policies
from tests.data import beside, from_table

_TEXTS = beside(__file__)

_ENDPOINT = Endpoint(b"PEM", "https://10.0.0.1:9443")


def made(*texts: str, endpoint: Endpoint = _ENDPOINT, scope: Scope | None = None) -> dict[str, Any]:
    """Return the webhooks for policies by their names."""
    found = webhook_configurations(policies(*texts), endpoint, scope or Scope())
    return {hook["name"]: hook for each in found for hook in each["webhooks"]}


def _resources(hook: Body) -> set[tuple[str, str]]:
    return {
        (group, resource)
        for rule in hook["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_a_cluster_policy_is_asked_about_its_kinds_and_their_controllers() -> None:
    hook = made(TEAM)["validate.kyverno.svc-fail"]
    assert hook["clientConfig"] == {
        "url": "https://10.0.0.1:9443/validate/fail",
        "caBundle": "UEVN",
    }
    assert hook["failurePolicy"] == "Fail"
    assert _resources(hook) == {
        ("", "pods"),
        ("", "pods/ephemeralcontainers"),
        ("", "replicationcontrollers"),
        ("apps", "daemonsets"),
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
        ("batch", "cronjobs"),
        ("batch", "jobs"),
    }
    operations = {operation for rule in hook["rules"] for operation in rule["operations"]}
    assert operations == {"CREATE", "UPDATE", "DELETE", "CONNECT"}


def test_failure_policies_have_webhooks_of_their_own() -> None:
    lax = TEAM.replace("require-team", "lax").replace(
        "  rules:", "  failurePolicy: Ignore\n  rules:"
    )
    found = made(TEAM, lax, LABELS)
    assert [*found] == [
        "validate.kyverno.svc-fail",
        "validate.kyverno.svc-ignore",
        "mutate.kyverno.svc-fail",
    ]
    assert found["validate.kyverno.svc-ignore"]["failurePolicy"] == "Ignore"
    assert found["validate.kyverno.svc-ignore"]["clientConfig"]["url"].endswith("/validate/ignore")
    assert found["mutate.kyverno.svc-fail"]["reinvocationPolicy"] == "IfNeeded"


def test_match_conditions_make_a_webhook_fine_grained() -> None:
    conditions = "[{name: named, expression: \"object.metadata.name != 'x'\"}]"
    text = TEAM.replace(
        "  rules:", f"  webhookConfiguration: {{matchConditions: {conditions}}}\n  rules:"
    )
    hook = made(text)["validate.kyverno.svc-fail-finegrained-require-team"]
    assert hook["clientConfig"]["url"].endswith("/validate/fail/finegrained/require-team")
    assert hook["matchConditions"] == [
        {"name": "named", "expression": "object.metadata.name != 'x'"}
    ]


def test_timeouts_are_the_longest_within_what_is_allowed() -> None:
    def seconds(text: str) -> int:
        value: int = made(text)["validate.kyverno.svc-fail"]["timeoutSeconds"]
        return value

    assert seconds(TEAM) == 10
    assert seconds(TEAM.replace("  rules:", "  webhookTimeoutSeconds: 25\n  rules:")) == 25


def test_cel_policies_share_a_webhook() -> None:
    other = CEL.replace("no-latest", "another")
    found = made(CEL, other)
    assert [*found] == ["vpol.validate.kyverno.svc-fail"]
    hook = found["vpol.validate.kyverno.svc-fail"]
    assert hook["clientConfig"]["url"] == "https://10.0.0.1:9443/vpol/another/no-latest"
    assert ("apps", "deployments") in _resources(hook)


def test_selectors_part_the_webhooks_of_cel_policies() -> None:
    selector = "    namespaceSelector: {matchLabels: {env: prod}}\n    resourceRules:"
    other = CEL.replace("no-latest", "another").replace("    resourceRules:", selector)
    found = made(CEL, other, scope=Scope(other_namespaces(["kube-system"])))
    assert len(found) == 2
    chosen = next(
        each for each in found.values() if each["clientConfig"]["url"].endswith("/another")
    )
    excluded = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": ["kube-system"],
    }
    assert chosen["namespaceSelector"] == {
        "matchLabels": {"env": "prod"},
        "matchExpressions": [excluded],
    }


def test_conditions_of_a_cel_policy_are_for_each_form() -> None:
    text = CEL.replace(
        "  validations:", "  matchConditions: [{name: a, expression: 'true'}]\n  validations:"
    )
    hook = made(text)["vpol.validate.kyverno.svc-fail-finegrained-no-latest"]
    named = {each["name"]: each["expression"] for each in hook["matchConditions"]}
    assert named["autogen-a"] == "!((object.apiVersion == 'v1' && object.kind =='Pod')) || (true)"
    assert len(named) == 3
    assert any("object.kind =='CronJob'" in each for each in named.values())


def test_a_policy_of_a_namespace_is_asked_there_alone() -> None:
    text = CEL.replace("kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy").replace(
        "{name: no-latest}", "{name: no-latest, namespace: team-a}"
    )
    hook = made(text)["nvpol.validate.kyverno.svc-fail"]
    assert hook["namespaceSelector"]["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-a"]}
    ]
    assert hook["clientConfig"]["url"].endswith("/nvpol/no-latest")
    assert [rule["resources"] for rule in hook["rules"]] == [["pods"]]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("Deployment", {("apps", "v1", "deployments", "Namespaced")}),
        ("apps/v1/Deployment", {("apps", "v1", "deployments", "Namespaced")}),
        ("Namespace", {("", "v1", "namespaces", "*")}),
        ("Deployment/scale", {("apps", "v1", "deployments/scale", "Namespaced")}),
        ("NetworkPolicy", {("networking.k8s.io", "v1", "networkpolicies", "Namespaced")}),
        ("'*'", {("*", "*", "*", "*"), ("*", "*", "pods/ephemeralcontainers", "*")}),
        ("example.com/v1/Widget", {("example.com", "v1", "widgets", "*")}),
        ("acme.io/v2/Box", {("acme.io", "v2", "boxen", "Namespaced")}),
    ],
)
def test_kinds_become_resources(kinds: str, expected: set[tuple[str, ...]]) -> None:
    box = GroupVersionKind("acme.io", "v2", "Box")
    names = CustomNames({("acme.io", "Box"): True}, {box: "boxen"})
    text = TEAM.replace("kinds: [Pod]", f"kinds: [{kinds}]")
    text = text.replace('pattern: {metadata: {labels: {team: "?*"}}}', "deny: {}")
    text = text.replace("  rules:", "  background: false\n  rules:")
    hook = made(text, scope=Scope(names=names))["validate.kyverno.svc-fail"]
    found = {
        (rule["apiGroups"][0], rule["apiVersions"][0], resource, rule["scope"])
        for rule in hook["rules"]
        for resource in rule["resources"]
    }
    assert found == expected


def test_operations_of_a_match_are_kept() -> None:
    text = TEAM.replace("{kinds: [Pod]}", "{kinds: [ConfigMap], operations: [DELETE]}")
    hook = made(text)["validate.kyverno.svc-fail"]
    assert [rule["operations"] for rule in hook["rules"]] == [["DELETE"]]


def test_a_service_is_named_in_place_of_an_address() -> None:
    endpoint = Endpoint(b"PEM", "", "tools", "chartkit", 8443)
    hook = made(TEAM, endpoint=endpoint)["validate.kyverno.svc-fail"]
    assert hook["clientConfig"]["service"] == {
        "namespace": "tools",
        "name": "chartkit",
        "port": 8443,
        "path": "/validate/fail",
    }


_KIND = CEL.replace("kind: ValidatingPolicy", "kind: KIND")
_PLACE = "{name: no-latest, namespace: team-a}"
_TAKEN = "  matchConditions: [{name: a, expression: 'EXPRESSION'}]\n  validations:"
_MUTATES = _TEXTS["mutates"]
_IMAGES = _TEXTS["images"]
_VERIFIED = _TEXTS["verified"]
_ANYTHING = LABELS.replace("  rules:", "  background: false\n  rules:")


def _cel(kind: str, text: str = _KIND) -> str:
    found = text.replace("KIND", kind)
    if kind.startswith("Namespaced"):
        return found.replace("{name: no-latest}", _PLACE)
    return found.replace(", namespace: team-a", "")


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        ([_cel("MutatingPolicy", _MUTATES)], ["mpol.validate.kyverno.svc-fail-finegrained-m"]),
        (
            [_cel("NamespacedMutatingPolicy", _MUTATES)],
            ["nmpol.validate.kyverno.svc-fail-finegrained-team-a-m"],
        ),
        (
            [_cel("NamespacedImageValidatingPolicy", _IMAGES.replace("DIGEST", "true"))],
            ["ivpol.validate.kyverno.svc-fail", "ivpol.mutate.kyverno.svc-fail"],
        ),
        (
            [_cel("ImageValidatingPolicy", _IMAGES.replace("DIGEST", "false"))],
            ["ivpol.validate.kyverno.svc-fail"],
        ),
        (
            [
                _cel(f"{place}ImageValidatingPolicy", _IMAGES.replace("DIGEST", "false"))
                for place in ("", "Namespaced")
            ],
            ["ivpol.validate.kyverno.svc-fail", "nivpol.validate.kyverno.svc-fail"],
        ),
        ([_VERIFIED.replace("CHECKS", "false")], ["mutate.kyverno.svc-fail"]),
        (
            [_VERIFIED.replace("CHECKS", "true")],
            ["validate.kyverno.svc-fail", "mutate.kyverno.svc-fail"],
        ),
        (
            [
                CEL,
                CEL.replace("no-latest", "lax").replace("spec:", "spec:\n  failurePolicy: Ignore"),
            ],
            ["vpol.validate.kyverno.svc-fail", "vpol.validate.kyverno.svc-ignore"],
        ),
        (
            [CEL.replace("  validations:", _TAKEN.replace("EXPRESSION", 'image("a").tag() == ""'))],
            ["vpol.validate.kyverno.svc-fail"],
        ),
    ],
)
def test_names_are_kyvernos(texts: list[str], names: list[str]) -> None:
    assert [*made(*texts)] == names


def test_webhooks_of_one_pair_of_selectors_name_all_its_policies() -> None:
    lax = CEL.replace("no-latest", "lax").replace("spec:", "spec:\n  failurePolicy: Ignore")
    paths = {hook["clientConfig"]["url"].rpartition(":9443")[2] for hook in made(CEL, lax).values()}
    assert paths == {"/vpol/lax/no-latest"}


def test_mutating_webhooks_have_what_kyverno_sets() -> None:
    hook = made(_cel("MutatingPolicy", _MUTATES))["mpol.validate.kyverno.svc-fail-finegrained-m"]
    assert hook["matchPolicy"] == "Equivalent"
    assert "reinvocationPolicy" not in hook


@from_table("expression", "expected")
def test_conditions_about_the_namespace_are_left_to_the_policy(
    expression: str, expected: list[str] | None
) -> None:
    text = CEL.replace("  validations:", _TAKEN.replace("EXPRESSION", expression))
    hook = made(text)["vpol.validate.kyverno.svc-fail-finegrained-no-latest"]
    found = hook.get("matchConditions")
    assert (found and [each["name"] for each in found]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            _cel("NamespacedImageValidatingPolicy", _IMAGES.replace("DIGEST", "false")).replace(
                "  validationConf", "  webhookConfiguration: {timeoutSeconds: 5}\n  validationConf"
            ),
            {("CREATE", "pods")},
        ),
        (
            LABELS.replace("{kinds: [Pod]}", "{kinds: [ConfigMap], operations: [CREATE, DELETE]}"),
            {("CREATE DELETE", "configmaps")},
        ),
        (
            LABELS.replace(
                "{kinds: [Pod]}}]}",
                "{kinds: [ConfigMap, Secret]}}]}\n"
                "    exclude: {any: [{resources: {kinds: [Secret]}},"
                " {resources: {operations: [UPDATE]}}, {resources: {names: [x]}}]}",
            ),
            {("CREATE", "configmaps")},
        ),
        (
            _ANYTHING.replace("[Pod]", "['*']")
            + "---\n"
            + LABELS.replace("[Pod]", "[ConfigMap, Deployment/scale]"),
            {
                ("CREATE UPDATE", "*"),
                ("CREATE UPDATE", "pods/ephemeralcontainers"),
                ("CREATE UPDATE", "deployments/scale"),
            },
        ),
        (_ANYTHING.replace("[Pod]", "['*/*', Deployment/scale]"), {("CREATE UPDATE", "*/*")}),
    ],
)
def test_rules_are_what_kyverno_asks_for(text: str, expected: set[tuple[str, str]]) -> None:
    (hook,) = made(text).values()
    assert expected == {
        (" ".join(rule["operations"]), resource)
        for rule in hook["rules"]
        for resource in rule["resources"]
    }


def test_generation_is_asked_for_where_it_happens() -> None:
    text = CEL.replace("ValidatingPolicy", "GeneratingPolicy").partition("  validations:")[0]
    text = text.replace("  validationActions: [Deny]\n", "") + (
        "  variables: [{name: made, expression: '[]'}]\n"
        "  generate: [{expression: 'generator.Apply(\"a\", variables.made)'}]\n"
    )
    assert not made(text)
    hook = made(text, scope=Scope(in_background=True))["gpol.validate.kyverno.svc-ignore"]
    assert hook["rules"][0]["operations"] == ["CONNECT", "CREATE", "DELETE", "UPDATE"]
