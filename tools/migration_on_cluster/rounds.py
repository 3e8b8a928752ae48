"""Rounds: policies installed, what they are asked answered, and what they did looked at."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from chartkit.model import Body, Json
from tools.migration_on_cluster.cases import Case
from tools.migration_on_cluster.cluster import Cluster, Reply, content, wait_until

_REPORTS: Final = "/apis/wgpolicyk8s.io/v1alpha2"
_GRAVITY: Final = ("none", "skip", "pass", "warn", "fail", "error")
_LEGACY_SOURCE: Final = "kyverno"
_GENERATED: Final = (
    "/apis/networking.k8s.io/v1/networkpolicies",
    "/api/v1/resourcequotas",
    "/api/v1/secrets",
    "/api/v1/configmaps",
)
_OWNED: Final = "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dkyverno"
_SETTLED: Final = 6.0
_READY: Final = 120.0
_SAME: Final = 40.0
_SCANNED: Final = 150.0
_THERE: Final = 409
_WITHOUT_STATUS: Final = ("PolicyException", "CleanupPolicy", "DeletingPolicy")
_CHOSEN: Final = re.compile(
    r"(?<=kube-api-access-)\w+|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)
"""What the API server chooses anew each time: names of volumes, and UIDs in labels of Jobs."""

Reports = dict[str, dict[str, str]]
"""The gravest result of each policy of the old form for each object."""


@dataclass(slots=True)
class Round:
    """What was seen in one round, by case and place; said: the answers to requests; seen: objects
    after steps; reports: by case."""

    name: str
    said: dict[str, Reply] = field(default_factory=dict)
    seen: dict[str, Body | None] = field(default_factory=dict)
    reports: dict[str, Reports] = field(default_factory=dict)


def install(cluster: Cluster, bodies: Iterable[Body]) -> Iterator[str]:
    """Create or replace policies, wait for them, and yield what is wrong."""
    bodies = list(bodies)
    for body in bodies:
        reply = cluster.create(body)
        if reply.code == _THERE:
            reply = cluster.patch({key: body[key] for key in body if key != "status"})
        if not reply.is_good:
            yield f"{_name(body)} is refused: {reply.message}"
    wait_until(lambda: not list(_unready(cluster, bodies)), _READY)
    yield from _unready(cluster, bodies)
    time.sleep(_SETTLED)


def _unready(cluster: Cluster, bodies: Iterable[Body]) -> Iterator[str]:
    for body in bodies:
        if body["kind"].endswith(_WITHOUT_STATUS):
            continue
        status = (cluster.get(body) or {}).get("status") or {}
        status = status.get("conditionStatus") or status
        conditions = status.get("conditions") or ()
        legacy = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
        if not (status.get("ready") is True or ("ready" not in status and legacy)):
            faults = [one.get("message", "") for one in conditions if one["status"] != "True"]
            yield f"{_name(body)} is not ready: {'; '.join(faults)}"


def _name(body: Body) -> str:
    return f"{body['kind']}/{body['metadata']['name']}"


def ask(cluster: Cluster, cases: Iterable[Case], found: Round) -> None:
    """Send the requests, which store nothing."""
    for case in cases:
        for index, request in enumerate(case.requests):
            user = None
            if "as" in request:
                user = {"name": request["as"], "groups": request.get("groups")}
            for verb in ("create", "patch", "delete"):
                if verb in request:
                    reply = getattr(cluster, verb)(request[verb], user, dry=True)
                    found.said[f"{case.name}/{index}"] = reply


def act(cluster: Cluster, cases: Iterable[Case], found: Round, before: Round | None) -> None:
    """Take the steps, and look at what comes of each, until it is as it was before."""
    late: list[Callable[[], None]] = []
    started = time.monotonic()
    for case in cases:
        for index, step in enumerate(case.steps):
            step = phased(step, found.name)
            for verb in ("create", "patch", "delete"):
                if verb in step:
                    reply = getattr(cluster, verb)(step[verb])
                    if reply.code == _THERE:
                        continue
                    found.said[f"{case.name}/step {index}"] = reply
            at = f"{case.name}/step {index}"
            look = partial(_look, cluster, at, step.get("see") or (), found, before)
            if "seconds" in step:
                late.append(partial(look, step_ends=started + step["seconds"]))
            else:
                look()
    for each in late:
        each()


def _look(
    cluster: Cluster,
    at: str,
    wanted: Sequence[Body],
    found: Round,
    before: Round | None,
    step_ends: float = 0,
) -> None:
    if not wanted:
        return
    time.sleep(max(0.0, step_ends - time.monotonic(), _SETTLED if before is None else 0.0))

    def read() -> None:
        for index, body in enumerate(wanted):
            found.seen[f"{at}/{index} {_name(body)}"] = _named(
                content(cluster.get(body)), found.name
            )

    def same() -> bool:
        read()
        return before is not None and all(
            found.seen[key] == before.seen.get(key) for key in found.seen if key.startswith(at)
        )

    if before is None:
        read()
    else:
        wait_until(same, _SAME)


def phased(value: Json, name: str) -> Json:
    """Return a value with the name of a round in it."""
    if isinstance(value, dict):
        return {key: phased(one, name) for key, one in value.items()}
    if isinstance(value, list):
        return [phased(one, name) for one in value]
    return value.replace("PHASE", name) if isinstance(value, str) else value


def _named(body: Json, name: str) -> Json:
    """Return an object with the name of its round taken out of it."""
    if isinstance(body, dict):
        return {key: _named(one, name) for key, one in body.items()}
    if isinstance(body, list):
        return [_named(one, name) for one in body]
    return body.replace(name, "PHASE") if isinstance(body, str) else body


def stored(reply: Reply, name: str) -> Body | None:
    """Return the object of an answer, without the names that the API server and rounds choose."""
    body = content(reply.body) if reply.is_good and reply.body.get("kind") != "Status" else None
    plain: Body | None = _without_chosen(_named(body, name))
    return plain


def _without_chosen(body: Json) -> Json:
    if isinstance(body, dict):
        return {key: _without_chosen(one) for key, one in body.items()}
    if isinstance(body, list):
        return [_without_chosen(one) for one in body]
    return _CHOSEN.sub("", body) if isinstance(body, str) else body


def generated(cluster: Cluster) -> dict[str, tuple[str, Body]]:
    """Return what Kyverno generated: its UID and content by its place."""
    found = {}
    for path in _GENERATED:
        for body in cluster.items(f"{path}?{_OWNED}"):
            metadata = body["metadata"]
            kind = path.rpartition("/")[2]
            key = f"{kind}/{metadata['namespace']}/{metadata['name']}"
            found[key] = metadata["uid"], content(body) or {}
    return found


def reports(
    cluster: Cluster, cases: Sequence[Case], *, legacy: bool, wanted: dict[str, Reports] | None
) -> dict[str, Reports]:
    """Return what background scans say of each case's objects; legacy: by policies of the old
    form; wanted: what to wait for, None for what no longer changes."""
    found = _reported(cluster, cases, legacy)
    changed = time.monotonic()

    def done() -> bool:
        nonlocal found, changed
        now = _reported(cluster, cases, legacy)
        if now != found:
            found, changed = now, time.monotonic()
        return now == wanted or (wanted is None and time.monotonic() - changed > _SAME)

    wait_until(done, _SCANNED)
    return found


def _reported(cluster: Cluster, cases: Sequence[Case], legacy: bool) -> dict[str, Reports]:
    owners = {_place(body): case.name for case in cases for body in case.setup}
    old = {_short(new): name for case in cases for new, name in case.replaced.items()}
    known = {body["metadata"]["name"] for case in cases for body in case.policies}
    found: dict[str, Reports] = defaultdict(lambda: defaultdict(dict))
    for kind in ("policyreports", "clusterpolicyreports"):
        for report in cluster.items(f"{_REPORTS}/{kind}"):
            scope = report.get("scope") or {}
            place = f"{scope.get('kind')}/{scope.get('namespace', '')}/{scope.get('name')}"
            if place not in owners:
                continue
            for result in report.get("results") or ():
                name = _short(result["policy"])
                if (result.get("source") == _LEGACY_SOURCE) is not legacy:
                    continue
                policy = name if legacy else old.get(name, "")
                if policy in known:
                    _keep(found[owners[place]][place], policy, result["result"])
    return {case: {place: dict(one) for place, one in each.items()} for case, each in found.items()}


def _keep(known: dict[str, str], policy: str, result: str) -> None:
    known[policy] = max(known.get(policy, "none"), result, key=_GRAVITY.index)


def _place(body: Body) -> str:
    metadata = body["metadata"]
    return f"{body['kind']}/{metadata.get('namespace', '')}/{metadata['name']}"


def _short(name: str) -> str:
    return name.rpartition("/")[2]
