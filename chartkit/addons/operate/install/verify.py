"""Checks that what was installed is in place: definitions, controllers, webhooks and policies are
awaited, and objects compared as the API server stores them.

A release that Helm calls deployed may be otherwise in the cluster: items of lists that another
program wrote stay under server-side apply (`validationActions` of Deny and of Audit add up), and
webhooks change what they are shown.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.engine.kubernetes.kinds import group_of
from chartkit.go.quantity import Quantity, QuantityError
from chartkit.model import Body, FieldPath, Json, Resource, mapping_at, mappings_at
from chartkit.network.cluster.client import (
    CRDS,
    DEPLOYMENTS,
    MANAGER,
    VALIDATING,
    Cluster,
    Collection,
    object_path,
)
from chartkit.network.cluster.source import NoAnswerError, NotReadyError
from chartkit.wording import abridged, shortened

WEBHOOK_LABEL: Final = "webhook.kyverno.io/managed-by=kyverno"
"""The label of the webhook configurations that Kyverno writes while it runs."""
POLICY_GROUPS: Final = ("kyverno.io", "policies.kyverno.io")
_POLICY_WEBHOOK: Final = "kyverno-policy-validating-webhook-cfg"
_SERVER_FAILS: Final = 500
_SHOWN: Final = 3

_PROBES: Final = Path(__file__).with_name("probes.yaml")
_EMPTY: Final[tuple[Json, ...]] = (None, False, 0, "", [], {})
_METADATA: Final = frozenset({"name", "namespace", "labels", "annotations"})
_REFUSING: Final = ("Policy", "PolicyBinding", "PolicyException")
_LONGEST: Final = 60
_SELF: Final = "."
"""The key for a field itself, next to those below it."""


@dataclass(frozen=True, slots=True)
class Waiter:
    """timeout: seconds for each thing that is waited for; clock, sleep: as in `time`."""

    cluster: Cluster
    timeout: float
    clock: Callable[[], float] = field(default=time.monotonic)
    sleep: Callable[[float], None] = field(default=time.sleep)

    def until(self, what: str, missing: Callable[[], str]) -> None:
        """Ask until nothing is missing; raises NotReadyError with what was missing last. An API
        server that does not answer for a while is asked again."""
        end, pause = self.clock() + self.timeout, 0.25
        while True:
            try:
                reason = missing()
            except NoAnswerError as error:
                reason = error.message
            if not reason:
                return
            if self.clock() >= end:
                raise NotReadyError(f"{what} after {self.timeout:g} s: {reason}")
            self.sleep(pause)
            pause = min(pause * 1.5, 3)

    def definitions(self, resources: Iterable[Resource]) -> int:
        """Wait until the CRDs among these objects are established; returns their number."""
        names = {crd.name for crd in resources if crd.kind == "CustomResourceDefinition"}
        left = set(names)

        def missing() -> str:
            left.difference_update([name for name in sorted(left) if self._is_established(name)])
            return abridged(sorted(left), _SHOWN)

        self.until("CRDs are not established", missing)
        return len(names)

    def kinds(self, resources: Iterable[Resource]) -> None:
        """Wait until Kyverno's kinds of these policies are established."""
        wanted = {_kind(resource) for resource in resources if is_policy(resource)}
        self.until(
            "kinds of Kyverno's are not there",
            lambda: abridged(sorted(wanted - self._plurals().keys()), _SHOWN),
        )

    def controllers(self, resources: Iterable[Resource], namespace: str) -> None:
        """Wait until every Deployment among these objects has all its replicas."""
        wanted = [resource for resource in resources if resource.kind == "Deployment"]

        def missing() -> str:
            deployments = self.cluster.objects(DEPLOYMENTS, namespace)
            there = {body["metadata"]["name"]: body for body in deployments}
            lacking = [_lacking(resource.name, there.get(resource.name)) for resource in wanted]
            return abridged([text for text in lacking if text], _SHOWN)

        self.until("controllers are not ready", missing)

    def webhooks(self) -> None:
        """Wait until Kyverno's webhook for policies answers a dry run."""

        def missing() -> str:
            configurations = self.cluster.objects(VALIDATING, labels=WEBHOOK_LABEL)
            named = [body for body in configurations if body["metadata"]["name"] == _POLICY_WEBHOOK]
            if not named:
                return f"{_POLICY_WEBHOOK} is not there"
            hooks = named[0].get("webhooks") or []
            if not hooks or not all(hook["clientConfig"].get("caBundle") for hook in hooks):
                return f"{_POLICY_WEBHOOK} has no certificate"
            for definition, probe in read_file(_PROBES)[0].body.items():
                if self._is_established(definition):
                    plural, _, group = definition.partition(".")
                    version = probe["apiVersion"].rpartition("/")[2]
                    status = self.cluster.tries(Collection(group, version, plural), probe)
                    answered = status != 404 and status < _SERVER_FAILS
                    return "" if answered else f"a policy that is tried is answered {status}"
            return "there is no kind of policy to try"

        self.until("webhooks do not answer", missing)

    def policies(self, resources: Iterable[Resource]) -> None:
        """Wait until Kyverno reports each of these policies as ready."""
        wanted = [resource for resource in resources if is_policy(resource)]
        plurals = self._plurals() if wanted else {}
        self.until(
            "policies are not ready", lambda: abridged(self._not_ready(wanted, plurals), _SHOWN)
        )

    def _not_ready(self, policies: Sequence[Resource], plurals: Mapping[str, str]) -> list[str]:
        """Return the policies that Kyverno does not report as ready, as `Kind name`."""
        lists: dict[Collection, dict[tuple[str, str], Body]] = {}
        waiting = []
        for resource in policies:
            version = resource.api_version.rpartition("/")[2]
            collection = Collection(group_of(resource), version, plurals.get(_kind(resource), ""))
            if collection.plural and collection not in lists:
                bodies = self.cluster.objects(collection)
                metadata = ((body["metadata"], body) for body in bodies)
                lists[collection] = {
                    (own.get("namespace", ""), own["name"]): body for own, body in metadata
                }
            body = lists.get(collection, {}).get((resource.namespace, resource.name))
            if body is None or not _is_ready(body):
                waiting.append(f"{resource.kind} {resource.name}")
        return waiting

    def _is_established(self, definition: str) -> bool:
        crd = self.cluster.read(CRDS, definition)
        return crd is not None and _condition(crd, "Established")

    def _plurals(self) -> dict[str, str]:
        """Return the names of Kyverno's established kinds in paths, by `Kind.group`."""
        specs = [
            crd["spec"] for crd in self.cluster.objects(CRDS) if _condition(crd, "Established")
        ]
        return {
            f"{spec['names']['kind']}.{spec['group']}": spec["names"]["plural"]
            for spec in specs
            if spec["group"] in POLICY_GROUPS
        }


