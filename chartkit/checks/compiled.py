"""Compiled policies, each text once: environments and examples share most of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache

from chartkit.engine.compile import CompiledPolicy, compile_policy
from chartkit.errors import CompileError
from chartkit.model import Diagnostic, Location, Resource
from chartkit.scan.policies import PolicySet


def compiled_set(found: Iterable[Resource]) -> PolicySet:
    """Compiles each policy; what does not compile becomes diagnostics."""
    compiled: list[CompiledPolicy] = []
    diagnostics: list[Diagnostic] = []
    for resource in found:
        try:
            compiled.append(_compiled(json.dumps(resource.body), resource.location))
        except CompileError as error:
            diagnostics.extend(error.diagnostics)
    return PolicySet(tuple(compiled), tuple(diagnostics))


@lru_cache(maxsize=2048)
def _compiled(body: str, location: Location) -> CompiledPolicy:
    return compile_policy(Resource(json.loads(body), location))
