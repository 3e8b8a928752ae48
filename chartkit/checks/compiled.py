"""Compiled policies, each text once: environments and examples share most of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache

from chartkit.engine.policies import AnyPolicy, Cleaner, Surroundings
from chartkit.model import Location, Resource
from chartkit.scan.policies import PolicySet, compile_all, compile_one


def compiled_set(found: Iterable[Resource]) -> PolicySet:
    """Compiles each policy, with the bindings among them; what does not compile becomes
    diagnostics."""
    return compile_all(list(found), compiler=_remembered)


def _remembered(resource: Resource, around: Surroundings) -> AnyPolicy | Cleaner:
    bindings = tuple(json.dumps(one.body) for one in around.bindings)
    return _compiled(json.dumps(resource.body), resource.location, bindings)


@lru_cache(maxsize=2048)
def _compiled(body: str, location: Location, bindings: tuple[str, ...]) -> AnyPolicy | Cleaner:
    bound = tuple(Resource(json.loads(one)) for one in bindings)
    return compile_one(Resource(json.loads(body), location), Surroundings(bindings=bound))
