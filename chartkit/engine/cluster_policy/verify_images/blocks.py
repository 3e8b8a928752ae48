"""The entries of `verifyImages`: which images they speak of and what they ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chartkit.engine.cluster_policy.conditions import Conditions, compile_conditions
from chartkit.engine.cluster_policy.verify_images.attestors import (
    AttestingSet,
    AttestorSet,
    attesting_set,
    base_question,
    signing_set,
)
from chartkit.engine.context.variables import Template, compile_template
from chartkit.engine.ports.attestor_types import ATTESTOR_TYPES
from chartkit.engine.ports.signatures import Credentials, VerificationRequest, read_credentials
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body


@dataclass(frozen=True, slots=True)
class Attestation:
    """A required attestation. name: the variable under which conditions see it; type: of its
    predicate; sets: of attestors; conditions: of every predicate, as a template."""

    name: str
    type: str
    sets: tuple[AttestingSet, ...]
    conditions: Template | None


@dataclass(frozen=True, slots=True)
class ImageValidation:
    """The message for conditions over all attestations that hold."""

    message: str
    deny: Conditions | None


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """One entry. references, skipped: wildcards over whole references; attestors, attestations:
    who must have signed the images, and what must have been attested of them; validation: what
    is denied once all of that is known; credentials: as whom registries are asked."""

    references: tuple[str, ...]
    skipped: tuple[str, ...]
    attestors: tuple[AttestorSet, ...]
    attestations: tuple[Attestation, ...]
    validation: ImageValidation | None
    credentials: Credentials
    mutates_digest: bool
    verifies_digest: bool
    required: bool

    @property
    def is_signed(self) -> bool:
        """Return whether somebody must have signed or attested the images."""
        return bool(self.attestors or self.attestations)

    def speaks_of(self, image: str) -> bool:
        """Return whether an image is one of those that the entry names."""
        return _matches(self.references, image)

    def skips(self, image: str) -> bool:
        """Return whether an image is one of those that the entry leaves out."""
        return _matches(self.skipped, image)


def read_blocks(bodies: Sequence[Body]) -> tuple[ImageBlock, ...]:
    """The entries of a rule; conditions stand in them as they were written.

    Raises EvaluationError, with Go's text, where variables gave something of another type.
    """
    rule = ATTESTOR_TYPES.decode("v1.Rule", {"verifyImages": list(bodies)})
    return tuple(map(_read, rule["verifyImages"]))


def _read(body: Body) -> ImageBlock:
    body = converted(body)
    base = base_question(body)
    return ImageBlock(
        references=tuple(body.get("imageReferences") or ()),
        skipped=tuple(body.get("skipImageReferences") or ()),
        attestors=tuple(
            signing_set(one, base, f".attestors[{at}]")
            for at, one in enumerate(body.get("attestors") or ())
        ),
        attestations=tuple(
            _attestation(one, replace(base, attestations=True))
            for one in body.get("attestations") or ()
        ),
        validation=_validation(body.get("validate") or {}),
        credentials=read_credentials(body.get("imageRegistryCredentials")),
        mutates_digest=_flag(body, "mutateDigest"),
        verifies_digest=_flag(body, "verifyDigest"),
        required=_flag(body, "required"),
    )


def _attestation(body: Body, base: VerificationRequest) -> Attestation:
    kind: str = body.get("type") or body.get("predicateType") or ""
    # Without attestors anybody's attestation is fetched, and its conditions are checked.
    sets: list[Body] = body.get("attestors") or [{"entries": [{}]}]
    conditions = body.get("conditions")
    return Attestation(
        body.get("name") or "",
        kind,
        tuple(attesting_set(one, replace(base, type=kind)) for one in sets),
        compile_template(conditions) if conditions else None,
    )


def _validation(body: Body) -> ImageValidation | None:
    if not body:
        return None
    deny = body.get("deny")
    conditions = None if deny is None else compile_conditions(deny.get("conditions"))
    return ImageValidation(body.get("message") or "", conditions)


def converted(body: Body) -> Body:
    """An entry with the older `image`, `key` and `issuer` as one attestor. As by Kyverno,
    attestations get none of it."""
    image, key, issuer = (body.get(name) or "" for name in ("image", "key", "issuer"))
    if not (image or key or issuer):
        return body
    made = {**body, "roots": ""}
    if image:
        made["imageReferences"] = [*(body.get("imageReferences") or ()), image]
    annotations = body.get("annotations")
    if not (annotations or key or issuer) or body.get("attestations"):
        return made
    entry: Body = {"annotations": annotations}
    if key:
        entry["keys"] = {"publicKeys": key}
    elif issuer:
        entry["keyless"] = {name: body.get(name) for name in ("issuer", "subject", "roots")}
    made["attestors"] = [*(body.get("attestors") or ()), {"entries": [entry]}]
    return made


def _flag(body: Body, name: str) -> bool:
    """All three hold unless they are turned off."""
    return body.get(name) is not False


def _matches(patterns: Sequence[str], image: str) -> bool:
    return any(compile_wildcard(pattern)(image) for pattern in patterns)
