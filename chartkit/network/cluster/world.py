"""The world of a live cluster: answers are read when a policy asks, and remembered by their URL."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine import OFFLINE, World
from chartkit.engine.context.global_context import GlobalContextEntry
from chartkit.engine.kubernetes.selectors import LabelSelector, compile_selector
from chartkit.engine.ports.services import Cluster, ObjectKey, labels_of
from chartkit.engine.ports.signatures import UnknownKeyError
from chartkit.engine.ports.world import Mocks, NoMocks, Recorded
from chartkit.errors import EvaluationError, LookupFailed, NoSource
from chartkit.model import Body, Json
from chartkit.network.cluster.cleaning import cleaned_answer, held_key, not_found
from chartkit.network.cluster.reader import (
    SECRETS,
    ApiResource,
    Discovery,
    Reader,
    config_map_path,
    listed,
    sample,
)
from chartkit.network.cluster.recording import Recorder
from chartkit.network.cluster.source import FORBIDDEN, MISSING, TOO_LARGE, RefusedError
from chartkit.network.http.limits import Memory, pauses
from chartkit.network.verifiers import blob_verifier

MOST_REMEMBERED: Final = 10_000
"""Objects in answers that are remembered; the last answer always is."""
_LASTING: Final = frozenset((0, FORBIDDEN, MISSING, TOO_LARGE))
"""Statuses that stay: another request would be refused in the same way."""


class UnreadableError(EvaluationError, LookupFailed):
    """The cluster refuses an answer: an error of the rule that asks, whichever it expects."""


class CachedReads:
    """Answers by their URLs; those asked for longest ago are forgotten first."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: Memory[str, Json] = Memory(MOST_REMEMBERED, _size)

    @property
    def discovery(self) -> Discovery:
        """The resources that the server serves."""
        return self._reader.discovery

    def get(self, path: str, tries: int = 1) -> Body:
        """Return an answer, as the server has it; tries: how often it is asked, at most, where that
        may help. Raises RefusedError."""
        key = path if tries == 1 else f"{tries} {path}"
        answer: Body = self._known.once(key, lambda: cleaned_answer(self._asked(path, tries)))
        return answer

    def _asked(self, path: str, tries: int) -> Body:
        source = self._reader.source
        for pause in pauses(1 if self._reader.is_recorded else tries):
            try:
                return source.get(path)
            except RefusedError as error:
                if error.status in _LASTING:
                    raise
                time.sleep(pause)
        return source.get(path)

    def objects(self, served: ApiResource, namespace: str) -> Sequence[Body]:
        """Return the objects of a resource; namespace: empty for all. Raises RefusedError."""
        path = served.path(namespace)
        source, kind = self._reader.source, served.kind.kind
        bodies: Sequence[Body] = self._known.once(
            f"list {path}", lambda: list(listed(source, path, served.api_version, kind))
        )
        return bodies

    def unreadable(self, path: str, error: RefusedError) -> UnreadableError:
        """The error for the rule; anything but a missing object is also noted for the end."""
        if error.status == MISSING:
            return UnreadableError(error.message)
        self._reader.note(path, error)
        return UnreadableError(error.message)


def _size(_path: str, answer: Json) -> int:
    items = answer.get("items") if isinstance(answer, dict) else answer
    return max(1, len(items)) if isinstance(items, list) else 1


class LiveCluster(Cluster):
    """The objects of a cluster, each read when it is asked for."""

    __slots__ = ("_reads",)

    def __init__(self, reads: CachedReads) -> None:
        super().__init__()
        self._reads = reads

    def find(self, key: ObjectKey) -> Body | None:
        served = self._reads.discovery.of_kind(key.api_version, key.kind)
        return None if served is None else self._one(served, key.namespace, key.name)

    def select(
        self, api_version: str, kind: str, namespace: str, selector: LabelSelector | None
    ) -> Iterator[Body]:
        served = self._reads.discovery.of_kind(api_version, kind)
        fits = compile_selector(selector) if selector is not None else None
        for body in () if served is None else self._all(served, namespace):
            if fits is None or fits(labels_of(body)):
                yield body

    def of_kinds(self, wanted: Callable[[Body], bool]) -> Iterator[Body]:
        read: set[tuple[str, str]] = set()
        for served in self._reads.discovery.all:
            group, _, kind = served.kind
            if (group, kind) not in read and wanted(sample(served)):
                read.add((group, kind))
                yield from self._all(served, "")

    def listed(self, api_version: str, resource: str, namespace: str) -> Iterator[Body]:
        served = self._reads.discovery.of_plural(api_version, resource)
        if served is not None:
            yield from self._all(served, namespace)

    def found(self, api_version: str, resource: str, namespace: str, name: str) -> Body | None:
        served = self._reads.discovery.of_plural(api_version, resource)
        return None if served is None else self._one(served, namespace, name)

    def kind_served(self, api_version: str, resource: str) -> str | None:
        served = self._reads.discovery.of_plural(api_version, resource)
        return None if served is None else served.kind.kind

    def plural(self, api_version: str, kind: str) -> str:
        served = self._reads.discovery.of_kind(api_version, kind)
        return super().plural(api_version, kind) if served is None else served.plural

    def _one(self, served: ApiResource, namespace: str, name: str) -> Body | None:
        path = served.path(namespace, name)
        try:
            body = self._reads.get(path)
        except RefusedError as error:
            if error.status == MISSING:
                return None
            raise self._reads.unreadable(path, error) from None
        return {**body, "apiVersion": served.api_version, "kind": served.kind.kind}

    def _all(self, served: ApiResource, namespace: str) -> Sequence[Body]:
        try:
            return self._reads.objects(served, namespace)
        except RefusedError as error:
            raise self._reads.unreadable(served.path(namespace), error) from None


