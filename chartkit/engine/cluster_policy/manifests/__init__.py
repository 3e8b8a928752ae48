"""`validate.manifests`: who signed a manifest, and whether the object is what was signed.

Signatures of public keys, and of certificates with a log's entry beside them, are verified, and
what was signed is compared with the object. Of all other signatures the rule says that they could
not be verified, and never passes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.cluster_policy.handler import Handler
from chartkit.engine.cluster_policy.manifests.differences import (
    differences,
    ignored_fields,
    path_of,
    show_differences,
)
from chartkit.engine.cluster_policy.manifests.signed import (
    FAILED,
    NoManifest,
    SignedManifest,
    Signers,
    find_manifest,
    signature_sets,
)
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.ports.signatures import METHODS, expanded, nested_set
from chartkit.engine.ports.world import BlobSource
from chartkit.engine.request import Request
from chartkit.errors import EvaluationError, Reraise, raising
from chartkit.go.fmt import go_json
from chartkit.go.types import Base64Error, decode_base64
from chartkit.model import Body, Json, RuleResult, Status, mapping_at, pointer_of

_DOMAIN: Final = "cosign.sigstore.dev"
_NO_BUNDLE: Final = "manifests in registries are not looked at, only those in annotations"
_NOT_FOUND: Final = "YAML manifest not found for this resource"
_SIGNED: Final = "singed by a valid signer: "
"""As Kyverno spells it; where a key signed, no name follows."""
_DRY_RUN: Final = "allowed because of DryRun request"
_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----")


@dataclass(slots=True)
class _Object:
    """The object that is judged. bundle: the last image with signatures named on the way; ignored:
    fields that may differ from the signed manifest; blobs: who verifies; signers: whom the entries
    named on the way; fields: the pointers of fields that differ from the signed manifest."""

    body: Body
    domain: str
    bundle: str
    ignored: Sequence[str]
    blobs: BlobSource
    budget: Budget
    signers: Signers = field(default_factory=Signers)
    fields: list[str] = field(default_factory=list)
    annotations: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        annotations = mapping_at(self.body, "metadata", "annotations").items()
        self.annotations = {key: value for key, value in annotations if isinstance(value, str)}

    def annotation(self, name: str) -> str:
        """Return the pointer of an annotation of the signature."""
        return pointer_of("metadata", "annotations", f"{self.domain}/{name}")

    def find(self) -> SignedManifest:
        """The signed manifest; raises NoManifest and EvaluationError."""
        self.bundle = self.annotations.get(f"{self.domain}/resourceBundleRef", self.bundle)
        if self.bundle:
            raise EvaluationError(f"{self.bundle} is not asked: {_NO_BUNDLE}")
        return find_manifest(self.body, self.annotations, self.domain)

    def difference(self, signed: SignedManifest) -> str:
        """Return the difference between the object and the signed one; empty for none."""
        body: Body = json.loads(go_json(self.body))
        first = ""
        fields: list[str] = []
        for candidate in signed.candidates:
            self.budget.visit(candidate, "a signed manifest")
            unequal = differences(candidate, body, self.ignored)
            if not unequal:
                return ""
            if not first:
                first = show_differences(unequal)
                paths = (path_of(row.key, body) or path_of(row.key, candidate) for row in unequal)
                fields = [pointer_of(*path) for path in paths if path]
        self.fields += fields
        return first


@dataclass(frozen=True, slots=True)
class _Judged:
    """The presence of a required signature, and Kyverno's words for it."""

    verified: bool
    reason: str


_Verify = Callable[[_Object], _Judged]
"""Raises EvaluationError where that is not known."""


