"""`validate.manifests` rules: is an object the one that somebody signed.

Signatures of public keys are verified, and what was signed is compared with the object. Of all
other signatures the rule says that they could not be verified, and never passes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from chartkit.engine.attestor_types import METHODS, expanded, nested_set
from chartkit.engine.manifests.differences import differences, show_differences
from chartkit.engine.manifests.ignored import ignored_fields
from chartkit.engine.manifests.signed import (
    NoManifest,
    SignatureSet,
    SignedManifest,
    find_manifest,
    signature_sets,
)
from chartkit.engine.signatures import BlobSource, SignatureError
from chartkit.engine.values.base64_text import Base64Error, decode_base64
from chartkit.engine.values.gofmt import go_json
from chartkit.errors import EvaluationError, LookupFailed
from chartkit.model import Body, Json, RuleResult, Status

if TYPE_CHECKING:
    from chartkit.engine.context import Context
    from chartkit.engine.handler import Handler
    from chartkit.engine.policy import Policy, Rule
    from chartkit.engine.request import Request

_DOMAIN: Final = "cosign.sigstore.dev"
_NOT_FOUND: Final = "YAML manifest not found for this resource"
_FAILED: Final = "failed to verify signature"
_UNVERIFIED: Final = "the signature could not be verified: public keys in PEM alone are looked at"
_UNLOGGED: Final = "its certificate and its entry of the log are not looked at"
_NO_TYPE: Final = "failed to judge signature type from public key configuration"
_MISSING: Final = "cosign.VerifyBlobCmd.Exec() returned an error: missing flag '--signature'"
_SIGNED: Final = "singed by a valid signer: "
"""As Kyverno spells it, and names nobody where a key signed."""
_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----")
_KEY: Final = "-----BEGIN PUBLIC KEY-----"
_PGP: Final = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


@dataclass(slots=True)
class _Object:
    """The object that is judged. bundle: the image with signatures that was named last on the
    way; ignored: fields that need not be as they were signed; blobs: who verifies."""

    body: Body
    domain: str
    bundle: str
    ignored: Sequence[str]
    blobs: BlobSource
    annotations: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.annotations = _annotations(self.body)

    def find(self) -> SignedManifest:
        """The signed manifest; raises NoManifest and EvaluationError."""
        self.bundle = self.annotations.get(f"{self.domain}/resourceBundleRef", self.bundle)
        if self.bundle:
            raise EvaluationError(f"no registry to ask for {self.bundle}")
        return find_manifest(self.body, self.annotations, self.domain)

    def difference(self, signed: SignedManifest) -> str:
        """How the object differs from what is signed; empty where it does not."""
        body: Body = json.loads(go_json(self.body))
        first = ""
        for candidate in signed.candidates:
            found = differences(candidate, body, self.ignored)
            if not found:
                return ""
            first = first or show_differences(found)
        return first


@dataclass(frozen=True, slots=True)
class _Judged:
    """Whether a signature that is wanted is there, and how Kyverno says that."""

    verified: bool
    reason: str


_Verify = Callable[[_Object], _Judged]
"""Raises EvaluationError where that is not known."""


def compile_manifests(rule: Rule, policy: Policy) -> Handler:
    """The handler of a manifests rule."""
    body = rule.validate.manifests or {}
    verifies = [
        _compile_set(one, f".attestors[{index}]")
        for index, one in enumerate(body.get("attestors") or ())
    ]
    domain: str = body.get("annotationDomain") or _DOMAIN
    repository: str = body.get("repository") or ""
    listed: Sequence[Body] = body.get("ignoreFields") or ()

    def handle(context: Context, request: Request) -> RuleResult:
        resource = request.resource.body
        fields = ignored_fields(resource, domain, listed)
        judged = _Object(resource, domain, repository, fields, context.lookups.blobs)
        status, message = _judge(verifies, judged)
        return RuleResult(policy.key, rule.name, rule.kind.type, status, message)

    return handle


def _judge(verifies: Sequence[_Verify], judged: _Object) -> tuple[Status, str]:
    """Every set of attestors must be satisfied."""
    reasons: list[str] = []
    for verify in verifies:
        try:
            found = verify(judged)
        except EvaluationError as error:
            message = f"error occurred during manifest verification: {error.message}"
            return Status.ERROR, message
        if not found.verified:
            return Status.FAIL, found.reason
        reasons.append(found.reason)
    return Status.PASS, f"verified manifest signatures; {','.join(reasons)}"


def _annotations(body: Body) -> Mapping[str, str]:
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict):
        return {}
    return {key: value for key, value in annotations.items() if isinstance(value, str)}


def _compile_set(body: Body, path: str) -> _Verify:
    entries = expanded(body.get("entries") or ())
    required: int = body.get("count") or len(entries)
    verifies = [_compile_entry(one, f"{path}.entries[{i}]") for i, one in enumerate(entries)]

    def verify(judged: _Object) -> _Judged:
        signed: list[str] = []
        others: list[str] = []
        errors: list[str] = []
        for verify_one in verifies:
            try:
                found = verify_one(judged)
            except EvaluationError as error:
                errors.append(error.message)
                continue
            (signed if found.verified else others).append(found.reason)
            if len(signed) >= required:
                return _Judged(True, _counted("succeeded", signed, len(signed), required))
        if errors:
            raise EvaluationError("; ".join(errors))
        return _Judged(False, _counted("failed", others, len(signed), required))

    return verify


def _counted(outcome: str, reasons: Sequence[str], count: int, required: int) -> str:
    return (
        f"manifest verification {outcome}; verifiedCount {count}; requiredCount {required}; "
        f"message {','.join(reasons)}"
    )


def _compile_entry(entry: Body, path: str) -> _Verify:
    if entry.get("attestor") is not None:
        return _compile_nested(entry["attestor"], path)
    wanted: dict[str, str] = entry.get("annotations") or {}
    repository: str = entry.get("repository") or ""
    method = next((one for one in METHODS if entry.get(one) is not None), None)
    place = f"{path}.{method}" if method else path
    fault = _roots_fault(entry["keyless"]) if method == "keyless" else None
    key: str = (entry["keys"].get("publicKeys") or "") if method == "keys" else ""

    def verify(judged: _Object) -> _Judged:
        _check_annotations(wanted, judged.annotations)
        judged.bundle = repository or judged.bundle
        try:
            if fault is not None:
                raise EvaluationError(fault)
            wrong = _wrong(judged, key)
        except NoManifest as error:
            wrong = f"{_NOT_FOUND}: {error.message}"
        except EvaluationError as error:
            raise EvaluationError(f"{place}: {error.message}") from error
        return _Judged(True, _SIGNED) if wrong is None else _Judged(False, f"{place}: {wrong}")

    return verify


def _wrong(judged: _Object, key: str) -> str | None:
    """Why an object is not the one that a key signed; None where it is.

    Raises NoManifest, and EvaluationError where that is not known.
    """
    try:
        signed = judged.find()
    except NoManifest:
        raise
    except EvaluationError as error:
        raise EvaluationError(f"{_NOT_FOUND}: {error.message}") from error
    signatures = signature_sets(judged.annotations, judged.domain)
    if not signatures:
        return f"{_FAILED}: signature not found"
    if not key or key.startswith(_PGP):
        raise EvaluationError(_UNVERIFIED)
    _check_signatures(judged.blobs, signed.content, signatures, key)
    # Only what the key signed is worth the comparison.
    difference = judged.difference(signed)
    return f"{_FAILED}. diff found; {difference}" if difference else None


def _check_signatures(
    blobs: BlobSource, content: bytes, signatures: Sequence[SignatureSet], key: str
) -> None:
    """Raises EvaluationError where none of the signatures is the key's; key: in PEM, or where keys
    lie, separated by commas."""
    is_pem = key.startswith(_KEY)
    keys = [key] if is_pem else [one.strip() for one in key.split(",")]
    trials: list[str] = []
    for number, each in enumerate(keys, 1):
        if not is_pem and each.startswith(_KEY):
            # With white space before it Kyverno takes a key for the name of a file.
            raise EvaluationError(f"{_FAILED}: {_NO_TYPE}")
        for at, one in enumerate(signatures, 1):
            reason = _refusal(blobs, content, one, each)
            if reason is None:
                return
            place = f"[publickey {number}/{len(keys)}] [signature {at}/{len(signatures)}]"
            trials.append(f"{place} error: {reason}")
    raise EvaluationError(
        f"{_FAILED}: verification failed for {len(signatures)} signature. all trials: "
        f"{go_json(trials)}"
    )


def _refusal(blobs: BlobSource, content: bytes, one: SignatureSet, key: str) -> str | None:
    """Why a signature is not the key's; None where it is. Raises EvaluationError."""
    if not one.signature:
        return _MISSING
    if not one.is_plain:
        return _UNLOGGED
    try:
        blobs.verify(content, _decoded(one.signature), key)
    except SignatureError as error:
        return f"cosign.VerifyBlobCmd.Exec() returned an error: {error.message}"
    except LookupFailed as error:
        raise EvaluationError(f"{_FAILED}: {error}") from error
    return None