class LiveApi:
    """An API server that answers GET and is asked nothing else."""

    def __init__(self, reads: CachedReads) -> None:
        self._reads = reads
        self._cluster = LiveCluster(reads)

    def configmap(self, namespace: str, name: str, /) -> Body:
        path = config_map_path(namespace or "default", name)
        try:
            return self._reads.get(path)
        except RefusedError as error:
            if error.status == MISSING:
                raise LookupFailed(f'configmaps "{name}" not found') from None
            raise self._reads.unreadable(path, error) from None

    def call(self, method: str, path: str, _data: Json, /) -> Json:
        return self.patient_call(method, path, 1)

    def patient_call(self, method: str, path: str, tries: int) -> Json:
        """Return the answer to a call that is made again where that may help."""
        if method != "GET":
            hint = "give the answer in a values file"
            raise NoSource(f"a scan only reads, and {method} is not a reading", hint=hint)
        path = path if path.startswith("/") else f"/{path}"
        try:
            return self._reads.get(path, tries)
        except RefusedError as error:
            raise self._reads.unreadable(path, error) from None

    def cluster(self, _policy: str, _rule: str, /) -> Cluster:
        return self._cluster


class _EntryAnswers(NoMocks):
    """The answers to the calls of one GlobalContextEntry: recorded, or else the cluster's."""

    def __init__(self, given: Mocks, api: LiveApi, tries: int) -> None:
        self._given = given
        self._api = api
        self._tries = tries

    def recorded(self, method: str, url: str, /) -> Recorded | None:
        answer = self._given.recorded(method, url)
        if answer is not None or "://" in url:
            return answer
        return Recorded(200, self._api.patient_call(method, url, self._tries))


class LiveGlobalContext:
    """The GlobalContextEntries of a cluster."""

    def __init__(self, entries: Sequence[GlobalContextEntry], api: LiveApi, given: World) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._api = api
        self._given = given

    def data(self, name: str, projection: str, /) -> Json:
        entry = self._entries.get(name)
        if entry is None:
            raise NoSource(f"failed to fetch entry key={name}")
        answers = _EntryAnswers(self._given.mocks, self._api, entry.tries)
        return entry.data(projection, replace(self._given, api=self._api, mocks=answers))


def live_world(
    reader: Reader, given: World = OFFLINE, entries: Sequence[GlobalContextEntry] = ()
) -> World:
    """Return the world of a cluster; given: what answers for all but its API."""
    api, keys = LiveApi(CachedReads(reader)), LiveKeys(reader)
    given.signatures.learn(keys)
    return replace(
        given,
        api=api,
        blobs=blob_verifier(keys, given.signatures),
        global_context=LiveGlobalContext(entries, api, given),
    )


class LiveKeys:
    """The engine's port for keys; of a Secret only `cosign.pub` is kept, also in recordings."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def public_key(self, namespace: str, name: str, /) -> bytes | None:
        path = SECRETS.path(namespace, name)
        source = self._reader.source
        if isinstance(source, Recorder):
            source.keep_public_key(path)
        what = f"the Secret {namespace}/{name}"
        try:
            secret = source.get(path)
        except RefusedError as error:
            if error.status == MISSING:
                raise not_found(name) from None
            self._reader.note(path, error)
            raise UnknownKeyError(f"{what} could not be read: {error.message}") from None
        key = held_key(secret)
        if self._reader.is_recorded and key == b"":
            hint = "record it again"
            raise UnknownKeyError(f"{what} is recorded without its public key", hint=hint)
        return key
