"""Results that reviews share: objects that are equal in all fields that policies read are judged
once.

Controllers make most objects of a cluster, and these differ only in fields that no policy reads.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addons.serve.admission.findings import Evaluated, Findings
from chartkit.engine import Operation, Request, RunnablePolicy
from chartkit.engine.footprint import Footprint, Projection, UnboundedError
from chartkit.engine.kubernetes.kinds import kind_of

_FEW: Final = 8
"""The reviews of a kind that are judged before chartkit works out which fields are read."""
_TRIAL: Final = 512
_LEAST: Final = 3
"""After how many reviews one in how many must have been equal to an earlier one."""
_MOST_KINDS: Final = 256
_MOST_CHARACTERS: Final = 1 << 24
"""Of all keys together; objects come from users."""


@dataclass(frozen=True, slots=True)
class Known:
    """What was found for a review. by_policy: by the identities of the policies whose results are
    shared; whole: of all policies, None where some are asked every time."""

    by_policy: Mapping[int, Evaluated]
    whole: Findings | None


class Shared:
    """Results for reviews, by what policies read of them. Several threads may use it."""

    __slots__ = ("_kinds", "_policies", "_size")

    def __init__(self, policies: Sequence[RunnablePolicy]) -> None:
        self._policies = policies
        self._kinds: dict[Hashable, _Kind] = {}
        self._size = 0

    def kind(self, request: Request) -> _Kind | None:
        """Return what is known of reviews like this one; None where nothing is shared."""
        if request.operation is not Operation.CREATE or request.old is not None:
            return None
        if request.variables or request.subresource:
            return None
        resource = request.resource
        key = (request.kind or kind_of(resource), request.plural, bool(resource.namespace))
        found = self._kinds.get(key)
        if found is None:
            if len(self._kinds) >= _MOST_KINDS:
                return None
            found = self._kinds[key] = _Kind(self._policies)
        return found if found.is_ready(request) else None

    def keep(self, kind: _Kind, key: Hashable, found: Mapping[int, Evaluated]) -> None:
        """Keep what was found; no texts with variables, which may stand for anything."""
        text = repr(key)
        if "{{" in text:
            return
        if self._size + len(text) > _MOST_CHARACTERS:
            self._size = 0
            for each in self._kinds.values():
                each.known.clear()
        if len(text) < _MOST_CHARACTERS // 64:
            self._size += len(text)
            is_whole = len(kind.policies) == len(self._policies)
            whole = Findings(tuple(found.values()), is_shared=True) if is_whole else None
            kind.known[key] = Known(found, whole)


class _Kind:
    """Reviews of one kind. policies: those of which it is known what they read; known: what was
    found, by the policies' identities."""

    __slots__ = ("_given", "_hits", "_project", "_seen", "known", "policies")

    def __init__(self, policies: Sequence[RunnablePolicy]) -> None:
        self._given = policies
        self._seen = self._hits = 0
        self._project: Projection | None = None
        self.policies: frozenset[int] = frozenset()
        self.known: dict[Hashable, Known] = {}

    def is_ready(self, request: Request) -> bool:
        """Return whether results are shared: not for the first few, nor where hardly any are."""
        self._seen += 1
        if self._seen == _FEW:
            self._share(request)
        if self._seen == _TRIAL + _FEW and self._hits * _LEAST < _TRIAL:
            self._project = None
            self.known.clear()
        return self._project is not None

    def _share(self, request: Request) -> None:
        whole = Footprint()
        found: set[int] = set()
        for policy in self._given:
            with contextlib.suppress(UnboundedError):
                whole.add(policy.footprint(request))
                found.add(id(policy))
        if found:
            self.policies = frozenset(found)
            self._project = whole.compile()

    def key(self, request: Request) -> Hashable:
        """Return the part of a request that is read."""
        assert self._project is not None
        user = request.user
        who: Hashable = None
        if user is not None:
            extra = json.dumps(user.extra, sort_keys=True) if user.extra else ""
            who = (user.name, user.uid, user.groups, extra, user.roles, user.cluster_roles)
        labels = tuple(request.namespace_labels.items())
        resource = request.resource
        return who, resource.namespace, labels, self._project(resource.body)

    def find(self, key: Hashable) -> Known | None:
        """Return what was found for an equal request."""
        found = self.known.get(key)
        self._hits += found is not None
        return found
