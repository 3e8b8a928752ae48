"""Defaults of Services: those that depend on the type, and pairs of fields with the same value."""

from __future__ import annotations

from typing import Final

from chartkit.model import Body
from chartkit.scan.api_defaults.shape import Shape, at, is_zero

_AFFINITY_SECONDS: Final = 10800
_WITH_ADDRESS: Final = ("ClusterIP", "NodePort", "LoadBalancer")


def _affinity(spec: Body) -> None:
    if is_zero(spec.get("sessionAffinity")):
        spec["sessionAffinity"] = "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP" and not any(
        "timeoutSeconds" in one for one in at(spec, "sessionAffinityConfig.clientIP")
    ):
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _of_type(spec: Body) -> None:
    if spec.get("selector") == {}:
        del spec["selector"]
    if is_zero(spec.get("type")):
        spec["type"] = "ClusterIP"
    kind = spec["type"]
    is_external = kind in ("NodePort", "LoadBalancer") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    if is_external and is_zero(spec.get("externalTrafficPolicy")):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in _WITH_ADDRESS:
        spec.setdefault("internalTrafficPolicy", "Cluster")
        _addresses(spec)
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def _addresses(spec: Body) -> None:
    address, addresses = spec.get("clusterIP"), spec.get("clusterIPs")
    if address and isinstance(address, str) and not addresses:
        spec["clusterIPs"] = [address]
    elif is_zero(address) and isinstance(addresses, list) and addresses:
        spec["clusterIP"] = addresses[0]
    is_dual = spec.get("clusterIP") == "None" and not spec.get("selector")
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if is_dual else "SingleStack")


def _target_port(port: Body) -> None:
    if is_zero(port.get("targetPort")) and "port" in port:
        port["targetPort"] = port["port"]


SERVICE = Shape(
    absent={"spec": {}},
    parts={
        "spec": Shape(
            steps=(_affinity, _of_type),
            zero="clusterIP externalName loadBalancerIP externalTrafficPolicy healthCheckNodePort"
            " publishNotReadyAddresses",
            parts={
                "ports[]": Shape(
                    steps=(_target_port,), empty={"protocol": "TCP"}, zero="name nodePort"
                )
            },
        )
    },
)
