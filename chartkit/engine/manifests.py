"""`validate.manifests` rules: is an object the one that somebody signed.

What stands in the rule and in the object's annotations is judged as Kyverno judges it; of a
signature itself the rule says that it could not be verified, and never passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from chartkit.engine.attestor_types import ATTESTOR_TYPES
from chartkit.engine.values.base64_text import Base64Error, decode_base64
from chartkit.engine.values.gofmt import go_json
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, RuleResult, Status

if TYPE_CHECKING:
    from chartkit.engine.context import Context
    from chartkit.engine.handler import Handler
    from chartkit.engine.policy import Policy, Rule
    from chartkit.engine.request import Request

_DOMAIN: Final = "cosign.sigstore.dev"
_END_OF_KEY: Final = "-----END PUBLIC KEY-----"
_NOT_FOUND: Final = "YAML manifest not found for this resource"
_UNVERIFIED: Final = "the signature could not be verified: signatures are not evaluated yet"
_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----")
_METHODS: Final = ("keys", "certificates", "keyless")


@dataclass(slots=True)
class _Signed:
    """An object's annotations, and the bundle of signatures that was named last on the way."""

    annotations: Mapping[str, str]
    domain: str
    bundle: str

    def find(self) -> str | None:
        """Looks for the signed manifest; why there is none, None where one is to be verified.

        Raises EvaluationError where it cannot be read.
        """
        self.bundle = self.annotations.get(f"{self.domain}/resourceBundleRef", self.bundle)
        if self.bundle:
            raise EvaluationError(f"{_NOT_FOUND}: no registry to ask for {self.bundle}")
        message = self.annotations.get(f"{self.domain}/message")
        if message is None:
            return f"{_NOT_FOUND}: message not found"
        try:
            decode_base64(message)
        except Base64Error as error:
            raise EvaluationError(
                f"{_NOT_FOUND}: failed to decode base64 message in the annotation: {error}"
            ) from error
        return None


_Verify = Callable[[_Signed], str]
"""Why an object is not signed as it should be; raises EvaluationError where that is not known."""


def compile_manifests(rule: Rule, policy: Policy) -> Handler:
    """The handler of a manifests rule."""
    body = rule.validate.manifests or {}
    verifies = [
        _compile_set(one, f".attestors[{index}]")
        for index, one in enumerate(body.get("attestors") or ())
    ]
    domain: str = body.get("annotationDomain") or _DOMAIN
    repository: str = body.get("repository") or ""

    def handle(_context: Context, request: Request) -> RuleResult:
        signed = _Signed(_annotations(request.resource.body), domain, repository)
        status, message = _judge(verifies, signed)
        return RuleResult(policy.key, rule.name, rule.kind.type, status, message)

    return handle


def _judge(verifies: Sequence[_Verify], signed: _Signed) -> tuple[Status, str]:
    """The first set of attestors decides: none can be satisfied before signatures are verified."""
    try:
        for verify in verifies:
            return Status.FAIL, verify(signed)
    except EvaluationError as error:
        message = f"error occurred during manifest verification: {error.message}"
        return Status.ERROR, message
    return Status.PASS, "verified manifest signatures; "


def _annotations(body: Body) -> Mapping[str, str]:
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict):
        return {}
    return {key: value for key, value in annotations.items() if isinstance(value, str)}


def _compile_set(body: Body, path: str) -> _Verify:
    entries = [one for entry in body.get("entries") or () for one in _expanded(entry)]
    required = body.get("count") or len(entries)
    verifies = [_compile_entry(one, f"{path}.entries[{i}]") for i, one in enumerate(entries)]

    def verify(signed: _Signed) -> str:
        reasons, errors = [], []
        for verify_one in verifies:
            try:
                reasons.append(verify_one(signed))
            except EvaluationError as error:
                errors.append(error.message)
        if errors:
            raise EvaluationError("; ".join(errors))
        return (
            f"manifest verification failed; verifiedCount 0; requiredCount {required}; "
            f"message {','.join(reasons)}"
        )

    return verify


def _expanded(entry: Body) -> Sequence[Body]:
    """An entry of several public keys is one entry a key."""
    keys = entry.get("keys")
    if keys is None:
        return (entry,)
    parts = (keys.get("publicKeys") or "").split(_END_OF_KEY)[:-1]
    if len(parts) < 2:
        return (entry,)
    return [{**entry, "keys": {**keys, "publicKeys": part + _END_OF_KEY}} for part in parts]


def _compile_entry(entry: Body, path: str) -> _Verify:
    if entry.get("attestor") is not None:
        return _compile_nested(entry["attestor"], path)
    wanted: dict[str, str] = entry.get("annotations") or {}
    repository: str = entry.get("repository") or ""
    method = next((one for one in _METHODS if entry.get(one) is not None), None)
    place = f"{path}.{method}" if method else path
    fault = _roots_fault(entry["keyless"]) if method == "keyless" else None

    def verify(signed: _Signed) -> str:
        _check_annotations(wanted, signed.annotations)
        signed.bundle = repository or signed.bundle
        if fault is not None:
            raise EvaluationError(f"{place}: {fault}")
        try:
            missing = signed.find()
        except EvaluationError as error:
            raise EvaluationError(f"{place}: {error.message}") from error
        if missing is None:
            raise EvaluationError(f"{place}: {_UNVERIFIED}")
        return f"{place}: {missing}"

    return verify


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
        decoded = ATTESTOR_TYPES.decode("v1.AttestorSet", body)
    except EvaluationError as error:
        fault = (
            f"failed to unmarshal nested attestor {path}: failed to unmarshal attestor set "
            f"{go_json(body)}: {error.message}"
        )
        return lambda _signed: _refuse(fault)
    inner = _compile_set(decoded, f"{path}.attestor")

    def verify(signed: _Signed) -> str:
        try:
            return inner(signed)
        except EvaluationError as error:
            raise EvaluationError(
                f"failed to verify signature; {path}.attestor: {error.message}"
            ) from error

    return verify


def _refuse(fault: str) -> NoReturn:
    raise EvaluationError(fault)
