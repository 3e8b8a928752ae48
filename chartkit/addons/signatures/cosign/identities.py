"""Identities in certificates: subject, issuer of the identity, further extensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from cryptography import x509

from chartkit.addons.signatures.cosign.layers import SignedLayer
from chartkit.addons.signatures.errors import joined
from chartkit.addons.signatures.trust.certificates import (
    Identity,
    alternative_names,
    extension_values,
)
from chartkit.engine.ports import SignatureError, VerificationRequest
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.go.regexp import Regex, RegexError, compile_regex

_ISSUER: Final = "1.3.6.1.4.1.57264.1.1"
_EXTENSIONS: Final[Mapping[str, str]] = {
    "oidcIssuer": _ISSUER,
    "githubWorkflowTrigger": "1.3.6.1.4.1.57264.1.2",
    "githubWorkflowSha": "1.3.6.1.4.1.57264.1.3",
    "githubWorkflowName": "1.3.6.1.4.1.57264.1.4",
    "githubWorkflowRepository": "1.3.6.1.4.1.57264.1.5",
    "githubWorkflowRef": "1.3.6.1.4.1.57264.1.6",
}
"""Fulcio's extensions that Kyverno knows, by the names that policies may have for them."""


def check_identities(certificate: x509.Certificate, wanted: Sequence[Identity]) -> None:
    """Require a certificate for one of the identities, in which a regular expression takes
    precedence; raises SignatureError."""
    if not wanted:
        return
    issuer = extension_values(certificate).get(_ISSUER, "")
    names = alternative_names(certificate)
    for one in wanted:
        is_issuer = _is(one.issuer, one.issuer_regexp, [issuer], "issuer")
        is_subject = _is(one.subject, one.subject_regexp, names, "subject")
        if is_issuer and is_subject:
            return
    raise SignatureError(
        "none of the expected identities matched what was in the certificate, got subjects "
        f"[{', '.join(names)}] with issuer {issuer}"
    )


def _is(wanted: str, pattern: str, found: Sequence[str], what: str) -> bool:
    if pattern:
        regex = _compile(pattern, f"malformed {what} in identity")
        return any(regex.matches(one) for one in found)
    return not wanted or wanted in found


def _compile(pattern: str, what: str) -> Regex:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise SignatureError(f"{what}: {pattern} : {error}") from None


def match_signatures(layers: Sequence[SignedLayer], question: VerificationRequest) -> None:
    """Require one of the signatures to have the certificate that a ClusterPolicy names. Raises
    SignatureError in Kyverno's words."""
    q = question
    if not any((q.subject, q.subject_regexp, q.issuer, q.issuer_regexp, q.extensions)):
        return
    errors: list[SignatureError] = []
    for layer in layers:
        if layer.certificate is None:
            raise SignatureError("certificate not found")
        try:
            _match(layer.certificate, question)
        except SignatureError as error:
            errors.append(error)
        else:
            return
    raise SignatureError(joined(errors, "; ") or "invalid signature")


def _match(certificate: x509.Certificate, question: VerificationRequest) -> None:
    names = alternative_names(certificate)
    # Require a subject; a certificate without any name passes, as in Kyverno.
    subject, pattern = question.subject, question.subject_regexp
    if (subject or pattern) and names:
        is_match = bool(subject) and any(map(compile_wildcard(subject), names))
        if pattern:
            regex = _compile(pattern, "invalid regexp for subject")
            is_match = is_match or any(regex.matches(one) for one in names)
        if not is_match:
            raise SignatureError(
                f"subject mismatch: expected {subject or pattern}, received {', '.join(names)}"
            )
    extensions = extension_values(certificate)
    issuer = extensions.get(_ISSUER, "")
    if question.issuer and not compile_wildcard(question.issuer)(issuer):
        raise SignatureError(f"issuer mismatch: expected {question.issuer}, received {issuer}")
    if question.issuer_regexp:
        regex = _compile(question.issuer_regexp, "invalid regexp for issuer")
        if not regex.matches(issuer):
            expected = question.issuer_regexp
            raise SignatureError(f"issuer mismatch: expected {expected}, received {issuer}")
    for key, wanted in question.extensions.items():
        identifier = _EXTENSIONS.get(key, key)
        if identifier not in _EXTENSIONS.values():
            raise SignatureError(f"invalid certificate extension {key}")
        found = extensions.get(identifier, "")
        if not compile_wildcard(wanted)(found):
            raise SignatureError(
                f"extension mismatch: expected {wanted} for key {key}, received {found}"
            )
