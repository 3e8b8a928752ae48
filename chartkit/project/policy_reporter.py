"""`policyReporter:` of chartkit.yaml: what an environment says of policy-reporter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from chartkit.errors import InputError
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body
from chartkit.project.inheritance import Keys, required

KEY: Final = "policyReporter"

MAJOR_VERSIONS: Final = (2, 3)
"""The major versions of policy-reporter's chart whose keys are known."""


@dataclass(frozen=True, slots=True)
class Ingress:
    """The way to the UI from outside.

    class_name: the controller's, empty for the cluster's default; secret: a TLS Secret that is
    there already, empty for none.
    """

    host: str
    class_name: str
    annotations: Mapping[str, str]
    secret: str


@dataclass(frozen=True, slots=True)
class PolicyReporter:
    """The settings of an environment for policy-reporter.

    version: its chart's; service: the type of the UI's Service, empty for the chart's default.
    """

    version: Version
    ui: bool
    plugin: bool
    ingress: Ingress | None
    service: str = ""


def read_policy_reporter(keys: Keys) -> PolicyReporter | None:
    """Return the settings of an environment, None if there is none; keys: the environment's. Raises
    InputError for a version whose keys are not known, and for an ingress to a UI that is off."""
    body = keys.body.get(KEY)
    if body is None:
        return None
    version = parse_version(
        required(keys, KEY, "version"), "policy-reporter's chart", keys.locate(KEY, "version")
    )
    if version.major not in MAJOR_VERSIONS:
        known = " and ".join(f"{major}.x" for major in MAJOR_VERSIONS)
        message = f"the keys of policy-reporter's chart {version} are not known"
        raise InputError(message, keys.locate(KEY, "version"), f"{known} are")
    ui = body.get("ui", True)
    if "ingress" in body and not ui:
        hint = "leave the ingress out, or set ui: true"
        raise InputError("leads to a UI that is off", keys.locate(KEY, "ingress"), hint)
    if "service" in body and not ui:
        hint = "leave the service out, or set ui: true"
        raise InputError("is of a UI that is off", keys.locate(KEY, "service"), hint)
    plugin, ingress = body.get("plugin", True), _ingress(body.get("ingress"))
    return PolicyReporter(version, ui, plugin, ingress, body.get("service", ""))


def _ingress(body: Body | None) -> Ingress | None:
    if body is None:
        return None
    return Ingress(
        body["host"],
        body.get("className", ""),
        MappingProxyType(dict(body.get("annotations", {}))),
        body.get("tlsSecret", ""),
    )
