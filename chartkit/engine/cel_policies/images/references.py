"""`matchImageReferences`: which images a policy is about, by globs (those of gobwas/glob without
separators) and expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel_policies.expressions import ExpressionCompiler
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.go.regexp import RegexError, compile_regex

_WILD: Final = {"*": ".*", "?": "."}


class GlobError(ValueError):
    """A glob that does not compile."""


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Return whether a whole text fits: `*` is any text, `?` any character, `[a-z]` and `[!a-z]`
    one of some or none of them, `{a,b}` one of several, `\\` takes the next character as it is."""
    try:
        regexp = compile_regex(rf"(?s)\A(?:{_translated(pattern)})\z")
    except RegexError as error:
        raise GlobError(str(error)) from error
    return regexp.matches


def _translated(pattern: str) -> str:
    out: list[str] = []
    depth = at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
            if at == len(pattern):
                raise GlobError("unexpected end of input")
            out.append(re.escape(pattern[at]))
        elif char == "[":
            text, at = _class(pattern, at)
            out.append(text)
        elif char == "{":
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append(_WILD.get(char) or re.escape(char))
        at += 1
    # A brace that nothing closes ends with the glob.
    return "".join(out) + ")" * depth


def _class(pattern: str, start: int) -> tuple[str, int]:
    """The class that begins at a `[`, and where it ends."""
    end = pattern.find("]", start + 2)
    if end < 0:
        raise GlobError("unexpected end of input")
    inner = pattern[start + 1 : end]
    negated = inner.startswith("!")
    members = inner[1:] if negated else inner
    body = members if re.fullmatch(r".-.", members) else re.escape(members)
    return f"[{'^' if negated else ''}{body}]", end


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
