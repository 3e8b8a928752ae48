"""Takes an environment out of a cluster: the policies, the engine, and every webhook of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.addons.operate.install.plan import names_of, ownerless, remove_ownerless
from chartkit.addons.operate.install.releases import Release, Releases, keep_definitions
from chartkit.addons.operate.install.run import Tools, cut_short
from chartkit.addons.operate.install.waiting import WEBHOOK_LABEL
from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.errors import ChartkitError
from chartkit.model import Body, mapping_at
from chartkit.network.cluster.client import CRDS, MUTATING, VALIDATING, Cluster, Collection
from chartkit.network.cluster.source import NoAnswerError, ReleaseError

PODS: Final = "app.kubernetes.io/part-of=kyverno"
_OWNER: Final = ("meta.helm.sh/release-name", "meta.helm.sh/release-namespace")
_HELM: Final = "app.kubernetes.io/managed-by=Helm"
_ENDED: Final = ("Succeeded", "Failed")
_SETTLED: Final = 2
"""The times in a row that no webhook must be found: a running engine writes them again."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The steps of an uninstallation. releases: those that are there, in the order of their
    removal; webhooks: configurations that Kyverno wrote while it ran; roles: those that an earlier
    removal left; definitions: the engine's CRDs; objects: how many custom objects of these there
    are."""

    environment: str
    cluster: str
    releases: tuple[Release, ...]
    webhooks: tuple[str, ...]
    roles: tuple[str, ...]
    definitions: tuple[str, ...]
    objects: int
    with_definitions: bool

    @property
    def needed(self) -> bool:
        """Tell whether there is anything to remove."""
        gone = self.definitions if self.with_definitions else ()
        return bool(self.releases or self.webhooks or self.roles or gone)


def removal(
    environment: str, engine: bool, cluster: Cluster, releases: Releases, with_definitions: bool
) -> Removal:
    """Return the uninstallation of an environment; engine: whether the project installs it. Raises
    ClusterError and ReleaseError where the cluster cannot be asked."""
    names = [POLICIES, ENGINE] if engine else [POLICIES]
    there = [release for name in names if (release := releases.read(name)) is not None]
    crds = _definitions(cluster) if engine else []
    return Removal(
        environment,
        cluster.shown,
        tuple(there),
        tuple(str(name) for _, name in _webhooks(cluster)) if engine else (),
        tuple(ownerless(cluster, names_of(ENGINE))) if engine else (),
        tuple(crd["metadata"]["name"] for crd in crds),
        sum(len(cluster.objects(_served(crd))) for crd in crds) if with_definitions else 0,
        with_definitions,
    )


def uninstall(found: Removal, engine: bool, tools: Tools) -> None:
    """Remove what was found: policies first, because nothing evaluates them without the engine.

    Raises CutShortError, with what remains, where a step fails or the user interrupts.
    """
    try:
        for release in found.releases:
            _remove(release, engine, found.with_definitions, tools)
        if engine:
            _without_webhooks(tools)
            _without_roles(tools)
            if found.with_definitions:
                for crd in _definitions(tools.cluster):
                    tools.cluster.delete(CRDS, crd["metadata"]["name"])
                tools.waiting.until(
                    "CRDs are still being removed",
                    lambda: ", ".join(
                        crd["metadata"]["name"] for crd in _definitions(tools.cluster)
                    ),
                )
                tools.say("no CRD of the engine's is left")
    except (ChartkitError, KeyboardInterrupt) as error:
        raise cut_short(error, tools) from None


def _remove(release: Release, engine: bool, with_definitions: bool, tools: Tools) -> None:
    """Remove a release; if that fails, once more without what may block it.

    Kyverno's clean-up jobs need an image and a node, and a webhook without a server may refuse
    Helm's requests. If the engine stays, its webhooks do too.
    """
    try:
        _removed(release, with_definitions, tools, hooks=True)
    except (ReleaseError, NoAnswerError) as error:
        if not engine:
            raise
        tools.say(f"{release.name}: once more, without clean-up and webhooks ({error.message})")
        _delete_webhooks(tools)
        _removed(release, with_definitions, tools, hooks=False)


def _removed(release: Release, with_definitions: bool, tools: Tools, hooks: bool) -> None:
    if release.name == ENGINE and not with_definitions:
        kept = keep_definitions(tools.cluster, NAMESPACE, release.name, release.revision)
        tools.say(f"{release.name}: {kept} CRDs stay, with the policies and reports of their kinds")
    tools.say(f"{release.name}: removing {release.version}")
    tools.releases.uninstall(release.name, hooks)


def _without_webhooks(tools: Tools) -> None:
    """Delete Kyverno's webhooks once nothing runs that would write them again."""

    def running() -> str:
        pods = tools.cluster.pods(NAMESPACE, PODS)
        going = (pod for pod in pods if mapping_at(pod, "status").get("phase") not in _ENDED)
        return ", ".join([pod["metadata"]["name"] for pod in going][:3])

    tools.waiting.until("Kyverno's pods still run", running)
    clear = 0

    def missing() -> str:
        nonlocal clear
        clear = 0 if _delete_webhooks(tools) else clear + 1
        return "" if clear >= _SETTLED else "they are written anew"

    tools.waiting.until("webhooks are left", missing)
    tools.say("no webhook of Kyverno's is left")


def _without_roles(tools: Tools) -> None:
    """Delete the roles of kube-controller-manager once it writes none any more."""
    clear = 0

    def missing() -> str:
        nonlocal clear
        left = remove_ownerless(tools.cluster, names_of(ENGINE))
        for name in left:
            tools.say(f"ClusterRole {name} was left, without an owner: it is deleted")
        clear = 0 if left else clear + 1
        return "" if clear > _SETTLED else "they are written anew"

    tools.waiting.until("roles are left", missing)


def _delete_webhooks(tools: Tools) -> int:
    left = list(_webhooks(tools.cluster))
    for collection, name in left:
        tools.say(f"{name} was left: it is deleted")
        tools.cluster.delete(collection, name)
    return len(left)


def _webhooks(cluster: Cluster) -> Iterator[tuple[Collection, str]]:
    for collection in (VALIDATING, MUTATING):
        for body in cluster.objects(collection, labels=WEBHOOK_LABEL):
            yield collection, body["metadata"]["name"]


def _definitions(cluster: Cluster) -> list[Body]:
    """Return the CRDs that the engine's release owns, or owned when it was there."""
    owner = (ENGINE, NAMESPACE)
    return [
        crd
        for crd in cluster.objects(CRDS, labels=_HELM)
        if tuple((crd["metadata"].get("annotations") or {}).get(key) for key in _OWNER) == owner
    ]


def _served(crd: Body) -> Collection:
    spec = crd["spec"]
    version = next(each["name"] for each in spec["versions"] if each.get("served"))
    return Collection(spec["group"], version, spec["names"]["plural"])
