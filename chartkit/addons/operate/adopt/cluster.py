"""A cluster, or a recording of one, read into an estate."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Final

from chartkit.addons.operate.adopt.engine import is_engine, release_of, written_document
from chartkit.addons.operate.adopt.files import Sorter
from chartkit.addons.operate.adopt.model import EngineValues, Estate, Outcome, Piece, Row
from chartkit.documents.reader import read_text, resources
from chartkit.engine import NO_ATTACHMENTS
from chartkit.errors import InputError
from chartkit.kyverno.versions import parse_version
from chartkit.model import Json, Resource, mapping_at, mappings_at
from chartkit.network.cluster.discovery import SECRETS
from chartkit.network.cluster.installed import entry_objects, exception_objects
from chartkit.network.cluster.reader import Reader
from chartkit.network.cluster.source import RefusedError, with_query
from chartkit.scan.cluster import Survey

_DEPLOYMENT: Final = ("apps", "Deployment")
_LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a Helm release: more than any that fits into a Secret comes to."""
_GZIP: Final = 31


def read_cluster(estate: Estate, reader: Reader) -> None:
    """Add what is in use in a cluster to an estate; raise SourceError where it does not answer."""
    survey = estate.survey = Survey(reader, NO_ATTACHMENTS)
    sorter = Sorter(estate)
    for resource in (*survey.policies(), *exception_objects(reader), *entry_objects(reader)):
        sorter.add(Piece(resource))
    for served in reader.discovery.all:
        if (served.kind.group, served.kind.kind) == _DEPLOYMENT:
            estate.engine += filter(is_engine, reader.objects(served))
    try:
        estate.cluster_version = str(reader.source.get("/version").get("gitVersion") or "")
    except RefusedError as error:
        reader.unread["the version of Kubernetes"] = error.message
    for deployment in estate.engine[:1]:
        estate.values += _release_values(deployment, estate, reader)


def unread_rows(estate: Estate) -> Iterator[Row]:
    """Yield a row for everything of a cluster that could not be read."""
    if estate.survey is not None:
        for what, reason in estate.survey.reader.unread.items():
            hint = "read it with the rights of docs/how-to/scan-cluster-rbac.yaml"
            yield Row(Outcome.LEFT, what, f"was not read: {reason}", None, hint, estate.name)
        for each in estate.survey.diagnostics:
            yield Row(Outcome.LEFT, "PolicyException", each.message, each.location, "", estate.name)


def _release_values(deployment: Resource, estate: Estate, reader: Reader) -> Iterator[EngineValues]:
    """Yield the values of the Helm release that a Deployment is of, unless the user named some, and
    keep its objects; add a row where it cannot be read."""
    name, namespace = release_of(deployment)
    if not name:
        return
    query = {"labelSelector": f"owner=helm,name={name},status=deployed"}
    subject = f"Helm release {namespace}/{name}"
    try:
        answer = reader.source.get(with_query(SECRETS.path(namespace), query))
    except RefusedError as error:
        estate.rows += _unknown_values(subject, error.message, estate, deployment)
        return
    for secret in mappings_at(answer, "items")[:1]:
        release = _decoded(mapping_at(secret, "data").get("release"))
        if release is None:
            reason = "a recording has no Secrets" if reader.is_recorded else "its Secret is damaged"
            estate.rows += _unknown_values(subject, reason, estate, deployment)
            return
        estate.release = _objects(release, subject)
        values = mapping_at(release, "config")
        version = mapping_at(release, "chart", "metadata").get("version")
        if values and not estate.values:
            document = written_document(values, subject)
            yield EngineValues(document, parse_version(version, "Kyverno's chart"))


def _objects(release: Json, subject: str) -> list[Resource] | None:
    """Return the objects of a release, None where they cannot be read."""
    manifest = release.get("manifest") if isinstance(release, dict) else None
    if not isinstance(manifest, str) or not manifest:
        return None
    try:
        return resources(read_text(manifest, subject))
    except InputError:
        return None


def _unknown_values(
    subject: str, reason: str, estate: Estate, deployment: Resource
) -> Iterator[Row]:
    if not estate.values:
        hint = "save `helm get values RELEASE -o yaml` to a file, and name it with --values"
        message = f"its values are not known: {reason}"
        yield Row(Outcome.LEFT, subject, message, deployment.location, hint, estate.name)


def _decoded(text: Json) -> Json:
    """Return a release as Helm stores it: JSON, compressed, in base64 twice; None for what is
    none."""
    if not isinstance(text, str) or not text:
        return None
    try:
        packed = base64.b64decode(base64.b64decode(text, validate=True), validate=True)
        return json.loads(zlib.decompressobj(_GZIP).decompress(packed, _LARGEST))
    except (ValueError, zlib.error, RecursionError):
        return None
