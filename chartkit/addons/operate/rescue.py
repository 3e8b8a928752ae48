"""Opens a cluster that Kyverno's webhooks lock, and restores them afterwards.

All that it changes are webhook configurations, whose requests no webhook ever sees: it works while
admission is refused. `diagnose` finds those that lock the cluster, which fail closed and which
nothing answers; `open_webhooks` keeps what they were in a record, and `restore` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from chartkit import atomic
from chartkit.documents.reader import read_file
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError, system_errors
from chartkit.model import Body, Json, Location, list_of, mapping_at, mappings_at, text_of
from chartkit.network.cluster.client import MUTATING, VALIDATING, Cluster, Collection
from chartkit.network.cluster.source import ClusterError
from chartkit.wording import abridged

_FAILED: Final = re.compile(r'failed calling webhook \\?"([^"\\]+)')
_RECENT: Final = timedelta(hours=1)
_REPLICA_SETS: Final = Collection("apps", "v1", "replicasets")
_PAGE: Final = 500
_PAGES: Final = 40
_PROBE: Final = "chartkit-rescue-probe"
_FAILURE: Final = ("ReplicaFailure", "True")
FAIL: Final = "Fail"
IGNORE: Final = "Ignore"
KINDS: Final = {
    "ValidatingWebhookConfiguration": VALIDATING,
    "MutatingWebhookConfiguration": MUTATING,
}
_MANAGED: Final = "webhook.kyverno.io/managed-by"
_OWN_GROUPS: Final = frozenset(
    ("kyverno.io", "policies.kyverno.io", "reports.kyverno.io", "wgpolicyk8s.io", "openreports.io")
)
_BY_NAME: Final = ("kubernetes.io/metadata.name", "NotIn")
_NO_ENDPOINTS: Final = "no ready endpoints"
_SHOWN: Final = 3
_SERVICES: Final = Collection("", "v1", "services")
_SLICES: Final = Collection("discovery.k8s.io", "v1", "endpointslices")
_KEYS: Final = ("kind", "configuration", "uid", "webhook", "failurePolicy")
_HINT: Final = "`chartkit rescue --yes` writes it"
Configurations = Callable[[str, str], Body | None]


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """An object whose parts the API server refuses. webhook: the one that was asked first;
    message: the API server's own."""

    kind: str
    namespace: str
    name: str
    webhook: str
    message: str

    @property
    def is_probe(self) -> bool:
        """True for the Pod that `refusals` itself tries to create."""
        return self.name == _PROBE

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else self.name


def refusals(cluster: Cluster) -> tuple[list[Refusal], list[str]]:
    """Return the objects refused in the last hour, each once, and why something was not asked."""
    refused: list[Refusal] = []
    notes: list[str] = []
    recent = datetime.now(UTC) - _RECENT
    for read in (_probed, _conditions, lambda asked: _events(asked, recent)):
        try:
            refused += read(cluster)
        except ClusterError as error:
            notes.append(error.message)
    first = {(hit.kind, hit.namespace, hit.name): hit for hit in reversed(refused)}
    return sorted(first.values()), list(dict.fromkeys(notes))


