"""Waits until what was installed works: definitions, controllers, webhooks, policies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.engine.kubernetes.kinds import group_of
from chartkit.model import Body, Resource
from chartkit.network.cluster.client import CRDS, DEPLOYMENTS, VALIDATING, Cluster, Collection
from chartkit.network.cluster.source import NoAnswerError, NotReadyError
from chartkit.wording import abridged

WEBHOOK_LABEL: Final = "webhook.kyverno.io/managed-by=kyverno"
"""The label of the webhook configurations that Kyverno writes while it runs."""
POLICY_GROUPS: Final = ("kyverno.io", "policies.kyverno.io")
_POLICY_WEBHOOK: Final = "kyverno-policy-validating-webhook-cfg"
_SERVER_FAILS: Final = 500
_SHOWN: Final = 3

_PROBES: Final = Path(__file__).with_name("probes.yaml")


@dataclass(frozen=True, slots=True)
class Waiter:
    """timeout: seconds for each thing that is waited for; clock and sleep: those of `time`."""

    cluster: Cluster
    timeout: float
    clock: Callable[[], float] = field(default=time.monotonic)
    sleep: Callable[[float], None] = field(default=time.sleep)

    def until(self, what: str, missing: Callable[[], str]) -> None:
        """Ask until nothing is missing; raises NotReadyError with what was missing last.

        An API server that does not answer for a while is asked again.
        """
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
        names = {each.name for each in resources if each.kind == "CustomResourceDefinition"}
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
            found = self.cluster.objects(DEPLOYMENTS, namespace)
            there = {body["metadata"]["name"]: body for body in found}
            lacking = [_lacking(resource.name, there.get(resource.name)) for resource in wanted]
            return abridged([text for text in lacking if text], _SHOWN)

        self.until("controllers are not ready", missing)

    def webhooks(self) -> None:
        """Wait until Kyverno's webhook for policies answers a dry run."""

        def missing() -> str:
            found = self.cluster.objects(VALIDATING, labels=WEBHOOK_LABEL)
            named = [body for body in found if body["metadata"]["name"] == _POLICY_WEBHOOK]
            if not named:
                return f"{_POLICY_WEBHOOK} is not there"
            hooks = named[0].get("webhooks") or []
            if not hooks or not all(hook["clientConfig"].get("caBundle") for hook in hooks):
                return f"{_POLICY_WEBHOOK} has no certificate"
            return self._tried()

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
        found = []
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
                found.append(f"{resource.kind} {resource.name}")
        return found

    def _tried(self) -> str:
        for definition, probe in read_file(_PROBES)[0].body.items():
            if self._is_established(definition):
                plural, _, group = definition.partition(".")
                version = probe["apiVersion"].rpartition("/")[2]
                status = self.cluster.tries(Collection(group, version, plural), probe)
                answered = status != 404 and status < _SERVER_FAILS
                return "" if answered else f"a policy that is tried is answered {status}"
        return "there is no kind of policy to try"

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
    """Tell whether an object is of a kind that Kyverno reads and reports on."""
    return group_of(resource) in POLICY_GROUPS and resource.kind.endswith("Policy")


def replicas(body: Body) -> tuple[int, int]:
    """Return a Deployment's available replicas, of its newest form, and those it is to have."""
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
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions)
