"""`matchImageReferences`: which images a policy is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel_policies.expressions import ExpressionCompiler
from chartkit.engine.cel_policies.images.globs import GlobError, compile_glob
from chartkit.engine.cel_policies.policy import CelPolicy

_REFERENCES: Final = "spec.matchImageReferences"

Fits = Callable[[str], bool]
"""A test whether a reference is one of a policy's images; raises CelError."""


def compile_references(policy: CelPolicy, compiler: ExpressionCompiler) -> Fits:
    """Return a test for the policy's images; without any reference a policy is about all. Raises
    CompileError."""
    found: list[Fits] = []
    matching = ExpressionCompiler(policy, ENVIRONMENTS["matchimage"])
    for index, body in enumerate(policy.spec.get("matchImageReferences") or ()):
        path = f"{_REFERENCES}[{index}]"
        if body.get("glob"):
            try:
                found.append(compile_glob(body["glob"]))
            except GlobError as error:
                compiler.refuse(f"{path}.glob", body["glob"], str(error))
        elif body.get("expression"):
            program = matching.one(f"{path}.expression", body["expression"], (types.BOOL,))
            if program is not None:
                found.append(_fits(program))
    matching.check()
    compiler.check()
    return _any_of(tuple(found))


def _any_of(found: Sequence[Fits]) -> Fits:
    return lambda image: not found or any(fits(image) for fits in found)


def _fits(program: Program) -> Fits:
    return lambda image: program.evaluate({"ref": image}, OFFLINE) is True
