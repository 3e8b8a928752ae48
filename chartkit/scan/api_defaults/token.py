"""The volume with the token of a Pod's service account.

The admission plugin ServiceAccount mounts it into every container unless the Pod or the account
disables it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from chartkit.model import Body, Json, Resource
from chartkit.scan.api_defaults.shape import at, copied

Accounts = dict[tuple[str, str], Body]
"""The known service accounts, by namespace and name."""

_PREFIX: Final = "kube-api-access-"
_NAME: Final = f"{_PREFIX}xxxxx"
"""Placeholder for the five letters that a server generates."""

_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_NAMESPACE: Final = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
_SOURCE: Final[Body] = {
    "defaultMode": 0o644,
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": [{"fieldRef": _NAMESPACE, "path": "namespace"}]}},
    ],
}


def accounts_among(found: Iterable[Resource]) -> Accounts:
    """Return the service accounts among objects; the default namespace is `default`."""
    return {
        (one.namespace or "default", one.name): one.body
        for one in found
        if (one.api_version, one.kind) == ("v1", "ServiceAccount")
    }


def mount_token(pod: Resource, accounts: Accounts) -> None:
    """Add to a Pod's body what it takes from its service account; an unknown account has no
    fields."""
    if any("kubernetes.io/config.mirror" in one for one in at(pod.body, "metadata.annotations")):
        return
    for spec in at(pod.body, "spec"):
        name = spec.get("serviceAccountName")
        key = (pod.namespace or "default", name if isinstance(name, str) else "")
        account = accounts.get(key, {})
        secrets = account.get("imagePullSecrets")
        if isinstance(secrets, list) and secrets:
            spec.setdefault("imagePullSecrets", copied(secrets))
        if _wants_token(spec, account):
            _mount(spec)


def _wants_token(spec: Body, account: Body) -> bool:
    for value in (
        spec.get("automountServiceAccountToken"),
        account.get("automountServiceAccountToken"),
    ):
        if value is not None:
            return value is True
    return True


def _mount(spec: Body) -> None:
    volumes = spec.get("volumes", [])
    if not isinstance(volumes, list):
        return
    names = [one.get("name") for one in volumes if isinstance(one, dict)]
    own = next((one for one in names if isinstance(one, str) and one.startswith(_PREFIX)), None)
    mount = {"name": own or _NAME, "readOnly": True, "mountPath": _PATH}
    mounted = [
        _mounted(container, mount)
        for path in ("initContainers[]", "containers[]")
        for container in at(spec, path)
    ]
    if own is None and any(mounted):
        spec["volumes"] = [*volumes, {"name": _NAME, "projected": copied(_SOURCE)}]


def _mounted(container: Body, mount: Body) -> bool:
    mounts: Json = container.get("volumeMounts", [])
    if not isinstance(mounts, list) or any(
        isinstance(one, dict) and one.get("mountPath") == _PATH for one in mounts
    ):
        return False
    container["volumeMounts"] = [*mounts, dict(mount)]
    return True
