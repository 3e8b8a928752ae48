"""Notary for ImageValidatingPolicies: attestors with `notary`, artifacts that refer to an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cryptography import x509

from chartkit.engine.ports import SignatureError
from chartkit.model import Body, Json
from chartkit.network.registry.artifacts import Artifacts, ResolvedReference
from chartkit.network.registry.errors import RegistryError
from chartkit.network.signatures.errors import within
from chartkit.network.signatures.go_json import read
from chartkit.network.signatures.notary.repository import Repository, UnknownError, refuse, verify
from chartkit.network.signatures.notary.verification import Target, TrustStore
from chartkit.network.signatures.trust.certificates import read_certificates

_TOO_MANY: Final = "to many referrers found, max limit is 50"


def signed(artifacts: Artifacts, image: str, attestor: Body) -> None:
    """Verify an image by an attestor whose `notary` has `certs` and `tsaCerts`.

    Raises SignatureError in Kyverno's words, another LookupFailed where it is unknown.
    """
    found = artifacts.resolve(image)
    trust = _trust(attestor)
    document = found.document
    target = Target(document.media_type, document.digest, len(document.content))
    try:
        verify(_repository(artifacts, found), target, trust)
    except (SignatureError, UnknownError) as error:
        raise _within(f"failed to verify image {image}", error) from None


def attested(artifacts: Artifacts, image: str, attestation: Body, attestor: Body) -> Json:
    """Return the content of the first artifact of an attestation's type that an attestor signed.

    None where it is no JSON or not to be had: the attestation holds all the same. Raises as above.
    """
    artifact_type = _type(attestation)
    found = artifacts.resolve(image)
    trust = _trust(attestor)
    repository = _repository(artifacts, found)
    listed = _listed(repository, found, artifact_type)
    failures: list[SignatureError | UnknownError] = []
    for descriptor in listed:
        digest = str(descriptor["digest"])
        # Kyverno compares with what the list of referrers says of the artifact.
        media_type, size = str(descriptor.get("mediaType", "")), descriptor.get("size")
        target = Target(media_type, digest, size if isinstance(size, int) else -1)
        try:
            verify(repository, target, trust)
        except (SignatureError, UnknownError) as error:
            what = f"failed to verify attestation {artifact_type}, digest {digest}"
            failures.append(_within(what, error))
        else:
            return _shown(repository, digest)
    if not failures:
        raise SignatureError(
            "attestation verification failed, no attestations found for type: " + artifact_type
        )
    raise _combined(failures)


def payload(artifacts: Artifacts, image: str, artifact_type: str) -> Json:
    """Return the content of the first artifact of a type that refers to an image, whoever made it.

    None where it is no JSON. Raises SignatureError in Kyverno's words where there is no such
    artifact or it is not made as it should be, another LookupFailed where nobody answers.
    """
    found = artifacts.resolve(image)
    repository = _repository(artifacts, found)
    listed = repository.referrers(found.document.digest, artifact_type)
    if not listed:
        raise SignatureError(f"artifact of type {artifact_type} not found")
    return _json(_content(repository, str(listed[0]["digest"])))


def _shown(repository: Repository, digest: str) -> Json:
    """Return the content of a signed artifact, None where it cannot be read; raises RegistryError
    for a registry without an answer."""
    try:
        return _json(_content(repository, digest))
    except SignatureError:
        return None


def _content(repository: Repository, digest: str) -> bytes:
    """Raises SignatureError, or RegistryError where nobody answers."""
    try:
        return repository.layer(repository.manifest(digest), "layer").content
    except RegistryError as error:
        refuse(error, error.message)


def _json(content: bytes) -> Json:
    try:
        return read(content)
    except SignatureError:
        return None


def _type(attestation: Body) -> str:
    referrer = attestation.get("referrer")
    found = referrer.get("type") if isinstance(referrer, dict) else None
    if not isinstance(found, str):
        raise SignatureError("notary verifier only supports oci 1.1 referrers as attestations")
    return found


def _listed(repository: Repository, found: ResolvedReference, artifact_type: str) -> Sequence[Body]:
    with within("failed to fetch referrers"):
        return repository.referrers(found.document.digest, artifact_type)


def _repository(artifacts: Artifacts, found: ResolvedReference) -> Repository:
    return Repository(artifacts, found.reference, _TOO_MANY, is_single=True)


def _trust(attestor: Body) -> TrustStore:
    given = attestor.get("notary")
    named = given if isinstance(given, dict) else {}
    with within("failed to setup notation verification data"):
        return TrustStore(_certificates(named, "certs"), _certificates(named, "tsaCerts"))


def _certificates(given: Body, name: str) -> Sequence[x509.Certificate]:
    found = given.get(name)
    value = found.get("value") if isinstance(found, dict) else None
    return read_certificates(value) if isinstance(value, str) else ()


def _within(what: str, error: SignatureError | UnknownError) -> SignatureError | UnknownError:
    """Return the same failure with words before it."""
    return type(error)(f"{what}: {error.message}", hint=error.hint)


def _combined(failures: Sequence[SignatureError | UnknownError]) -> SignatureError | UnknownError:
    """Return errors joined as by Go's multierr: in one line, and undecided if one of them is."""
    text = "; ".join(error.message for error in failures)
    for error in failures:
        if isinstance(error, UnknownError):
            return UnknownError(text, hint=error.hint)
    return SignatureError(text)
