"""The signed manifest, as an object's annotations carry it: gzip and base64 of YAML, or of a tar
archive of YAML (k8s-manifest-sigstore)."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.documents.yaml_builder import build_documents
from chartkit.engine.cluster_policy.manifests.differences import leaves, matches
from chartkit.engine.ports.signatures import LoggedBlob, SignatureError
from chartkit.engine.ports.world import BlobSource
from chartkit.errors import EvaluationError, InputError, LookupFailed
from chartkit.go.fmt import UnsupportedValueError, go_json
from chartkit.go.types import Base64Error, decode_base64
from chartkit.model import Body, Json, mapping_at

_MOST_BYTES: Final = 4 * 1024 * 1024
"""The most bytes of an unpacked message; the API server accepts no larger object."""
_MOST_CANDIDATES: Final = 3
_MOST_FILES: Final = 1000
_NOT_READ: Final = "failed to read YAMLs in the gzipped message: "
_NO_MANIFEST: Final = "failed to find a YAML manifest in the gzipped message"


class NoManifest(EvaluationError):  # noqa: N818 - a verdict: nobody signed this object
    """There is no signed manifest of an object; the text is Kyverno's."""


@dataclass(frozen=True, slots=True)
class SignatureSet:
    """One signature of the message, in base64, with the certificate (PEM) and the log's entry that
    stand beside it; empty where they do not."""

    signature: str
    certificate: str = ""
    bundle: str = ""

    @property
    def is_plain(self) -> bool:
        """Report whether nothing but a key is needed."""
        return not (self.certificate or self.bundle)


@dataclass(frozen=True, slots=True)
class SignedManifest:
    """content: the signed bytes; candidates: the manifests in it that may match an object."""

    content: bytes
    candidates: Sequence[Body]


def find_manifest(body: Body, annotations: Mapping[str, str], domain: str) -> SignedManifest:
    """Find an object's signed manifest.

    Raises NoManifest without one, EvaluationError for one that cannot be read.
    """
    message = annotations.get(f"{domain}/message")
    if message is None:
        raise NoManifest("message not found")
    try:
        packed = decode_base64(message)
    except Base64Error as error:
        text = f"failed to decode base64 message in the annotation: {error}"
        raise EvaluationError(text) from error
    content = _unzipped(packed)
    manifests = list(_manifests(content))
    kind = [
        manifest
        for manifest in manifests
        if isinstance(manifest, dict) and manifest.get("kind") == body.get("kind")
    ]
    named = [manifest for manifest in kind if _identity(manifest) == _identity(body)]
    if named:
        same = [manifest for manifest in named if _namespace(manifest) == _namespace(body)]
        candidates: Sequence[Body] = (same if len(named) > 1 and same else named)[:1]
    else:
        wanted = leaves(body)
        counts = [
            sum(wanted.get(key) == value for key, value in leaves(manifest).items())
            for manifest in kind
        ]
        most = max(counts, default=0)
        best = [manifest for manifest, count in zip(kind, counts, strict=True) if count == most]
        candidates = best[:_MOST_CANDIDATES]
    if not candidates:
        raise NoManifest(_NO_MANIFEST)
    return SignedManifest(content, candidates)


def signature_sets(annotations: Mapping[str, str], domain: str) -> Sequence[SignatureSet]:
    """The signatures of an object's message, in order: `signature`, `signature_1` and so on."""
    sets: list[SignatureSet] = []
    suffix = ""
    while (signature := annotations.get(f"{domain}/signature{suffix}")) is not None:
        others = (annotations.get(f"{domain}/{name}{suffix}", "") for name in _OTHERS)
        sets.append(SignatureSet(signature, *map(_unpacked, others)))
        suffix = f"_{len(sets)}"
    return sets


_OTHERS: Final = ("certificate", "bundle")


def _unpacked(text: str) -> str:
    """Return the content of an annotation; never empty if there is one."""
    if not text:
        return ""
    try:
        content = _unzipped(decode_base64(text))
    except Base64Error:
        return "?"
    return content.decode(errors="replace") or "?"


def _unzipped(content: bytes) -> bytes:
    """Return the content unpacked; content that is not gzip is returned unchanged."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            unpacked = stream.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        return content
    if len(unpacked) > _MOST_BYTES:
        raise EvaluationError(f"{_NOT_READ}the message is larger than {_MOST_BYTES} bytes")
    return unpacked


def _manifests(content: bytes) -> Iterator[Json]:
    if documents := _documents(content):
        yield from documents
        return
    if content[:2] != b"\x1f\x8b":
        short = "unexpected EOF" if len(content) < _HEADER else "gzip: invalid header"
        raise EvaluationError(
            f"{_NOT_READ}gzip.NewReader() failed while decompressing tar gz: {short}"
        )
    archive_content = _unzipped(content)
    import tarfile

    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive_content), mode="r:") as archive:
            for member in archive:
                archive_file = archive.extractfile(member) if member.isreg() else None
                if archive_file is not None and not member.name.startswith(".."):
                    files[member.name] = archive_file.read()
                if len(files) > _MOST_FILES:
                    raise EvaluationError(f"{_NOT_READ}more than {_MOST_FILES} files")
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        text = f"tarReader.Next() failed while decompressing tar gz: {error}"
        raise EvaluationError(_NOT_READ + text) from error
    for name, file in sorted(files.items()):
        if name.endswith((".yaml", ".yml")):
            yield from _documents(file)


_HEADER: Final = 10
"""Bytes of a gzip header."""


def _documents(content: bytes) -> Sequence[Json]:
    """The documents before the first one that cannot be read."""
    documents: list[Json] = []
    try:
        for body, *_ in build_documents(content.decode(), "<message>"):
            documents.append(json.loads(go_json(body)))
    except (InputError, UnicodeDecodeError, UnsupportedValueError, RecursionError):
        return documents
    return documents


def _identity(body: Body) -> tuple[str, Json]:
    version = body.get("apiVersion")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return group, mapping_at(body, "metadata").get("name")


def _namespace(body: Body) -> str:
    return mapping_at(body, "metadata").get("namespace") or ""


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
    "the attestor names no identity, and Kyverno would accept any logged certificate: name a "
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
    """The signers named by the entries so far: Kyverno keeps the signers of earlier entries.

    key: as `publicKeys` has it, in PEM or where keys lie; certificate, chain: PEM; subjects,
    issuer: of the last keyless entry. is_key_own, is_certificate_own, is_chain_own: whether the
    current entry named it, because values of earlier entries are no longer available.
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
        """Add the fields of an entry; body: the part below its method."""
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
            for number, signature_set in enumerate(sets, 1):
                trial = _Trial(self, blobs, content, signature_set, key)
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
        keys = [self.key] if is_pem else [text.strip() for text in self.key.split(",")]
        for number, key in enumerate(keys, 1):
            if key.startswith(_KEY) and not (is_pem and self.is_key_own):
                # With white space before it, or in a later entry, Kyverno finds no key there.
                raise EvaluationError(f"{FAILED}: {_NO_TYPE}")
            yield f"publickey {number}/{len(keys)}", key, ""

    def fits(self, signer: str) -> bool:
        """Report whether the signer is one of the subjects, if there are any."""
        return not self.subjects or any(matches(subject, signer) for subject in self.subjects)


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
                # The signature decoded; text that is not base64 is returned unchanged.
                try:
                    decoded = decode_base64(self.one.signature)
                except Base64Error:
                    decoded = self.one.signature.encode()
                self.blobs.verify(self.content, decoded, self.key)
            except SignatureError as error:
                return None, _EXEC + error.message
            return "", ""
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
