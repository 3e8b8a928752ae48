"""Kyverno itself in a cluster: its admission controllers and the ConfigMaps that they read."""

from __future__ import annotations

import re
from typing import Final

from chartkit.kyverno.controllers import controllers
from chartkit.model import Resource, mappings_at
from chartkit.network.cluster.reader import Reader, config_map_path
from chartkit.network.cluster.source import RefusedError
from chartkit.scan.installed.configuration import config_names

_DEPLOYMENTS: Final = "/apis/apps/v1/deployments"
_SELECTED: Final = "labelSelector=app.kubernetes.io%2Fcomponent%3Dadmission-controller"
_VERSION: Final = "/version"
_RELEASE: Final = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+")


def engine_there(reader: Reader) -> list[Resource]:
    """Return the Deployments of Kyverno's admission controllers, and the ConfigMaps that they read;
    what cannot be read is noted."""
    what = "Kyverno's configuration, without which every object counts as sent to it"
    try:
        listed = reader.source.get(f"{_DEPLOYMENTS}?{_SELECTED}")
    except RefusedError as error:
        reader.note(what, error)
        return []
    typed = {"apiVersion": "apps/v1", "kind": "Deployment"}
    found = [Resource({**each, **typed}) for each in mappings_at(listed, "items")]
    for each in controllers(found):
        namespace = each.deployment.namespace
        for name in config_names(each):
            try:
                body = reader.source.get(config_map_path(namespace, name))
            except RefusedError as error:
                reader.note(what, error)
                continue
            found.append(Resource({**body, "apiVersion": "v1", "kind": "ConfigMap"}))
    return found


def keep_engine(reader: Reader) -> None:
    """Read Kyverno's configuration and the server's version for a recording; what cannot be read
    does not matter to the scan that is recorded."""
    noted = dict(reader.unread)
    engine_there(reader)
    server_version(reader)
    reader.unread = noted


def server_version(reader: Reader) -> str:
    """Return the version of the server, without what a provider adds (`v1.34.1-eks-…`); empty where
    it does not say."""
    try:
        answer = reader.source.get(_VERSION)
    except RefusedError:
        return ""
    match = _RELEASE.match(str(answer.get("gitVersion")))
    return match[0] if match else ""