def is_policy(resource: Resource) -> bool:
    """Report whether an object is of a kind that Kyverno reads and reports on."""
    return group_of(resource) in POLICY_GROUPS and resource.kind.endswith("Policy")


def replicas(body: Body) -> tuple[int, int]:
    """Return the available replicas of a Deployment's newest revision, and the desired replicas."""
    wanted = body.get("spec", {}).get("replicas", 1)
    status = body.get("status") or {}
    if status.get("observedGeneration", 0) < body["metadata"].get("generation", 0):
        return 0, wanted
    newest = min(status.get("updatedReplicas", 0), status.get("availableReplicas", 0))
    return newest, wanted


def _kind(resource: Resource) -> str:
    return f"{resource.kind}.{group_of(resource)}"


def _lacking(name: str, body: Body | None) -> str:
    if body is None:
        return f"{name} is not there"
    there, wanted = replicas(body)
    return "" if there >= wanted else f"{name} has {there} of {wanted} replicas"


def _is_ready(body: Body) -> bool:
    """Return the readiness that either generation of policies reports."""
    own = (body.get("status") or {}).get("conditionStatus") or {}
    return own.get("ready") is True or _condition(body, "Ready")


def _condition(body: Body, kind: str) -> bool:
    conditions = (body.get("status") or {}).get("conditions") or []
    return any(state.get("type") == kind and state.get("status") == "True" for state in conditions)


@dataclass(frozen=True, slots=True)
class Difference:
    """A field whose stored value is not the chart's; stored: None where the object is not there."""

    resource: Resource
    path: FieldPath
    wanted: Json
    stored: Json

    @property
    def decides(self) -> bool:
        """Report whether the object decides what is refused: then the difference is an error."""
        return self.resource.kind.endswith(_REFUSING)

    def __str__(self) -> str:
        what = f"{self.resource.kind} {self.resource.name}"
        if not self.path:
            return f"{what} is not there"
        field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{what}: {field[1:]} is {_shown(self.stored)}, and should be {_shown(self.wanted)}"


