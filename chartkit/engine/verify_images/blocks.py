"""The entries of `verifyImages`: which images they speak of and what they ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.policy_reader import SCHEMA_RULE
from chartkit.engine.schema import anything, boolean, list_of, map_of, struct, text
from chartkit.engine.values.wildcard import compile_wildcard
from chartkit.errors import CompileError
from chartkit.model import Body, Diagnostic, Json, Location, Severity

_TEXTS: Final = list_of(text())
_BLOCK: Final = struct(
    {
        "image": text(),
        "key": text(),
        "issuer": text(),
        "annotations": map_of(text()),
        "imageReferences": _TEXTS,
        "skipImageReferences": _TEXTS,
        "attestors": list_of(struct({}, open_ended=True)),
        "attestations": list_of(struct({"type": text(), "predicateType": text()}, open_ended=True)),
        "mutateDigest": boolean,
        "verifyDigest": boolean,
        "required": boolean,
        "validate": anything,
    },
    open_ended=True,
)


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """One entry. references, skipped: wildcards over whole references; is_signed: whether somebody
    must have signed or attested the images; untyped: whether its first attestation, with no
    attestor before it, has no type."""

    references: tuple[str, ...]
    skipped: tuple[str, ...]
    is_signed: bool
    untyped: bool
    mutates_digest: bool
    verifies_digest: bool
    required: bool

    def speaks_of(self, image: str) -> bool:
        """Whether an image is one of those that the entry names."""
        return _matches(self.references, image)

    def skips(self, image: str) -> bool:
        """Whether an image is one of those that the entry leaves out."""
        return _matches(self.skipped, image)


def check_blocks(bodies: Sequence[Json], location: Location) -> None:
    """Raises CompileError for what the custom resource definition would not take."""
    problems = list_of(_BLOCK)(list(bodies), ("verifyImages",))
    if problems:
        raise CompileError(
            [
                Diagnostic(
                    SCHEMA_RULE, Severity.ERROR, f"{'.'.join(map(str, path))}: {fault}", location
                )
                for path, fault in problems
            ]
        )


def read_block(body: Body) -> ImageBlock:
    """An entry that was checked, with the older `image`, `key` and `issuer` for one attestor."""
    references = list(body.get("imageReferences") or ())
    attestations: list[Body] = body.get("attestations") or []
    older = [body.get(name) or "" for name in ("image", "key", "issuer")]
    if older[0]:
        references.append(older[0])
    named = any(older[1:]) or bool(older[0] and body.get("annotations"))
    attestors = bool(body.get("attestors")) or (named and not attestations)
    first = attestations[0] if attestations and not attestors else None
    return ImageBlock(
        references=tuple(references),
        skipped=tuple(body.get("skipImageReferences") or ()),
        is_signed=attestors or bool(attestations),
        untyped=first is not None and not (first.get("type") or first.get("predicateType")),
        mutates_digest=_flag(body, "mutateDigest"),
        verifies_digest=_flag(body, "verifyDigest"),
        required=_flag(body, "required"),
    )


def _flag(body: Body, name: str) -> bool:
    """All three hold unless they are turned off."""
    return body.get(name) is not False


def _matches(patterns: Sequence[str], image: str) -> bool:
    return any(compile_wildcard(pattern)(image) for pattern in patterns)
