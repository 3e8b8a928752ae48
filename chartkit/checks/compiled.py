"""Compiled policies, each text once: environments and examples share most of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache

from chartkit.engine.cel_policies.bindings import is_binding
from chartkit.engine.policies import AnyPolicy, Cleaner, Surroundings, compile_any, sorted_out
from chartkit.errors import CompileError
from chartkit.model import Diagnostic, Location, Resource
from chartkit.scan.policies import PolicySet, warnings_of


def compiled_set(found: Iterable[Resource]) -> PolicySet:
    """Compiles each policy, with the bindings among them; what does not compile becomes
    diagnostics."""
    everything = list(found)
    bindings = tuple(json.dumps(one.body) for one in everything if is_binding(one))
    compiled: list[AnyPolicy | Cleaner] = []
    diagnostics: list[Diagnostic] = []
    for resource in everything:
        if is_binding(resource):
            continue
        try:
            compiled.append(_compiled(json.dumps(resource.body), resource.location, bindings))
        except CompileError as error:
            diagnostics.extend(error.diagnostics)
    policies, cleaners = sorted_out(compiled)
    return PolicySet(policies, tuple(diagnostics), cleaners, tuple(warnings_of(policies)))


@lru_cache(maxsize=2048)
def _compiled(body: str, location: Location, bindings: tuple[str, ...]) -> AnyPolicy | Cleaner:
    bound = tuple(Resource(json.loads(one)) for one in bindings)
    return compile_any(Resource(json.loads(body), location), Surroundings(bindings=bound))
