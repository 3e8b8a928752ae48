"""Webhooks opened, and restored from the record of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chartkit.addons.operate.rescue import record
from chartkit.addons.operate.rescue.record import Opened, Record
from chartkit.addons.operate.rescue.webhooks import FAIL, IGNORE, KINDS, Webhook
from chartkit.errors import InputError
from chartkit.model import Body, Location, list_of, mapping_at, mappings_at, text_of
from chartkit.network.cluster.client import Cluster


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a change. changed: webhooks whose failure policy was written; notes: what was
    left."""

    changed: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Configurations:
    """The configurations of a cluster, each read once."""

    cluster: Cluster
    read: dict[tuple[str, str], Body | None] = field(default_factory=dict)

    def get(self, kind: str, name: str) -> Body | None:
        if (kind, name) not in self.read:
            self.read[kind, name] = self.cluster.read(KINDS[kind], name)
        return self.read[kind, name]


def open_webhooks(cluster: Cluster, webhooks: Sequence[Webhook], file: Path) -> Outcome:
    """Set webhooks to `Ignore`, after the record of what they were is written.

    Raise InputError where the record is another cluster's, ClusterError where a write fails; what
    is in the record by then can be restored.
    """
    before = record.read(file).opened if file.exists() else ()
    if file.exists() and record.read(file).cluster != cluster.shown:
        text = f"is the record of {record.read(file).cluster}, and this is {cluster.shown}"
        raise InputError(text, Location(str(file)), "name another by --record FILE")
    there = _Configurations(cluster)
    opened = {_key(each): each for each in before}
    for each in webhooks:
        body = there.get(each.kind, each.configuration)
        if body is not None:
            new = Opened(each.kind, each.configuration, _uid(body), each.name, each.policy)
            if _key(new) not in opened or opened[_key(new)].uid != new.uid:
                opened[_key(new)] = new
    record.write(file, Record(cluster.shown, tuple(opened.values())))
    chosen = {(each.kind, each.configuration, each.name) for each in webhooks}
    return _write(there, dict.fromkeys(sorted(chosen), IGNORE), ())


def restore(cluster: Cluster, file: Path) -> Outcome:
    """Set webhooks back to what the record says, and remove the record.

    A configuration that is gone, or that Kyverno has written anew, is left as it is, with a note.
    """
    kept = record.read(file)
    if kept.cluster != cluster.shown:
        text = f"is the record of {kept.cluster}, and this is {cluster.shown}"
        raise InputError(text, Location(str(file)), "choose the cluster by --context NAME")
    there = _Configurations(cluster)
    wanted: dict[tuple[str, str, str], str] = {}
    notes: list[str] = []
    for each in kept.opened:
        state = _state(there.get(each.kind, each.configuration), each)
        if state:
            notes.append(f"{each.configuration}: {each.webhook} {state}")
        else:
            wanted[_key(each)] = each.failurePolicy
    outcome = _write(there, wanted, notes)
    file.unlink(missing_ok=True)
    return outcome


def _state(body: Body | None, opened: Opened) -> str:
    """Return why a webhook needs no restoring, empty where it does."""
    if body is None:
        return "is gone: Kyverno writes its webhooks when it starts"
    policies = [each.get("failurePolicy", FAIL) for each in _named(body, opened.webhook)]
    if not policies:
        return "is gone from its configuration"
    if policies[0] == opened.failurePolicy:
        return f"is `{policies[0]}` already"
    return ""


def _write(
    there: _Configurations, wanted: Mapping[tuple[str, str, str], str], notes: Sequence[str]
) -> Outcome:
    changed: list[str] = []
    for kind, name in sorted({key[:2] for key in wanted}):
        body = there.get(kind, name)
        if body is None:
            continue
        webhooks: list[Any] = []
        for each in list_of(body.get("webhooks")):
            hook = text_of(mapping_at(each).get("name"))
            policy = wanted.get((kind, name, hook))
            webhooks.append(each if policy is None else {**each, "failurePolicy": policy})
            if policy is not None:
                changed.append(f"{kind} {name}: {hook} is `{policy}`")
        # With its version: a configuration that Kyverno wrote meanwhile is not overwritten.
        version = {"resourceVersion": mapping_at(body, "metadata").get("resourceVersion")}
        patch = {"metadata": version, "webhooks": webhooks}
        there.cluster.merge(KINDS[kind].path(name=name), patch)
    return Outcome(tuple(changed), tuple(notes))


def _named(body: Body, name: str) -> list[Body]:
    return [each for each in mappings_at(body, "webhooks") if each.get("name") == name]


def _key(opened: Opened) -> tuple[str, str, str]:
    return opened.kind, opened.configuration, opened.webhook


def _uid(body: Body) -> str:
    return str(mapping_at(body, "metadata").get("uid") or "")
