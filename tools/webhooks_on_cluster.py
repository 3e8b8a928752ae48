"""`python -m tools.webhooks_on_cluster`: the webhooks that a real Kyverno makes of policies.

It takes the cluster of the current kubeconfig, where Kyverno runs without policies, stores some of
every kind there, waits for the webhook configurations, and compares each webhook with the one that
`estimate` counts by and `serve` registers: name, rules, failure policy, selectors, conditions.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Final

from chartkit.addons.serve.admission.registration import (
    Endpoint,
    hook_of,
    policy_webhooks,
)
from chartkit.addons.serve.admission.selection import Webhook
from chartkit.addons.serve.admission.webhooks import Scope
from chartkit.documents.reader import read_text
from chartkit.engine import compile_any
from chartkit.engine.cleanup import Cleaner
from chartkit.engine.kubernetes.kinds import kind_of, resource_name
from chartkit.model import Resource
from chartkit.network.cluster.client import Cluster, connect
from chartkit.network.cluster.source import ClusterError
from tools.serve_on_cluster import Checks

_POLICIES: Final = Path(__file__).with_suffix(".yaml")
_NAMESPACE: Final = "webhooks-on-cluster"
_LONGEST: Final = 90.0
_PATHS: Final = {
    Webhook.VALIDATING: "validatingwebhookconfigurations/kyverno-resource-validating-webhook-cfg",
    Webhook.MUTATING: "mutatingwebhookconfigurations/kyverno-resource-mutating-webhook-cfg",
}
_DEFAULTS: Final[dict[str, Any]] = {
    "matchPolicy": "Equivalent",
    "timeoutSeconds": 10,
    "reinvocationPolicy": "Never",
    "matchConditions": [],
}
"""What an API server adds where nothing is said."""


def _shown(hook: dict[str, Any], side: Webhook) -> dict[str, Any]:
    """Return what is compared of a webhook."""
    keys = ("failurePolicy", "namespaceSelector", "objectSelector", "rules")
    found = {key: hook.get(key) for key in keys}
    for key, value in _DEFAULTS.items():
        if key != "reinvocationPolicy" or side is Webhook.MUTATING:
            found[key] = hook.get(key, value)
    client = hook["clientConfig"]
    found["path"] = client["service"]["path"]
    found["rules"] = sorted(
        (
            {key: rule[key] if key == "scope" else sorted(rule[key]) for key in rule}
            for rule in hook["rules"]
        ),
        key=lambda rule: json.dumps(rule, sort_keys=True),
    )
    return found


def _there(cluster: Cluster) -> dict[tuple[Webhook, str], dict[str, Any]]:
    found = {}
    for side, path in _PATHS.items():
        body = cluster.get(f"/apis/admissionregistration.k8s.io/v1/{path}") or {}
        for hook in body.get("webhooks") or ():
            found[side, hook["name"]] = hook
    return found


def _path_of(resource: Resource) -> str:
    group, version, kind = kind_of(resource)
    place = f"/namespaces/{resource.namespace}" if resource.namespace else ""
    return f"/apis/{group}/{version}{place}/{resource_name(kind)}/{resource.name}"


def _stored(cluster: Cluster, given: list[Resource], checks: Checks) -> list[Any]:
    """Store policies, and return those that Kyverno takes, compiled."""
    found = []
    for each in given:
        try:
            cluster.apply(_path_of(each), each.body, "webhooks-on-cluster")
        except ClusterError as error:
            checks.equal(f"{each.kind} {each.name} is stored", str(error), "")
            continue
        compiled = compile_any(each)
        assert not isinstance(compiled, Cleaner)
        found.append(compiled)
    return found


def check(cluster: Cluster) -> int:
    """Return the number of differences."""
    checks = Checks()
    text = _POLICIES.read_text("utf-8").replace("NAMESPACE", _NAMESPACE)
    given = [Resource(each.body, each.location) for each in read_text(text, str(_POLICIES))]
    compiled = _stored(cluster, given, checks)
    scope = Scope(_selector(cluster), in_background=True)
    endpoint = Endpoint(b"", "", "kyverno", "kyverno-svc")
    expected = {
        (each.side, each.name): hook_of(each, endpoint) for each in policy_webhooks(compiled, scope)
    }
    end = time.monotonic() + _LONGEST
    while set(_there(cluster)) != set(expected) and time.monotonic() < end:
        time.sleep(1)
    time.sleep(5)  # The last of them may get further rules.
    found = _there(cluster)
    checks.equal("names", sorted(map(str, found)), sorted(map(str, expected)))
    for key in sorted(set(found) & set(expected)):
        side, name = key
        one, other = _shown(found[key], side), _shown(expected[key], side)
        for field in one:
            checks.equal(f"{name}: {field}", one[field], other[field])
    for each in given:
        cluster.remove(_path_of(each))
    return checks.failed


def _selector(cluster: Cluster) -> dict[str, Any]:
    """Return the namespace selector of Kyverno's configuration."""
    body = cluster.get("/api/v1/namespaces/kyverno/configmaps/kyverno") or {}
    selector = json.loads(body["data"]["webhooks"])["namespaceSelector"]
    return {key: value for key, value in selector.items() if value}


def main() -> None:
    """Check the cluster of the current kubeconfig."""
    cluster = connect(None)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}}
    cluster.apply(f"/api/v1/namespaces/{_NAMESPACE}", namespace, "webhooks-on-cluster")
    failed = check(cluster)
    cluster.remove(f"/api/v1/namespaces/{_NAMESPACE}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