def _probed(cluster: Cluster) -> Sequence[Refusal]:
    """Try to create a Pod in `default` as a dry run."""
    container = {"name": "probe", "image": "registry.k8s.io/pause:3.10"}
    metadata = {"name": _PROBE, "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    body["spec"] = {"containers": [container]}
    message = cluster.refusal_of("/api/v1/namespaces/default/pods", body)
    webhook = _webhook(message)
    return [Refusal("Pod", "default", _PROBE, webhook, message)] if webhook else []


def _conditions(cluster: Cluster) -> Iterable[Refusal]:
    for body in cluster.objects(_REPLICA_SETS):
        for condition in mappings_at(body, "status", "conditions"):
            if (condition.get("type"), condition.get("status")) == _FAILURE:
                metadata = mapping_at(body, "metadata")
                yield from _refusal("ReplicaSet", metadata, condition.get("message"))


def _events(cluster: Cluster, since: datetime) -> Iterable[Refusal]:
    for body in _pages(cluster, "/api/v1/events?fieldSelector=type%3DWarning"):
        times = (body.get(key) for key in ("lastTimestamp", "eventTime"))
        if any(_is_since(time, since) for time in times):
            subject = mapping_at(body, "involvedObject")
            yield from _refusal(str(subject.get("kind")), subject, body.get("message"))


def _pages(cluster: Cluster, path: str) -> Iterator[Body]:
    following = ""
    for _ in range(_PAGES):
        page = cluster.get(f"{path}&limit={_PAGE}{following}")
        yield from mappings_at(page, "items")
        token = mapping_at(page, "metadata").get("continue")
        if not token:
            return
        following = f"&continue={quote(str(token), safe='')}"


def _is_since(time: Json, since: datetime) -> bool:
    try:
        return datetime.fromisoformat(str(time)) >= since
    except (ValueError, TypeError):
        return False


def _refusal(kind: str, metadata: Body, message: Json) -> Iterator[Refusal]:
    webhook = _webhook(message)
    if webhook and metadata:
        namespace, name = (str(metadata.get(key) or "") for key in ("namespace", "name"))
        yield Refusal(kind, namespace, name, webhook, str(message))


def _webhook(message: Json) -> str:
    match = _FAILED.search(message) if isinstance(message, str) else None
    return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The state of a cluster's admission, as far as Kyverno's webhooks go.

    webhooks: all of Kyverno's; unanswered: why nothing answers for a service; refused: what was
    refused because one of them did not answer; opening: the webhooks to set to `Ignore`; notes:
    what could not be asked.
    """

    cluster: str
    webhooks: tuple[Webhook, ...]
    unanswered: dict[str, str]
    refused: tuple[Refusal, ...]
    opening: tuple[Webhook, ...]
    notes: tuple[str, ...]

    @property
    def is_locked(self) -> bool:
        """True if a change would open something."""
        return bool(self.opening)

    def silent(self, opened: Iterable[Opened]) -> dict[str, str]:
        """Return the reasons why nothing answers for the services of webhooks that were opened."""
        names = {(hook.kind, hook.configuration, hook.webhook) for hook in opened}
        services = {
            webhook.service
            for webhook in self.webhooks
            if (webhook.kind, webhook.configuration, webhook.name) in names
        }
        return {key: why for key, why in self.unanswered.items() if key in services}

    def reason(self, webhook: Webhook) -> str:
        """Return the reason why a webhook refuses all that it covers; empty if it does not."""
        if webhook.service in self.unanswered:
            return f"{self.unanswered[webhook.service]} for {webhook.service}"
        message = next((hit.message for hit in self.refused if hit.webhook == webhook.name), "")
        # The end of the API server's message says why the call failed.
        return message.rpartition("failed calling webhook")[2].partition(": ")[2]


def diagnose(cluster: Cluster) -> Diagnosis:
    """Ask a cluster; raise ClusterError where its webhooks cannot be read. The smallest change
    opens the webhooks that fail closed, that nothing answers, and that are asked about more than
    Kyverno's own kinds: a webhook for policies refuses policies alone."""
    webhooks = kyverno_webhooks(cluster)
    services = sorted({webhook.service for webhook in webhooks if webhook.service})
    silent = {service: reason for service in services if (reason := unanswered(cluster, service))}
    asked, notes = refusals(cluster)
    names = {webhook.name for webhook in webhooks}
    refused = tuple(refusal for refusal in asked if refusal.webhook in names)
    failing = {refusal.webhook for refusal in refused}
    opening = tuple(
        webhook
        for webhook in webhooks
        if webhook.policy == FAIL
        and not webhook.is_own
        and (webhook.service in silent or webhook.name in failing)
    )
    return Diagnosis(cluster.shown, tuple(webhooks), silent, refused, opening, tuple(notes))


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration. policy: its failurePolicy; service: `NAMESPACE/NAME`, empty
    for a server outside the cluster; rules: as the API has them; exempt: namespaces that are never
    sent."""

    kind: str
    configuration: str
    name: str
    policy: str
    service: str
    rules: tuple[Body, ...]
    exempt: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """True if it is asked about Kyverno's own kinds alone."""
        groups = {str(group) for rule in self.rules for group in list_of(rule.get("apiGroups"))}
        return bool(groups) and groups <= _OWN_GROUPS

    @property
    def covers(self) -> str:
        """The resources that it is asked about, the first few of many."""
        listed = (str(kind) for rule in self.rules for kind in list_of(rule.get("resources")))
        return abridged(list(dict.fromkeys(listed)), _SHOWN)


def kyverno_webhooks(cluster: Cluster) -> list[Webhook]:
    """Return the webhooks of every configuration that Kyverno writes; raise ClusterError."""
    webhooks: list[Webhook] = []
    for kind, collection in KINDS.items():
        for body in cluster.objects(collection):
            metadata = mapping_at(body, "metadata")
            managed = mapping_at(metadata, "labels").get(_MANAGED) == "kyverno"
            for webhook in mappings_at(body, "webhooks"):
                name = str(webhook.get("name"))
                if not (managed or ".kyverno.svc" in name or name.endswith(".kyverno.io")):
                    continue
                service = mapping_at(webhook, "clientConfig", "service")
                # The namespaces that its selector leaves out by their name.
                exempt = [
                    str(namespace)
                    for row in mappings_at(webhook, "namespaceSelector", "matchExpressions")
                    if (row.get("key"), row.get("operator")) == _BY_NAME
                    for namespace in list_of(row.get("values"))
                ]
                webhooks.append(
                    Webhook(
                        kind,
                        str(metadata.get("name")),
                        name,
                        str(webhook.get("failurePolicy") or FAIL),
                        f"{service.get('namespace')}/{service.get('name')}" if service else "",
                        tuple(mappings_at(webhook, "rules")),
                        tuple(exempt),
                    )
                )
    return webhooks


def unanswered(cluster: Cluster, service: str) -> str:
    """Return the reason why nothing answers for a service; empty if an endpoint is ready."""
    namespace, _, name = service.partition("/")
    if cluster.get(_SERVICES.path(namespace, name)) is None:
        return "there is no such service"
    for body in cluster.objects(_SLICES, namespace, f"kubernetes.io/service-name={name}"):
        for endpoint in mappings_at(body, "endpoints"):
            # A condition that is missing counts as true.
            ready = mapping_at(endpoint, "conditions").get("ready") is not False
            if ready and list_of(endpoint.get("addresses")):
                return ""
    return _NO_ENDPOINTS


@dataclass(frozen=True, slots=True)
class Opened:
    """A webhook that was opened. uid: of its configuration; failurePolicy: the one before."""

    kind: str
    configuration: str
    uid: str
    webhook: str
    failurePolicy: str  # noqa: N815 - the field's name


def read(file: Path) -> tuple[str, list[Opened]]:
    """Return the cluster of a record, named as reports name it, and the webhooks that were opened;
    raise InputError for an invalid file."""
    documents = read_file(file)
    body = documents[0].body if documents else None
    location = Location(str(file))
    listed = body.get("opened") if isinstance(body, dict) else None
    cluster = body.get("cluster") if isinstance(body, dict) else None
    if not (isinstance(cluster, str) and isinstance(listed, list)):
        raise InputError("is not a record of opened webhooks", location, _HINT)
    return cluster, [_opened(entry, location) for entry in listed]


def _opened(body: Any, location: Location) -> Opened:
    is_complete = isinstance(body, dict) and set(body) == set(_KEYS)
    if not is_complete or not all(isinstance(body[key], str) for key in _KEYS):
        keys = ", ".join(_KEYS)
        raise InputError(f"each item of `opened` has the texts {keys}", location, _HINT)
    if body["kind"] not in KINDS or body["failurePolicy"] not in (FAIL, IGNORE):
        text = f"'{body['kind']}' with '{body['failurePolicy']}' is not a webhook's failure policy"
        raise InputError(text, location, _HINT)
    return Opened(**body)


def write(file: Path, cluster: str, opened: Iterable[Opened]) -> None:
    """Write a record; raise InputError."""
    body = {"cluster": cluster, "opened": [asdict(webhook) for webhook in opened]}
    with system_errors("cannot be written", file), atomic.replacing(file) as stream:
        stream.write(dump_yaml(body).encode())


def open_webhooks(cluster: Cluster, webhooks: Sequence[Webhook], file: Path) -> list[str]:
    """Set webhooks to `Ignore`, after the record of what they were is written; return a line for
    each. Raise InputError where the record is another cluster's, ClusterError where a write fails;
    what is in the record by then can be restored."""
    recorded, before = read(file) if file.exists() else (cluster.shown, [])
    if recorded != cluster.shown:
        text = f"is the record of {recorded}, and this is {cluster.shown}"
        raise InputError(text, Location(str(file)), "name another by --record FILE")
    there = _read_once(cluster)
    opened = {_key(entry): entry for entry in before}
    for webhook in webhooks:
        body = there(webhook.kind, webhook.configuration)
        if body is not None:
            uid = str(mapping_at(body, "metadata").get("uid") or "")
            new = Opened(webhook.kind, webhook.configuration, uid, webhook.name, webhook.policy)
            if _key(new) not in opened or opened[_key(new)].uid != new.uid:
                opened[_key(new)] = new
    write(file, cluster.shown, opened.values())
    chosen = {(webhook.kind, webhook.configuration, webhook.name) for webhook in webhooks}
    return _write(cluster, there, dict.fromkeys(sorted(chosen), IGNORE))


def restore(cluster: Cluster, file: Path) -> list[str]:
    """Set webhooks back to what the record says, and remove the record; return a line for each. A
    configuration that is gone, or that Kyverno has written anew, is left as it is, with a note."""
    recorded, kept = read(file)
    if recorded != cluster.shown:
        text = f"is the record of {recorded}, and this is {cluster.shown}"
        raise InputError(text, Location(str(file)), "choose the cluster by --context NAME")
    there = _read_once(cluster)
    wanted: dict[tuple[str, str, str], str] = {}
    notes: list[str] = []
    for opened in kept:
        # The reason why a webhook needs no restoring; empty if it needs it.
        body = there(opened.kind, opened.configuration)
        if body is None:
            state = "is gone: Kyverno writes its webhooks when it starts"
        else:
            policies = [
                webhook.get("failurePolicy", FAIL)
                for webhook in mappings_at(body, "webhooks")
                if webhook.get("name") == opened.webhook
            ]
            if not policies:
                state = "is gone from its configuration"
            elif policies[0] == opened.failurePolicy:
                state = f"is `{policies[0]}` already"
            else:
                state = ""
        if state:
            notes.append(f"{opened.configuration}: {opened.webhook} {state}")
        else:
            wanted[_key(opened)] = opened.failurePolicy
    changed = _write(cluster, there, wanted)
    file.unlink(missing_ok=True)
    return [*changed, *notes]


def _read_once(cluster: Cluster) -> Configurations:
    """Return a reader of the configurations of a cluster, which reads each once."""
    return cache(lambda kind, name: cluster.read(KINDS[kind], name))


def _write(
    cluster: Cluster, there: Configurations, wanted: Mapping[tuple[str, str, str], str]
) -> list[str]:
    changed: list[str] = []
    for kind, name in sorted({key[:2] for key in wanted}):
        body = there(kind, name)
        if body is None:
            continue
        webhooks: list[Any] = []
        for entry in list_of(body.get("webhooks")):
            hook = text_of(mapping_at(entry).get("name"))
            policy = wanted.get((kind, name, hook))
            webhooks.append(entry if policy is None else {**entry, "failurePolicy": policy})
            if policy is not None:
                changed.append(f"{kind} {name}: {hook} is `{policy}`")
        # With its version: a configuration that Kyverno wrote meanwhile is not overwritten.
        version = {"resourceVersion": mapping_at(body, "metadata").get("resourceVersion")}
        patch = {"metadata": version, "webhooks": webhooks}
        cluster.merge(KINDS[kind].path(name=name), patch)
    return changed


def _key(opened: Opened) -> tuple[str, str, str]:
    return opened.kind, opened.configuration, opened.webhook
