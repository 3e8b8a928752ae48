"""Scenarios of what others send: reviews, answers of an API server, declared releases, URLs."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final

import yaml

from chartkit.kyverno.releases import own_facts
from tools.fuzz_scenarios import (
    CEL,
    ENGINE,
    EXCEPTION,
    OBJECTS,
    POLICY,
    RECORDING,
    RELEASES,
    Scenario,
)
from tools.fuzz_servers import ANSWERS, REVIEW

_HOOKS: Final = "/apis/admissionregistration.k8s.io/v1"
_RECORD: Final = """\
cluster: c (127.0.0.1:PORT)
opened:
- kind: MutatingWebhookConfiguration
  configuration: mutating
  uid: u
  webhook: mutating.kyverno.svc-fail
  failurePolicy: Ignore
"""
_LOCAL: Final = ("--allow-network", "127.0.0.1:1", "--allow-network", "127.0.0.1:22")
_ADOPT: Final = ("adopt", "--folder", "out", "--kyverno", "1.18", "--kubernetes", "1.34")


def _review(body: Any, operation: str) -> str:
    group, _, version = body["apiVersion"].rpartition("/")
    request = {
        "uid": "6f2b1c7e-0000-4000-8000-000000000001",
        "kind": {"group": group, "version": version, "kind": body["kind"]},
        "resource": {"group": group, "version": version, "resource": f"{body['kind'].lower()}s"},
        "subResource": "",
        "name": body["metadata"]["name"],
        "namespace": "a",
        "operation": operation,
        "userInfo": {"username": "u", "groups": ["g"], "extra": {"a": ["b"]}},
        "object": None if operation == "DELETE" else body,
        "oldObject": None if operation == "CREATE" else body,
        "dryRun": False,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"} | {"request": request}
    )


def _reviews() -> list[Scenario]:
    documents = yaml.load_all(OBJECTS, Loader=yaml.CSafeLoader)
    bodies = [each for each in documents if "metadata" in (each or {})]
    operations = ("CREATE", "UPDATE", "DELETE")
    files = {f"r{at}.json": _review(body, operations[at % 3]) for at, body in enumerate(bodies)}
    return [
        Scenario(
            f"reviews {name}",
            [
                [REVIEW, path, "p.yaml", review]
                for path in ("/validate", "/mutate", "/validate/fail", "/mutate/ignore")
                for review in files
            ],
            {**files, "p.yaml": text},
            weight=20,
        )
        for name, text in (("rules", POLICY), ("cel", CEL))
    ]


def _webhooks(kind: str, name: str) -> Any:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]}
    selector = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kyverno"]}
    hook = {
        "name": f"{name}.kyverno.svc-fail",
        "failurePolicy": "Fail",
        "clientConfig": {"service": {"namespace": "kyverno", "name": "kyverno-svc"}},
        "rules": [rule],
        "namespaceSelector": {"matchExpressions": [selector]},
    }
    labels = {"webhook.kyverno.io/managed-by": "kyverno"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "uid": "u", "resourceVersion": "1", "labels": labels},
        "webhooks": [hook],
    }


def _locked() -> dict[str, Any]:
    """Return the answers of an API server whose webhooks nothing answers."""
    answers: dict[str, Any] = {
        "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.0"},
        "/api/v1/namespaces/kyverno/services/kyverno-svc": {"metadata": {"name": "kyverno-svc"}},
        "/apis/discovery.k8s.io/v1/namespaces/kyverno/endpointslices": {
            "items": [
                {
                    "metadata": {"name": "a"},
                    "endpoints": [{"addresses": [], "conditions": {"ready": False}}],
                }
            ]
        },
    }
    for kind in ("Validating", "Mutating"):
        one = _webhooks(f"{kind}WebhookConfiguration", kind.lower())
        place = f"{_HOOKS}/{kind.lower()}webhookconfigurations"
        answers |= {place: {"metadata": {}, "items": [one]}, f"{place}/{kind.lower()}": one}
    text = 'failed calling webhook "validate.kyverno.svc-fail": no endpoints available'
    failed = {"type": "ReplicaFailure", "status": "True", "message": text}
    named = {"metadata": {"name": "a", "namespace": "b"}}
    replica_sets = [{**named, "status": {"conditions": [failed]}}]
    about = {"involvedObject": {"kind": "Job", "namespace": "b", "name": "a"}, "message": text}
    events = [{**named, **about, "lastTimestamp": "2099-01-01T00:00:00Z"}]
    answers["/apis/apps/v1/replicasets"] = {"metadata": {}, "items": replica_sets}
    answers["/api/v1/events"] = {"metadata": {"continue": ""}, "items": events}
    return answers


def _others() -> list[Scenario]:
    rescue = [["rescue"], ["rescue", "--yes"], ["rescue", "-o", "json"]]
    restore = [["rescue", "--restore"], ["rescue", "--restore", "--force"]]
    locked = {ANSWERS: json.dumps(_locked(), indent=1)}
    scanned = ["scan", "releases.yaml", "-p", "p.yaml"]
    releases = {"releases.yaml": RELEASES, "objects.yaml": "a: b\n", "p.yaml": POLICY}
    urls = (
        "https://127.0.0.1:1/p.yaml#sha256=" + "0" * 64,
        "git+https://127.0.0.1:1/a.git//p?ref=main",
        "http://127.0.0.1:1/a.tar.gz//p",
        "git@127.0.0.1:a/b.git//p?ref=v1",
        "ssh://git@127.0.0.1:1/a.git",
    )
    facts = own_facts()
    day = str(facts.day + timedelta(days=1))
    return [
        *_reviews(),
        Scenario("rescue cluster", rescue, locked, weight=20),
        Scenario("rescue restore", restore, {**locked, "chartkit-rescue.yaml": _RECORD}, weight=6),
        Scenario(
            "facts",
            [["facts", "update", "facts.json"]],
            {"facts.json": json.dumps({**facts.body, "date": day}), "facts.json.sha256": ""},
            fixed=frozenset({"facts.json.sha256"}),
            environment={"CHARTKIT_CACHE": "kept", "CHARTKIT_TODAY": day},
        ),
        Scenario("releases", [scanned, ["values", "lint", "releases.yaml"]], releases, weight=20),
        Scenario(
            "adopt alone",
            [
                [*_ADOPT, "p.yaml", "e.yaml", "releases.yaml", "-o", "json"],
                [*_ADOPT, "p.yaml", "objects.yaml", "e.yaml"],
                [*_ADOPT, "rec", "--env", "prd/east"],
            ],
            {
                **RECORDING,
                **releases,
                "objects.yaml": OBJECTS,
                "e.yaml": EXCEPTION,
                "v.yaml": ENGINE,
            },
            weight=30,
            left_out=("chartkit.addons.operate.adopt.run.try_out",),
        ),
        Scenario(
            "urls",
            [
                *(["scan", "objects.yaml", "-p", url, *_LOCAL] for url in urls),
                *(["scan", "objects.yaml", "-p", "p.yaml", "-f", url, *_LOCAL] for url in urls),
                *(["policies", "vendor", url, "--name", "x"] for url in urls),
            ],
            {"objects.yaml": OBJECTS, "p.yaml": POLICY},
            changes_arguments=True,
            weight=6,
        ),
    ]


REACHED_SCENARIOS: Final = tuple(_others())