def compile_manifests(rule: Rule, policy: Policy) -> Handler:
    body = rule.validate.manifests or {}
    verifies = [
        _compile_set(attestors, f".attestors[{index}]")
        for index, attestors in enumerate(body.get("attestors") or ())
    ]
    domain: str = body.get("annotationDomain") or _DOMAIN
    repository: str = body.get("repository") or ""
    listed: Sequence[Body] = body.get("ignoreFields") or ()

    def handle(context: Context, request: Request) -> RuleResult:
        kind = rule.kind.type
        if mapping_at(context.data, "request").get("dryRun") is True:
            return RuleResult(policy.key, rule.name, kind, Status.PASS, _DRY_RUN)
        resource = request.resource.body
        fields = ignored_fields(resource, domain, listed)
        judged = _Object(resource, domain, repository, fields, context.world.blobs, context.budget)
        status, message = _judge(verifies, judged)
        differing = tuple(dict.fromkeys(judged.fields)) if status is Status.FAIL else ()
        return RuleResult(policy.key, rule.name, kind, status, message, fields=differing)

    return handle


def _judge(verifies: Sequence[_Verify], judged: _Object) -> tuple[Status, str]:
    """Every set of attestors must be satisfied."""
    reasons: list[str] = []
    for verify in verifies:
        try:
            outcome = verify(judged)
        except EvaluationError as error:
            message = f"error occurred during manifest verification: {error.message}"
            return Status.ERROR, message
        if not outcome.verified:
            return Status.FAIL, outcome.reason
        reasons.append(outcome.reason)
    return Status.PASS, f"verified manifest signatures; {','.join(reasons)}"


def _compile_set(body: Body, path: str) -> _Verify:
    entries = expanded(body.get("entries") or ())
    required: int = body.get("count") or len(entries)
    verifies = [_compile_entry(entry, f"{path}.entries[{i}]") for i, entry in enumerate(entries)]

    def verify(judged: _Object) -> _Judged:
        signed: list[str] = []
        others: list[str] = []
        errors: list[str] = []
        for verify_one in verifies:
            try:
                outcome = verify_one(judged)
            except EvaluationError as error:
                errors.append(error.message)
                continue
            (signed if outcome.verified else others).append(outcome.reason)
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
    method = next((name for name in METHODS if entry.get(name) is not None), None)
    where = f"{path}.{method}" if method else path
    fault = _roots_fault(entry["keyless"]) if method == "keyless" else None
    body: Body = entry[method] if method else {}

    def verify(judged: _Object) -> _Judged:
        _check_annotations(wanted, judged.annotations)
        judged.bundle = repository or judged.bundle
        judged.signers.take(method, body)
        try:
            if fault is not None:
                raise EvaluationError(fault)
            signer, wrong = _asked(judged)
        except NoManifest as error:
            signer, wrong = "", f"{_NOT_FOUND}: {error.message}"
            judged.fields.append(judged.annotation("message"))
        except EvaluationError as error:
            raise EvaluationError(f"{where}: {error.message}") from error
        if wrong is None:
            return _Judged(True, f"{_SIGNED}{signer}")
        return _Judged(False, f"{where}: {wrong}")

    return verify


def _asked(judged: _Object) -> tuple[str, str | None]:
    """Return the signer of an object, and why it is not the signed object; None if it is.

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
        judged.fields.append(judged.annotation("signature"))
        return "", f"{FAILED}: signature not found"
    signer = judged.signers.verify(judged.blobs, signed.content, signatures)
    # Only what somebody signed is worth the comparison.
    if difference := judged.difference(signed):
        return signer, f"{FAILED}. diff found; {difference}"
    if judged.signers.fits(signer):
        return signer, None
    if signer:
        return signer, f"no signer matches with this resource. signed by {signer}"
    return signer, f"{FAILED}."


def _check_annotations(wanted: Mapping[str, str], annotations: Mapping[str, str]) -> None:
    for key, value in sorted(wanted.items()):
        given = annotations.get(key, "")
        if value != given:
            raise EvaluationError(
                f"annotations mismatch: {given} does not match expected value {value} for key {key}"
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
        return raising(EvaluationError, error.message)
    inner = _compile_set(decoded, f"{path}.attestor")

    def verify(judged: _Object) -> _Judged:
        with Reraise(f"{FAILED}; {path}.attestor: ", EvaluationError):
            return inner(judged)

    return verify