def _decoded(signature: str) -> bytes:
    """What is no base64 stands for itself."""
    try:
        return decode_base64(signature)
    except Base64Error:
        return signature.encode()


def _check_annotations(wanted: Mapping[str, str], annotations: Mapping[str, str]) -> None:
    for key, value in sorted(wanted.items()):
        found = annotations.get(key, "")
        if value != found:
            raise EvaluationError(
                f"annotations mismatch: {found} does not match expected value {value} for key {key}"
            )


def _roots_fault(keyless: Body) -> str | None:
    roots: str = keyless.get("roots") or ""
    if not roots:
        return None
    if any(map(_is_certificate, _PEM.findall(roots))):
        return None
    return "failed to load Root certificates: error creating root cert pool"


def _is_certificate(block: str) -> bool:
    try:
        decode_base64("".join(block.split()))
    except Base64Error:
        return False
    return True


def _compile_nested(body: Json, path: str) -> _Verify:
    try:
        decoded = nested_set(body, path)
    except EvaluationError as error:
        fault = error.message
        return lambda _judged: _refuse(fault)
    inner = _compile_set(decoded, f"{path}.attestor")

    def verify(judged: _Object) -> _Judged:
        try:
            return inner(judged)
        except EvaluationError as error:
            raise EvaluationError(f"{_FAILED}; {path}.attestor: {error.message}") from error

    return verify


def _refuse(fault: str) -> NoReturn:
    raise EvaluationError(fault)
