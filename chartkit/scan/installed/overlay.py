"""A cluster as it would be with the objects of files: answers of its API server, with theirs in the
place of those that are there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qs

from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.model import Body, Resource, mapping_at
from chartkit.network.cluster.discovery import Discovery
from chartkit.network.cluster.source import Source, SourceError

_PAGING: Final = frozenset({"limit", "continue"})


class OverlaidSource:
    """The answers of a source, with objects that it need not have. Lists that are chosen by more
    than paging are the source's own."""

    def __init__(self, source: Source, discovery: Discovery, objects: Iterable[Resource]) -> None:
        self._source = source
        self._named: dict[str, Body] = {}
        self._listed: dict[str, dict[tuple[str, str], Body]] = {}
        for each in objects:
            kind = kind_of(each)
            served = discovery.of_kind(each.api_version, kind.kind)
            if served is None or not each.name:
                continue
            self._named[served.path(each.namespace, each.name)] = each.body
            key = (each.namespace, each.name)
            for path in dict.fromkeys((served.path(), served.path(each.namespace))):
                self._listed.setdefault(path, {})[key] = each.body

    @property
    def fault(self) -> SourceError | None:
        """The fault of the source."""
        return self._source.fault

    def get(self, path: str, /) -> Body:
        base, _, query = path.partition("?")
        named = self._named.get(base)
        if named is not None:
            return named
        own = self._listed.get(base)
        answer = self._source.get(path)
        if own is None or not _PAGING.issuperset(parse_qs(query, keep_blank_values=True)):
            return answer
        items = answer.get("items")
        there = [each for each in items or () if _key(each) not in own]
        if not mapping_at(answer, "metadata").get("continue"):
            there += own.values()
        return {**answer, "items": there}


def _key(body: Body) -> tuple[str, str]:
    metadata = mapping_at(body, "metadata")
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
