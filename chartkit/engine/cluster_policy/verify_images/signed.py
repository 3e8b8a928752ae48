"""The signatures of an image by the attestors of an entry: sets, counts, and faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chartkit.engine.cluster_policy.verify_images.attestors import Attestor, AttestorSet, Unusable
from chartkit.engine.ports.signatures import (
    Credentials,
    SignatureError,
    SignatureSource,
    UnknownKeyError,
    VerificationRequest,
    Verified,
)
from chartkit.errors import LookupFailed, NoSource
from chartkit.model import Status


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding about an image's signatures. digest: of the signed image, empty if unknown;
    is_open: nobody could be asked."""

    status: Status
    message: str
    digest: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why one attestor does not count. status: FAIL if it did not sign, ERROR if that
    is unknown; is_open: because nobody can be asked."""

    text: str
    status: Status = Status.FAIL
    is_open: bool = False

    def under(self, path: str) -> Fault:
        """The same behind the place of an entry."""
        return replace(self, text=f"{path}: {self.text}")


@dataclass(frozen=True, slots=True)
class Verifier:
    """The verifier of the images of an object. secrets: those that pull its pods' images, as
    `namespace/name`."""

    source: SignatureSource
    secrets: tuple[str, ...] = ()

    def signature(self, question: VerificationRequest, image: str) -> Verified:
        """As a source answers; raises LookupFailed."""
        return self.source.signature(self._about(question, image))

    def attestations(self, question: VerificationRequest, image: str) -> Verified:
        """As a source answers; raises LookupFailed."""
        return self.source.attestations(self._about(question, image))

    def with_secrets(self, credentials: Credentials) -> Credentials:
        """A policy's credentials, and those of the pods behind them."""
        if not self.secrets:
            return credentials
        return replace(credentials, secrets=(*credentials.secrets, *self.secrets))

    def _about(self, question: VerificationRequest, image: str) -> VerificationRequest:
        return replace(question, image=image, credentials=self.with_secrets(question.credentials))


def fault_of(error: LookupFailed) -> Fault:
    """Return the fault of an unanswered request, or of the verdict that an attestor did not
    sign."""
    is_verdict = isinstance(error, SignatureError)
    status = Status.FAIL if is_verdict else Status.ERROR
    if isinstance(error, UnknownKeyError):
        return Fault(str(error), status, is_open=True)
    return Fault(error.message, status, isinstance(error, NoSource))


def unusable_fault(entry: Unusable) -> Fault:
    """An entry that cannot be asked."""
    return Fault(entry.fault, Status.FAIL if entry.is_refusal else Status.ERROR)


def joined(faults: Sequence[Fault]) -> str:
    """All texts in one."""
    return "; ".join(fault.text for fault in faults)


def check_attestors(sets: Sequence[AttestorSet], verifier: Verifier, image: str) -> Finding:
    """Every set must be satisfied; the digest is that of the last."""
    digest = ""
    for at, wanted in enumerate(sets):
        found = _check_set(wanted, verifier, image, f".attestors[{at}]")
        if not isinstance(found, Verified):
            text = f"failed to verify image {image}: {joined(found)}"
            return Finding(worst(found), text, is_open=any(one.is_open for one in found))
        digest = found.digest
    return Finding(Status.PASS, f"verified image signatures for {image}", digest)


def worst(faults: Sequence[Fault]) -> Status:
    """A question that nobody answered leaves open whether an image is signed."""
    is_error = any(fault.status is Status.ERROR for fault in faults)
    return Status.ERROR if is_error else Status.FAIL


def _check_set(
    wanted: AttestorSet, verifier: Verifier, image: str, path: str
) -> Verified | Sequence[Fault]:
    faults: list[Fault] = []
    verified = 0
    for at, entry in enumerate(wanted.entries):
        found = _check_entry(entry, verifier, image, f"{path}.entries[{at}]")
        if not isinstance(found, Verified):
            faults += found
            continue
        verified += 1
        if verified >= wanted.required:
            return found
    return faults


def _check_entry(
    entry: Attestor | AttestorSet | Unusable, verifier: Verifier, image: str, path: str
) -> Verified | Sequence[Fault]:
    if isinstance(entry, AttestorSet):
        return _check_set(entry, verifier, image, f"{path}.attestor")
    if isinstance(entry, Unusable):
        fault = unusable_fault(entry)
        return [fault if entry.is_refusal else fault.under(path)]
    try:
        return verifier.signature(entry.question, image)
    except LookupFailed as error:
        return [fault_of(error).under(path + entry.place)]
