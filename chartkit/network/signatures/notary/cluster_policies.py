"""Notary for ClusterPolicies: what an attestor signed, and what was attested of an image."""

from __future__ import annotations

from typing import Final

from chartkit.engine.ports import SignatureError, VerificationRequest, Verified
from chartkit.errors import LookupFailed
from chartkit.model import Body
from chartkit.network.registry.artifacts import Artifacts, ResolvedReference
from chartkit.network.registry.errors import RegistryError
from chartkit.network.signatures.errors import within
from chartkit.network.signatures.go_json import read_mapping
from chartkit.network.signatures.notary.repository import (
    Repository,
    UnknownError,
    by_head,
    refuse,
    verify,
)
from chartkit.network.signatures.notary.verification import Target, TrustStore
from chartkit.network.signatures.trust.certificates import read_certificates

_TOO_MANY: Final = "too many referrers found, max limit is 50"


def verify_signature(artifacts: Artifacts, question: VerificationRequest) -> Verified:
    """Verify an image by one of the request's certificates.

    Raises SignatureError in Kyverno's words, another LookupFailed where it is unknown.
    """
    trust = _trust(question)
    try:
        found = artifacts.resolve(question.image)
    except RegistryError as error:
        text = f"failed to parse image reference: {question.image}: {by_head(error)}"
        refuse(error, text)
    repository = _repository(artifacts, found)
    target = _target(found)
    try:
        verify(repository, target, trust)
    except LookupFailed as error:
        raise _within(f"failed to verify {repository.named(target.digest)}", error) from None
    return Verified(target.digest)


def fetch_attestations(artifacts: Artifacts, question: VerificationRequest) -> Verified:
    """Return the first artifact of the question's type that refers to an image, as a statement.

    It has to be signed itself, unless the question has no certificate at all. Raises as above.
    """
    try:
        found = artifacts.resolve(question.image)
    except RegistryError as error:
        refuse(error, by_head(error))
    repository = _repository(artifacts, found)
    digest = found.document.digest
    wanted = repository.referrers(digest, question.type) if question.type else ()
    if not wanted:
        raise SignatureError(
            f"no matching attestations found for image {question.image} with type {question.type}"
        )
    descriptor = wanted[0]
    try:
        if question.cert or question.cert_chain:
            _check_attestor(repository, descriptor, _trust(question), question.image)
        statement = _statement(repository, descriptor)
    except RegistryError as error:
        refuse(error, error.message)
    return Verified(digest, (statement,))


def _repository(artifacts: Artifacts, found: ResolvedReference) -> Repository:
    return Repository(artifacts, found.reference, _TOO_MANY, is_single=False)


def _target(found: ResolvedReference) -> Target:
    document = found.document
    return Target(document.media_type, document.digest, len(document.content))


def _trust(question: VerificationRequest) -> TrustStore:
    text = "\n".join(part for part in (question.cert, question.cert_chain) if part)
    with within("failed to parse certificates"):
        return TrustStore(read_certificates(text))


def _check_attestor(
    repository: Repository, descriptor: Body, trust: TrustStore, image: str
) -> None:
    """Require a signature of an artifact's manifest."""
    digest = str(descriptor["digest"])
    try:
        document = repository.artifacts.manifest(repository.place, digest)
    except RegistryError as error:
        text = f"failed to parse image reference: {image}: {by_head(error)}"
        raise error.worded(text) from None
    verify(repository, Target(document.media_type, digest, len(document.content)), trust)


def _statement(repository: Repository, descriptor: Body) -> Body:
    """Return an artifact's manifest, with its type and the layer's content as the predicate."""
    digest = str(descriptor["digest"])
    try:
        manifest = repository.manifest(digest)
    except RegistryError as error:
        raise error.worded(f"error in fetching manifest: {error.message}") from None
    layers = manifest.get("layers")
    if not isinstance(layers, list) or not layers:
        raise SignatureError(f"no predicate found: the manifest {digest} has no layers")
    if len(layers) > 1:
        raise SignatureError(
            f"multiple layers in predicate not supported: the manifest {digest} has {len(layers)}"
        )
    content = repository.layer(manifest, "predicate").content
    predicate = read_mapping(content)
    made = dict(manifest)
    if made.get("type") is None:
        made["type"] = descriptor["artifactType"]
    if made.get("predicate") is None:
        made["predicate"] = dict(predicate)
    return made


def _within(prefix: str, error: LookupFailed) -> LookupFailed:
    """Return the same failure with words before it."""
    text = f"{prefix}: {error.message}"
    if isinstance(error, RegistryError):
        return error.worded(text)
    kind = UnknownError if isinstance(error, UnknownError) else SignatureError
    return kind(text, hint=error.hint)
