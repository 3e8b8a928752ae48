"""The entries of `verifyImages`: the images they match, and the signers and attestors that they
require, as requests to a verifier.

Settings that an attestor omits have Kyverno's defaults (`pkg/engine/internal/imageverifier.go`,
`buildCosignVerifier`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.cluster_policy.handler import Checked
from chartkit.engine.cluster_policy.validate_any import compile_deny
from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import Template, compile_template
from chartkit.engine.ports.signatures import (
    METHODS,
    VerificationRequest,
    attestor_types,
    expanded,
    nested_set,
    read_credentials,
)
from chartkit.engine.ports.world import Credentials
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import EvaluationError
from chartkit.model import Body, Status

NOTARY: Final = "Notary"
_PUBLIC_LOG: Final = "https://rekor.sigstore.dev"
_NO_CERTIFICATES: Final = "certificates are required for type Notary"


@dataclass(frozen=True, slots=True)
class Attestor:
    """A required signer. place: the text after the entry's path in errors; question: the request to
    verify an image, which is not named yet."""

    place: str
    question: VerificationRequest


@dataclass(frozen=True, slots=True)
class Unusable:
    """An entry that cannot be asked. fault: why; is_refusal: whether that counts as not signed,
    as by Kyverno, or nothing can be said."""

    fault: str
    is_refusal: bool


@dataclass(frozen=True, slots=True)
class AttestorSet:
    """required: how many of the entries must have signed."""

    required: int
    entries: tuple[Attestor | AttestorSet | Unusable, ...]


@dataclass(frozen=True, slots=True)
class AttestingSet:
    """The same of an attestation, where sets are not nested."""

    required: int
    entries: tuple[Attestor | Unusable, ...]


def base_question(block: Body) -> VerificationRequest:
    """Return the common part of all attestors of an entry of `verifyImages`."""
    kind = block.get("type") or "Cosign"
    credentials = read_credentials(block.get("imageRegistryCredentials"))
    if kind == NOTARY:
        return VerificationRequest("", kind, credentials=credentials)
    return VerificationRequest(
        "",
        kind,
        repository=block.get("repository") or "",
        roots=block.get("roots") or "",
        annotations=block.get("annotations") or {},
        oci11=bool(block.get("cosignOCI11")),
        credentials=credentials,
    )


def signing_set(body: Body, base: VerificationRequest, path: str) -> AttestorSet:
    """Return a set whose attestors sign an image; path: its place as in errors."""
    entries = expanded(body.get("entries") or ())
    read = [_entry(entry, base, f"{path}.entries[{at}]") for at, entry in enumerate(entries)]
    return AttestorSet(_required(body, entries), tuple(read))


def attesting_set(body: Body, base: VerificationRequest) -> AttestingSet:
    """A set whose attestors attest an image: several keys and nested sets are not supported."""
    entries: list[Body] = body.get("entries") or []
    read = [_attestor(entry, replace(base, ignores_sct=True)) for entry in entries]
    return AttestingSet(_required(body, entries), tuple(read))


def _required(body: Body, entries: Sequence[Body]) -> int:
    return body.get("count") or len(entries)


def _entry(entry: Body, base: VerificationRequest, path: str) -> Attestor | AttestorSet | Unusable:
    nested = entry.get("attestor")
    if nested is None:
        return _attestor(entry, base)
    try:
        body = nested_set(nested, path)
    except EvaluationError as error:
        return Unusable(error.message, is_refusal=True)
    return signing_set(body, base, f"{path}.attestor")


def _attestor(entry: Body, base: VerificationRequest) -> Attestor | Unusable:
    if base.kind == NOTARY:
        body = entry.get("certificates")
        if body is None:
            return Unusable(_NO_CERTIFICATES, is_refusal=False)
        return Attestor("", _overridden(_by_certificates(base, body), entry))
    question = replace(base, algorithm=entry.get("signatureAlgorithm") or "")
    path = ""
    method = next((name for name in METHODS if entry.get(name) is not None), None)
    if method is not None:
        path = f".{method}"
        body = entry[method]
        rekor: Body = {"url": _PUBLIC_LOG} if body.get("rekor") is None else body["rekor"]
        log: Body = body.get("ctlog") or {}
        logged = replace(
            question,
            rekor_url=rekor.get("url") or "",
            rekor_key=rekor.get("pubkey") or "",
            ignores_log=bool(rekor.get("ignoreTlog")),
            ignores_sct=bool(log.get("ignoreSCT")),
            ctlog_key=log.get("pubkey") or "",
            tsa_chain=log.get("tsaCertChain") or "",
        )
        question = _READERS[method](logged, entry[method])
    return Attestor(path, _overridden(question, entry))


def _overridden(question: VerificationRequest, entry: Body) -> VerificationRequest:
    """Apply the repository and annotations of an entry."""
    if entry.get("repository"):
        question = replace(question, repository=entry["repository"])
    if entry.get("annotations") is not None:
        question = replace(question, annotations=entry["annotations"])
    return question


def _by_keys(question: VerificationRequest, body: Body) -> VerificationRequest:
    secret = body.get("secret")
    key = body.get("publicKeys") or ""
    if not key and secret is not None:
        key = f"k8s://{secret.get('namespace') or ''}/{secret.get('name') or ''}"
    return replace(
        question, key=key or body.get("kms") or "", algorithm=body.get("signatureAlgorithm") or ""
    )


def _by_certificates(question: VerificationRequest, body: Body) -> VerificationRequest:
    return replace(question, cert=body.get("cert") or "", cert_chain=body.get("certChain") or "")


def _keyless(question: VerificationRequest, body: Body) -> VerificationRequest:
    return replace(
        question,
        roots=body.get("roots") or "",
        issuer=body.get("issuer") or "",
        issuer_regexp=body.get("issuerRegExp") or "",
        subject=body.get("subject") or "",
        subject_regexp=body.get("subjectRegExp") or "",
        extensions=body.get("additionalExtensions") or {},
    )


_READERS: Final[Mapping[str, Callable[[VerificationRequest, Body], VerificationRequest]]] = {
    "keys": _by_keys,
    "certificates": _by_certificates,
    "keyless": _keyless,
}


@dataclass(frozen=True, slots=True)
class Attestation:
    """A required attestation. name: the variable under which conditions see it; type: of its
    predicate; sets: of attestors; conditions: of every predicate, as a template."""

    name: str
    type: str
    sets: tuple[AttestingSet, ...]
    conditions: Template | None


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """One entry. references, skipped: wildcards over whole references; attestors, attestations:
    who must have signed the images, and what must have been attested of them; validation: what
    is denied once all of that is known; credentials: as whom registries are asked."""

    references: tuple[str, ...]
    skipped: tuple[str, ...]
    attestors: tuple[AttestorSet, ...]
    attestations: tuple[Attestation, ...]
    validation: Callable[[Context], Checked] | None
    credentials: Credentials
    mutates_digest: bool
    verifies_digest: bool
    required: bool

    @property
    def is_signed(self) -> bool:
        """Report whether the images must be signed or attested."""
        return bool(self.attestors or self.attestations)

    def speaks_of(self, image: str) -> bool:
        """Report whether the entry matches an image."""
        return _matches(self.references, image)

    def skips(self, image: str) -> bool:
        return _matches(self.skipped, image)


def read_blocks(bodies: Sequence[Body]) -> tuple[ImageBlock, ...]:
    """The entries of a rule; conditions stand in them as they were written.

    Raises EvaluationError, with Go's text, where variables gave something of another type.
    """
    rule = attestor_types().decode("v1.Rule", {"verifyImages": list(bodies)})
    return tuple(map(_read, rule["verifyImages"]))


def _read(body: Body) -> ImageBlock:
    body = converted(body)
    base = base_question(body)
    return ImageBlock(
        references=tuple(body.get("imageReferences") or ()),
        skipped=tuple(body.get("skipImageReferences") or ()),
        attestors=tuple(
            signing_set(attestors, base, f".attestors[{at}]")
            for at, attestors in enumerate(body.get("attestors") or ())
        ),
        attestations=tuple(
            _attestation(attestation, replace(base, attestations=True))
            for attestation in body.get("attestations") or ()
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
        tuple(attesting_set(attestors, replace(base, type=kind)) for attestors in sets),
        compile_template(conditions) if conditions else None,
    )


def _validation(body: Body) -> Callable[[Context], Checked] | None:
    """The check of conditions over all attestations that hold."""
    if not body:
        return None
    deny, passed = body.get("deny"), Checked(Status.PASS, "")
    if deny is None:
        return lambda _context: passed
    default = "validation error: imageVerify  failed"
    return compile_deny(deny, body.get("message") or "", default, passed)


def converted(body: Body) -> Body:
    """An entry with the older `image`, `key` and `issuer` as one attestor. As in Kyverno,
    attestations are not affected."""
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