class StoredObjects:
    """Reads the objects of charts from a cluster, and writes fields of theirs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._served: dict[str, Mapping[str, Body]] = {}

    def differences(self, resources: Iterable[Resource]) -> list[Difference]:
        """Return every field of these objects whose stored value differs, in their order."""
        differences: list[Difference] = []
        for resource in resources:
            path = self._place(resource)
            if path is None:
                continue
            body = self._cluster.get(path)
            if body is None:
                differences.append(Difference(resource, (), None, None))
            else:
                differences += _compared(resource, body)
        return differences

    def take_over(self, resources: Iterable[Resource]) -> int:
        """Make Helm the only manager of the fields that it applied; return the number of objects
        that had others."""
        count = 0
        for resource in resources:
            path = self._place(resource)
            body = None if path is None else self._cluster.get(path)
            if path is None or body is None or (kept := without_others(body)) is None:
                continue
            version = mapping_at(body, "metadata").get("resourceVersion")
            metadata: Body = {"managedFields": kept, "resourceVersion": version}
            self._cluster.merge(path, {"metadata": metadata})
            count += 1
        return count

    def write(self, differences: Iterable[Difference]) -> None:
        """Write the wanted values; a list as a whole, even where others added items."""
        for difference in differences:
            path = self._place(difference.resource)
            if path is not None and difference.path:
                value: Json = difference.resource.body
                keys: list[str] = []
                for step in difference.path:
                    if isinstance(step, int):
                        break
                    keys.append(step)
                    value = value.get(step) if isinstance(value, dict) else None
                patch: Json = value
                for key in reversed(keys):
                    patch = {key: patch}
                assert isinstance(patch, dict)
                self._cluster.merge(path, patch)

    def _place(self, resource: Resource) -> str | None:
        """Return the path of an object; None for a kind that is not served."""
        version = resource.api_version
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self._served:
            listed = (self._cluster.get(root) or {}).get("resources") or []
            self._served[version] = {
                served["kind"]: served for served in listed if "/" not in served["name"]
            }
        kind = self._served[version].get(resource.kind)
        if kind is None:
            return None
        namespace = resource.namespace if kind.get("namespaced") else ""
        return object_path(version, kind["name"], namespace, resource.name)


def _compared(resource: Resource, body: Body) -> Iterator[Difference]:
    wanted = {key: value for key, value in resource.body.items() if key != "status"}
    metadata = wanted.get("metadata") or {}
    wanted["metadata"] = {key: value for key, value in metadata.items() if key in _METADATA}
    if wanted.get("aggregationRule"):
        # kube-controller-manager writes them.
        wanted.pop("rules", None)
    wanted.pop("stringData", None)
    for path, own, other in _differing(wanted, body, ()):
        yield Difference(resource, path, own, other)


def _differing(
    wanted: Json, stored: Json, path: FieldPath
) -> Iterator[tuple[FieldPath, Json, Json]]:
    if _empty(wanted) and _empty(stored):
        return
    if isinstance(wanted, dict) and isinstance(stored, dict):
        for key, value in wanted.items():
            yield from _differing(value, stored.get(key), (*path, key))
    elif isinstance(wanted, list) and isinstance(stored, list):
        if len(wanted) != len(stored):
            yield path, wanted, stored
        elif all(not isinstance(item, dict | list) for item in (*wanted, *stored)):
            if Counter(map(str, wanted)) != Counter(map(str, stored)):
                yield path, wanted, stored
        else:
            for position, (own, other) in enumerate(zip(wanted, stored, strict=True)):
                yield from _differing(own, other, (*path, position))
    elif not _same(wanted, stored):
        yield path, wanted, stored


def _same(wanted: Json, stored: Json) -> bool:
    """Report whether two values are equal to an API server, which normalizes quantities."""
    if wanted == stored:
        return True
    if isinstance(wanted, dict | list) or isinstance(stored, dict | list):
        return False
    try:
        return Quantity.parse(str(wanted)) == Quantity.parse(str(stored))
    except QuantityError:
        return str(wanted) == str(stored)


def _empty(value: Json) -> bool:
    return any(value == empty and type(value) is type(empty) for empty in _EMPTY)


def _shown(value: Json) -> str:
    text = "missing" if value is None else json.dumps(value, ensure_ascii=False)
    return shortened(text, _LONGEST)


def listed(differences: Sequence[Difference], shown: int = 5) -> list[str]:
    """Return the differences, a line each, up to a limit."""
    more = [f"{len(differences) - shown} more"] if len(differences) > shown else []
    return [*map(str, differences[:shown]), *more]


def without_others(body: Body) -> list[Body] | None:
    """Return the `managedFields` of an object in which Helm's fields are Helm's alone; None where
    they are so already, and where Helm did not apply the object.

    A field that two managers wrote belongs to both as long as they agree: the next change of one is
    a conflict. A release that takes an object over is to be the only one.
    """
    entries = mappings_at(body, "metadata", "managedFields")
    applied = {"manager": MANAGER, "operation": "Apply"}.items()
    owned = (own for own in entries if applied <= own.items() and not own.get("subresource"))
    own = next(owned, None)
    if own is None:
        return None
    kept: list[Body] = []
    for entry in entries:
        if entry is own or entry.get("subresource"):
            kept.append(entry)
        elif fields := _rest(mapping_at(entry, "fieldsV1"), mapping_at(own, "fieldsV1")):
            kept.append({**entry, "fieldsV1": fields})
    return None if kept == entries else kept


def _rest(fields: Body, taken: Body) -> Body:
    """Return fields without the taken ones, and without fields that are empty then: nothing stays
    below a field that either has as a whole."""
    left: Body = {}
    for key, below in fields.items():
        inside = taken.get(key)
        if key not in taken:
            left[key] = below
        elif isinstance(below, dict) and isinstance(inside, dict) and inside:
            left |= {key: rest} if (rest := _rest(below, inside)) else {}
    return {} if left.keys() <= {_SELF} else left
