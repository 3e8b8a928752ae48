"""The required signers of a manifest, and the search for one of their signatures
(`BlobSignatureVerifier` of k8s-manifest-sigstore, as Kyverno's handler sets it up)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cluster_policy.manifests.differences import matches
from chartkit.engine.cluster_policy.manifests.signed import SignatureSet
from chartkit.engine.ports.signatures import BlobSource, LoggedBlob, SignatureError
from chartkit.errors import EvaluationError, LookupFailed
from chartkit.go.base64_text import Base64Error, decode_base64
from chartkit.go.fmt import go_json
from chartkit.model import Body

FAILED: Final = "failed to verify signature"
_EXEC: Final = "cosign.VerifyBlobCmd.Exec() returned an error: "
_NOBODY: Final = (
    "provide a key with --key or --sk, a certificate to verify against with --certificate, or a "
    "bundle with --bundle"
)
_NO_IDENTITY: Final = (
    "--certificate-identity or --certificate-identity-regexp is required for verification in "
    "keyless mode"
)
_BOTH: Final = (
    "exactly one of: key reference (--key), certificate (--cert) or hardware token (--sk) must be "
    "provided"
)
_ANYBODY: Final = (
    "the attestor names nobody, and Kyverno would take whoever had a certificate logged: name a "
    "key in publicKeys, a certificate in cert, or a subject"
)
_UNREAD: Final = (
    "the signature could not be verified: certificates and issuers of the entries before this one "
    "are not looked at"
)
_NO_PGP: Final = "the signature could not be verified: keys of PGP are not looked at"
_UNLOGGED: Final = "its certificate and its entry of the log are not enough, and no log is asked"
_MISSING: Final = "missing flag '--signature'"
_NO_TYPE: Final = "failed to judge signature type from public key configuration"
_KEY: Final = "-----BEGIN PUBLIC KEY-----"
_PGP: Final = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


@dataclass(slots=True)
class Signers:
    """The signers named by the entries so far: Kyverno keeps those of earlier entries.

    key: as `publicKeys` has it, in PEM or where keys lie; certificate, chain: PEM; subjects,
    issuer: of the last keyless entry. is_key_own, is_certificate_own, is_chain_own: whether the
    entry that is asked named it, for what stood in one before it is no longer to be had.
    """

    key: str = ""
    certificate: str = ""
    chain: str = ""
    subjects: tuple[str, ...] = ()
    issuer: str = ""
    is_key_own: bool = False
    is_certificate_own: bool = False
    is_chain_own: bool = False

    def take(self, method: str | None, body: Body) -> None:
        """Adds what an entry says; body: below its method."""
        self.is_key_own = method == "keys"
        self.is_certificate_own = method == "certificates" and bool(body.get("cert"))
        self.is_chain_own = method == "certificates" and bool(body.get("certChain"))
        if method == "keys":
            self.key = body.get("publicKeys") or ""
        elif method == "certificates":
            self.certificate = body.get("cert") or self.certificate
            self.chain = body.get("certChain") or self.chain
        elif method == "keyless":
            self.subjects = (body.get("subject") or "",)
            self.issuer = body.get("issuer") or ""

    def verify(self, blobs: BlobSource, content: bytes, sets: Sequence[SignatureSet]) -> str:
        """Return the signer, empty for a key; raises EvaluationError if none of them signed, or if
        that is unknown."""
        trials: list[str] = []
        for shown, key, subject in self._identities():
            for number, one in enumerate(sets, 1):
                trial = _Trial(self, blobs, content, one, key)
                signer, reason = trial.run()
                if signer is not None and not key and not self.certificate and not subject:
                    raise EvaluationError(f"{FAILED}: {_ANYBODY}")
                if signer is not None and subject not in ("", signer):
                    reason = (
                        f"signature has been verified, but signer name `{signer}` does not match "
                        f"`{subject}`"
                    )
                elif signer is not None:
                    return signer
                trials.append(f"[{shown}] [signature {number}/{len(sets)}] error: {reason}")
        raise EvaluationError(
            f"{FAILED}: verification failed for {len(sets)} signature. all trials: "
            f"{go_json(trials)}"
        )

    def _identities(self) -> Iterator[tuple[str, str, str]]:
        """Return the name of each signer in messages, its key and its subject; raises
        EvaluationError for keys that lead nowhere."""
        if not self.key:
            for subject in self.subjects or ("",):
                yield "signer 1/1" if subject else "", "", subject
            return
        is_pem = self.key.startswith(_KEY)
        if self.key.startswith(_PGP):
            raise EvaluationError(f"{FAILED}: {_NO_PGP}")
        keys = [self.key] if is_pem else [one.strip() for one in self.key.split(",")]
        for number, key in enumerate(keys, 1):
            if key.startswith(_KEY) and not (is_pem and self.is_key_own):
                # With white space before it, or in a later entry, Kyverno finds no key there.
                raise EvaluationError(f"{FAILED}: {_NO_TYPE}")
            yield f"publickey {number}/{len(keys)}", key, ""

    def fits(self, signer: str) -> bool:
        """Return whether the signer is one of the subjects, if there are any."""
        return not self.subjects or any(matches(one, signer) for one in self.subjects)


@dataclass(frozen=True, slots=True)
class _Trial:
    """One signature against one key, or none."""

    signers: Signers
    blobs: BlobSource
    content: bytes
    one: SignatureSet
    key: str

    def run(self) -> tuple[str | None, str]:
        """Return the signer, or None and the reason; raises EvaluationError if that is unknown."""
        try:
            if self.one.bundle:
                signer = self._logged()
                if signer is not None:
                    return signer, ""
            return self._executed()
        except SignatureError as error:
            return None, error.message
        except LookupFailed as error:
            raise EvaluationError(f"{FAILED}: {error}") from error

    def _logged(self) -> str | None:
        blob = LoggedBlob(self.content, self.one.signature, self.one.certificate, self.one.bundle)
        signers = self.signers
        if self.key or not signers.certificate:
            return self.blobs.logged(blob, self.key)
        is_own = signers.is_certificate_own and (signers.is_chain_own or not signers.chain)
        if not is_own or signers.issuer:
            raise EvaluationError(f"{FAILED}: {_UNREAD}")
        return self.blobs.logged(blob, "", signers.certificate, signers.chain)

    def _executed(self) -> tuple[str | None, str]:
        """Return cosign's verdict without the log's entry."""
        if self.key and self.signers.certificate:
            return None, _EXEC + _BOTH
        if self.signers.certificate:
            return None, _EXEC + _NO_IDENTITY
        if not self.key:
            return None, _EXEC + _NOBODY
        if not self.one.signature:
            return None, _EXEC + _MISSING
        if not self.one.is_plain:
            return None, _UNLOGGED
        if self.signers.chain:
            raise EvaluationError(f"{FAILED}: {_UNREAD}")
        try:
            self.blobs.verify(self.content, _decoded(self.one.signature), self.key)
        except SignatureError as error:
            return None, _EXEC + error.message
        return "", ""


def _decoded(signature: str) -> bytes:
    """Return the signature decoded; text that is not base64 stays as it is."""
    try:
        return decode_base64(signature)
    except Base64Error:
        return signature.encode()
