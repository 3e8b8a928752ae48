"""What is generated and what is deleted, from the command line."""

import json
from pathlib import Path
from typing import Any

from tests.e2e.command import chartkit

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
TARGET = "{{ request.object.metadata.name }}"


def _write(path: Path, *documents: Any) -> str:
    path.write_text("\n---\n".join(json.dumps(one) for one in documents), encoding="utf-8")
    return path.name


def _policy(generate: dict[str, Any], **spec: Any) -> dict[str, Any]:
    match = {"any": [{"resources": {"kinds": ["Namespace"]}}]}
    rules = [{"name": "make", "match": match, "generate": generate}]
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "maker"},
        "spec": {"rules": rules, **spec},
    }


SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "pull", "namespace": "shared"},
    "data": {"k": "dg=="},
}
CLONE = {
    "apiVersion": "v1",
    "kind": "Secret",
    "name": "pull",
    "namespace": TARGET,
    "synchronize": True,
    "clone": {"namespace": "shared", "name": "pull"},
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "name": "{{ request.userInfo.username }}-owns",
    "namespace": TARGET,
    "data": {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "User", "name": "{{ request.userInfo.username }}"}],
    },
}
USER = {
    "apiVersion": "cli.kyverno.io/v1alpha1",
    "kind": "UserInfo",
    "metadata": {"name": "who"},
    "userInfo": {"username": "dana"},
}


def test_a_secret_into_a_new_namespace(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", _policy(CLONE))
    objects = _write(tmp_path / "objects.yaml", NAMESPACE, SECRET)
    done = chartkit(tmp_path, "preview", objects, "-p", policy)
    assert (done.code, done.err) == (0, "")
    assert "namespace: shop" in done.out
    assert "k: (hidden)" in done.out


def test_a_binding_for_who_asks(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", _policy(BINDING, background=False))
    objects = _write(tmp_path / "objects.yaml", NAMESPACE)
    user = _write(tmp_path / "user.yaml", USER)
    done = chartkit(tmp_path, "preview", objects, "-p", policy, "--userinfo", user)
    assert (done.code, done.err) == (0, "")
    assert "name: dana-owns" in done.out


def test_a_binding_in_the_background_is_refused_with_the_fix(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", _policy(BINDING))
    objects = _write(tmp_path / "objects.yaml", NAMESPACE)
    done = chartkit(tmp_path, "scan", objects, "-p", policy)
    assert done.code == 1
    assert "Set spec.background=false" in done.err


def test_a_cluster_role_stands_outside_namespaces(tmp_path: Path) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": TARGET}
    policy = _write(tmp_path / "policy.yaml", _policy({**role, "data": {"rules": []}}))
    objects = _write(tmp_path / "objects.yaml", NAMESPACE)
    done = chartkit(tmp_path, "scan", objects, "-p", policy, "--detailed")
    assert (done.code, done.err) == (0, "")


AGE = "{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}"
CLEANUP = {
    "apiVersion": "kyverno.io/v2",
    "kind": "ClusterCleanupPolicy",
    "metadata": {"name": "old-pods"},
    "spec": {
        "schedule": "*/5 * * * *",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "conditions": {"all": [{"key": AGE, "operator": "GreaterThan", "value": "24h"}]},
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "shop", "creationTimestamp": "2030-01-01T00:00:00Z"},
}
LABELLED = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": "shop", "labels": {"cleanup.kyverno.io/ttl": "2h"}},
}


def test_what_is_deleted_when(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", CLEANUP)
    objects = _write(tmp_path / "objects.yaml", POD, LABELLED)
    done = chartkit(tmp_path, "scan", objects, "-p", policy, "--at", "2030-01-03T10:02:00Z")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-3:] == [
        "deletions after 2030-01-03T10:02:00Z: 2",
        "  2030-01-03T10:05:00Z  shop/Pod/a  old-pods",
        "  2030-01-03T12:02:00Z  shop/ConfigMap/c  cleanup.kyverno.io/ttl",
    ]
    early = chartkit(tmp_path, "scan", objects, "-p", policy, "--at", "2030-01-01", "-o", "json")
    assert json.loads(early.out)["deletions"] == [
        {
            "time": "2030-01-01T02:00:00Z",
            "resource": "v1/ConfigMap/shop/c",
            "cause": "cleanup.kyverno.io/ttl",
            "propagation": "",
        }
    ]
    assert "shop/Pod/a" not in early.err
    assert "shop/ConfigMap/c" in early.err


def test_without_a_time_scan_says_how_to_ask(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", CLEANUP)
    objects = _write(tmp_path / "objects.yaml", POD)
    done = chartkit(tmp_path, "scan", objects, "-p", policy)
    assert (done.code, done.line) == (0, "cleanup policies: --at TIME says what they delete")


def test_times_that_are_none(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", CLEANUP)
    objects = _write(tmp_path / "objects.yaml", POD)
    for text in ("soon", "2030-13-01", "9999-12-31T23:59:59Z"):
        done = chartkit(tmp_path, "scan", objects, "-p", policy, "--at", text)
        assert done.code == 2
        assert "--at" in done.line


def test_a_schedule_that_never_runs_is_told(tmp_path: Path) -> None:
    spec = {**CLEANUP["spec"], "schedule": "sometimes"}  # type: ignore[dict-item]
    policy = _write(tmp_path / "policy.yaml", {**CLEANUP, "spec": spec})
    objects = _write(tmp_path / "objects.yaml", POD)
    done = chartkit(tmp_path, "scan", objects, "-p", policy, "--at", "2030-01-03")
    assert done.code == 1
    assert "not in proper cron format" in done.err
    assert "deletions after 2030-01-03T00:00:00Z: 0" in done.out
