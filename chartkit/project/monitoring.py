"""`monitoring:` of chartkit.yaml: how Prometheus reaches the engine's metrics in an environment;
`policyReporter:`: the settings of policy-reporter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_network
from types import MappingProxyType
from typing import Final

from chartkit.errors import InputError
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Location
from chartkit.project.settings import Keys, required

KEY: Final = "monitoring"


DEFAULT_LABELS: Final = MappingProxyType({"release": "kube-prometheus-stack"})
"""The labels by which kube-prometheus-stack's Prometheus selects monitors and rules, if its
release has the chart's name."""


PRIVATE: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""The private networks (RFC 1918)."""


FIRST_NODE_PORT: Final = 30060
"""In the part of the range that Kubernetes leaves to ports given by hand (30000–30085), so that no
Service has been given it by chance."""


_INTERNAL_EKS: Final = MappingProxyType(
    {
        "service.beta.kubernetes.io/aws-load-balancer-type": "external",
        "service.beta.kubernetes.io/aws-load-balancer-scheme": "internal",
        "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type": "ip",
    }
)
"""An internal network load balancer of the AWS Load Balancer Controller."""


_INTERNAL_ANYWHERE: Final = MappingProxyType(
    {
        "service.beta.kubernetes.io/aws-load-balancer-internal": "true",
        "service.beta.kubernetes.io/aws-load-balancer-scheme": "internal",
        "networking.gke.io/load-balancer-type": "Internal",
        "service.beta.kubernetes.io/azure-load-balancer-internal": "true",
    }
)
"""By which clouds make a load balancer an internal one; each passes over those of the others."""
POLICY_REPORTER: Final = "policyReporter"
MAJOR_VERSIONS: Final = (2, 3)
"""The major versions of policy-reporter's chart whose keys are known."""


class Mode(StrEnum):
    """The reader of the metrics: the Prometheus operator in the cluster, or a Prometheus outside
    it, by a port of every node or by load balancers."""

    OPERATOR = "prometheus-operator"
    NODE_PORT = "nodeport"
    LOAD_BALANCER = "loadbalancer"


_OUTSIDE: Final = frozenset({Mode.NODE_PORT, Mode.LOAD_BALANCER})


_MODES: Final = MappingProxyType(
    {
        "labels": frozenset({Mode.OPERATOR}),
        "nodePort": frozenset({Mode.NODE_PORT}),
        "annotations": frozenset({Mode.LOAD_BALANCER}),
        "from": _OUTSIDE,
    }
)
"""The modes that a key of `monitoring` means something in."""


@dataclass(frozen=True, slots=True)
class Monitoring:
    """The monitoring of an environment.

    labels: of service monitors and rules, by which Prometheus selects them; sources: networks
    (CIDR) that may reach the metrics; node_port: the first of as many as there are controllers;
    annotations: of the load balancers.
    """

    mode: Mode
    labels: Mapping[str, str]
    sources: tuple[str, ...]
    node_port: int
    annotations: Mapping[str, str]


def internal_annotations(eks: bool) -> Mapping[str, str]:
    """The annotations that make a load balancer internal; eks: whether the cloud is Amazon's."""
    return _INTERNAL_EKS if eks else _INTERNAL_ANYWHERE


def first_monitoring(mode: Mode, eks: bool) -> Monitoring:
    """The monitoring of an environment of a new project; eks: whether the cluster is Amazon's."""
    labels = DEFAULT_LABELS if mode is Mode.OPERATOR else {}
    return Monitoring(mode, labels, PRIVATE, FIRST_NODE_PORT, internal_annotations(eks))


def read_monitoring(keys: Keys) -> Monitoring | None:
    """Return the monitoring of an environment, None if there is none; keys: the environment's.
    Raises InputError for a key that its mode has no use for, for what is no network, and where
    another chart installs the engine."""
    body = keys.body.get(KEY)
    if body is None:
        return None
    if not keys.body.get("engine", True):
        hint = "set the values of the chart that installs Kyverno there, or leave the key out"
        message = "'monitoring' needs the engine's chart, and engine is false"
        raise InputError(message, keys.locate(KEY), hint)
    mode = Mode(required(keys, KEY, "mode"))
    for key in body.keys() & _MODES.keys():
        if mode not in _MODES[key]:
            wanted = " and ".join(sorted(_MODES[key]))
            message = f"'{key}' is for {wanted}, and the mode is {mode}"
            raise InputError(message, keys.locate(KEY, key), "leave it out")
    return Monitoring(
        mode,
        MappingProxyType(dict(body.get("labels", {}))),
        tuple(
            _network(text, keys.locate(KEY, "from", index))
            for index, text in enumerate(body.get("from", PRIVATE))
        ),
        body.get("nodePort", FIRST_NODE_PORT),
        MappingProxyType(dict(body.get("annotations", internal_annotations("eks" in keys.body)))),
    )


def _network(text: str, location: Location) -> str:
    try:
        return str(ip_network(text))
    except ValueError:
        hint = "write an address and the length of its prefix, such as 10.0.0.0/8"
        raise InputError(f"'{text}' is not a network", location, hint) from None


@dataclass(frozen=True, slots=True)
class Ingress:
    """The way to the UI from outside. class_name: the controller's, empty for the cluster's
    default; secret: a TLS Secret that is there already, empty for none."""

    host: str
    class_name: str
    annotations: Mapping[str, str]
    secret: str


@dataclass(frozen=True, slots=True)
class PolicyReporter:
    """The settings of an environment for policy-reporter. version: its chart's; service: the type
    of the UI's Service, empty for the chart's default."""

    version: Version
    ui: bool
    plugin: bool
    ingress: Ingress | None
    service: str = ""


def read_policy_reporter(keys: Keys) -> PolicyReporter | None:
    """Return the settings of an environment, None if there is none; keys: the environment's. Raises
    InputError for a version whose keys are not known, and for an ingress to a UI that is off."""
    body = keys.body.get(POLICY_REPORTER)
    if body is None:
        return None
    version = parse_version(
        required(keys, POLICY_REPORTER, "version"),
        "policy-reporter's chart",
        keys.locate(POLICY_REPORTER, "version"),
    )
    if version.major not in MAJOR_VERSIONS:
        versions = " and ".join(f"{major}.x" for major in MAJOR_VERSIONS)
        message = f"the keys of policy-reporter's chart {version} are not known"
        raise InputError(message, keys.locate(POLICY_REPORTER, "version"), f"{versions} are")
    ui = body.get("ui", True)
    if "ingress" in body and not ui:
        hint = "leave the ingress out, or set ui: true"
        raise InputError("leads to a UI that is off", keys.locate(POLICY_REPORTER, "ingress"), hint)
    if "service" in body and not ui:
        hint = "leave the service out, or set ui: true"
        raise InputError("is of a UI that is off", keys.locate(POLICY_REPORTER, "service"), hint)
    ingress_body = body.get("ingress")
    if ingress_body is None:
        ingress_block: Ingress | None = None
    else:
        ingress_block = Ingress(
            ingress_body["host"],
            ingress_body.get("className", ""),
            MappingProxyType(dict(ingress_body.get("annotations", {}))),
            ingress_body.get("tlsSecret", ""),
        )
    plugin, ingress = body.get("plugin", True), ingress_block
    return PolicyReporter(version, ui, plugin, ingress, body.get("service", ""))
