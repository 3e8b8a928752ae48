"""The leaves of the controls of Pod Security Standards, for rules that name a level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from chartkit.addons.migrate.proof.leaves.leaf import Leaf
from chartkit.addons.migrate.proof.leaves.paths import ABSENT, EACH, Path
from chartkit.model import Body, Json

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_POD: Final[Mapping[str, tuple[Json, ...]]] = {
    "hostNetwork": (False, True),
    "hostPID": (False, True),
    "hostIPC": (False, True),
    "hostUsers": (True, False),
    "os.name": ("linux", "windows"),
    "volumes[].hostPath": (ABSENT, {"path": "/data"}),
    "volumes[].emptyDir": ({}, ABSENT),
    "volumes[].nfs": (ABSENT, {"server": "x", "path": "/x"}),
    "securityContext.sysctls[].name": ("kernel.shm_rmid_forced", "kernel.msgmax"),
}
_BOTH: Final[Mapping[str, tuple[Json, ...]]] = {
    "runAsNonRoot": (True, False, ABSENT),
    "runAsUser": (1000, 0, ABSENT),
    "seccompProfile.type": ("RuntimeDefault", "Localhost", "Unconfined", ABSENT),
    "appArmorProfile.type": ("RuntimeDefault", "Localhost", "Unconfined", ABSENT),
    "seLinuxOptions.type": ("container_t", "container_init_t", "spc_t", ""),
    "seLinuxOptions.user": (ABSENT, "system_u"),
    "seLinuxOptions.role": (ABSENT, "system_r"),
    "windowsOptions.hostProcess": (False, True, ABSENT),
}
_CONTAINER: Final[Mapping[str, tuple[Json, ...]]] = {
    "privileged": (False, True, ABSENT),
    "allowPrivilegeEscalation": (False, True, ABSENT),
    "procMount": ("Default", "Unmasked", ABSENT),
    "capabilities.add[]": ("NET_BIND_SERVICE", "CHOWN", "SYS_ADMIN", "NET_RAW", ABSENT),
    "capabilities.drop[]": ("ALL", "NET_RAW", "all", ABSENT),
}
_OTHERS: Final[Mapping[str, tuple[Json, ...]]] = {
    "ports[].hostPort": (ABSENT, 8080, 0),
    "livenessProbe.httpGet.host": (ABSENT, "127.0.0.1", "10.0.0.1"),
    "image": ("registry.example/app:1.0", "nginx", "ghcr.io/x/app:latest"),
}


def pod_security_leaves(body: Body, group: str) -> Iterator[Leaf]:
    """Yield the leaves of every control; body: the rule's `podSecurity`."""
    for text, values in _POD.items():
        yield _leaf(("object", "spec"), text, values, group)
    for text, values in _BOTH.items():
        yield _leaf(("object", "spec", "securityContext"), text, values, group)
    for containers in _CONTAINERS:
        base: Path = ("object", "spec", containers, EACH)
        for text, values in {**_BOTH, **_CONTAINER}.items():
            yield _leaf((*base, "securityContext"), text, values, group)
        for text, values in _OTHERS.items():
            yield _leaf(base, text, values, group)
    annotation = (
        "object",
        "metadata",
        "annotations",
        "container.apparmor.security.beta.kubernetes.io/app",
    )
    yield Leaf(annotation, (ABSENT, "runtime/default", "unconfined", "localhost/x"), group, 1)
    for one in body.get("exclude") or ():
        for image in (one.get("images") or ()) if isinstance(one, dict) else ():
            sample = str(image).replace("*", "x").replace("?", "a")
            path = ("object", "spec", "containers", EACH, "image")
            yield Leaf(path, (sample, "unlike:1.0"), group)


def _leaf(base: Path, text: str, values: tuple[Json, ...], group: str) -> Leaf:
    steps: list[object] = []
    for part in text.split("."):
        name = part.removesuffix("[]")
        steps += [name] if name == part else [name, EACH]
    return Leaf((*base, *steps), values, group, 1)  # type: ignore[arg-type]
