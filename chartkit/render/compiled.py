"""Compiled policies, cached by their text: environments and examples share most of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache

from chartkit.engine import Cleaner, PolicyAttachments, RunnablePolicy
from chartkit.model import Location, Resource
from chartkit.scan.policies import PolicySet, compile_all, compile_one


def compiled_set(found: Iterable[Resource], allows_http: bool = False) -> PolicySet:
    """Compile each policy, with the bindings among them; what does not compile becomes diagnostics.
    The same texts give one and the same set.

    allows_http: whether the controllers let policies of a namespace call services.
    """
    return _set(tuple((json.dumps(each.body), each.location) for each in found), allows_http)


@lru_cache(maxsize=2048)
def _set(found: tuple[tuple[str, Location], ...], allows_http: bool) -> PolicySet:
    resources = [Resource(json.loads(body), location) for body, location in found]
    return compile_all(resources, PolicyAttachments(allows_http=allows_http), _remembered)


def _remembered(resource: Resource, around: PolicyAttachments) -> RunnablePolicy | Cleaner:
    bindings = tuple(json.dumps(one.body) for one in around.bindings)
    return _compiled(json.dumps(resource.body), resource.location, bindings, around.allows_http)


@lru_cache(maxsize=2048)
def _compiled(
    body: str, location: Location, bindings: tuple[str, ...], allows_http: bool
) -> RunnablePolicy | Cleaner:
    bound = tuple(Resource(json.loads(one)) for one in bindings)
    around = PolicyAttachments(bindings=bound, allows_http=allows_http)
    return compile_one(Resource(json.loads(body), location), around)
