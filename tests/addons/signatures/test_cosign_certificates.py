"""Certificates that come with cosign's signatures, or that a ClusterPolicy gives."""

import base64
from datetime import timedelta
from typing import Any

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.addons.signatures.cosign_bench import ISSUER, Bench, Changes, Shape, no_changes, said
from tests.signing.authority import (
    NOW,
    YEAR,
    CertificateLog,
    PrivateKey,
    authority,
    key_pem,
    rsa_key,
)
from tests.signing.cosign import CHAIN, Signer
from tests.signing.tsa import timestamp_server

_MISMATCH = "subject mismatch: expected {}, received me@example.com"
_TRIGGER = {"1.3.6.1.4.1.57264.1.2": b"push"}


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, ""),
        ({"subject": "", "issuer": ""}, ""),
        ({"subject": "*@example.com", "issuer": "https://*"}, ""),
        ({"subject": "", "subject_regexp": "^me@"}, ""),
        ({"subject": "you@*", "subject_regexp": "^me@"}, ""),
        ({"issuer": "", "issuer_regexp": "issuer"}, ""),
        ({"extensions": {"githubWorkflowTrigger": "p*"}}, ""),
        ({"extensions": {"1.3.6.1.4.1.57264.1.2": "push"}}, ""),
        ({"subject": "you@*"}, _MISMATCH.format("you@*")),
        ({"subject": "", "subject_regexp": "^you"}, _MISMATCH.format("^you")),
        (
            {"issuer": "https://other"},
            f"issuer mismatch: expected https://other, received {ISSUER}",
        ),
        ({"issuer_regexp": "^other"}, f"issuer mismatch: expected ^other, received {ISSUER}"),
        (
            {"extensions": {"githubWorkflowTrigger": "x"}},
            "extension mismatch: expected x for key githubWorkflowTrigger, received push",
        ),
        ({"extensions": {"team": "x"}}, "invalid certificate extension team"),
        (
            {"subject_regexp": "(", "subject": ""},
            "invalid regexp for subject: ( : error parsing regexp: missing closing ): `(`",
        ),
    ],
)
def test_cosign_certificates_identities(bench: Bench, changes: dict[str, Any], wanted: str) -> None:
    leaf = bench.issue(extensions=_TRIGGER)
    image = bench.signed(Signer.of(leaf, bench.log).signature)
    assert said(bench, bench.by_identity(image, **changes)) == wanted


_PATH = (
    ". Check your TUF root (see cosign initialize) or set a custom root with env var "
    "SIGSTORE_ROOT_FILE"
)
_EARLY = NOW - YEAR
_SHORT = {"start": _EARLY, "lasts": timedelta(minutes=10)}
_INSIDE = _EARLY + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("shape", "changes", "wanted"),
    [
        (
            lambda b: b.keyless.signature,
            lambda _: {"roots": authority("stranger").root_pem},
            f"cert verification failed: x509: certificate signed by unknown authority{_PATH}",
        ),
        (
            lambda b: lambda d: b.keyless.signature(d).without(CHAIN),
            no_changes,
            f"cert verification failed: x509: certificate signed by unknown authority{_PATH}",
        ),
        (
            lambda b: Signer.of(b.issue(usages=[ExtendedKeyUsageOID.CLIENT_AUTH]), b.log).signature,
            no_changes,
            "cert verification failed: x509: certificate specifies an incompatible key usage. ",
        ),
        (lambda b: b.signer.signature, no_changes, "error verifying bundle: empty key"),
        (
            lambda b: b.signer.signature,
            lambda _: {"ignores_log": True},
            "no certificate found on signature",
        ),
        (
            lambda b: b.keyless.signature,
            lambda _: {"ctlog_key": CertificateLog().pem},
            "ctfe public key not found for payload. Check your TUF root (see cosign initialize) or "
            "set a custom key with env var SIGSTORE_CT_LOG_PUBLIC_KEY_FILE",
        ),
        (
            lambda b: Signer.of(b.issue(log=None), b.log).signature,
            no_changes,
            "certificate does not include required embedded SCT and no detached SCT was set",
        ),
        (
            lambda b: lambda d: b.keyless.signature(d).having(certificate="no"),
            no_changes,
            "error during PEM decoding",
        ),
        (
            lambda b: Signer.of(b.issue(**_SHORT), b.log, NOW).signature,
            no_changes,
            "checking expiry on certificate with bundle: certificate expired before observed ",
        ),
        (
            lambda b: Signer.of(b.issue(**_SHORT), b.log, _EARLY - YEAR).signature,
            no_changes,
            "checking expiry on certificate with bundle: certificate was issued after observed ",
        ),
        (
            lambda b: Signer.of(b.issue(**_SHORT)).signature,
            lambda _: {"ignores_log": True},
            "expected a signed timestamp to verify an expired certificate",
        ),
    ],
)
def test_certificates_that_do_not_hold(
    bench: Bench, shape: Shape, changes: Changes, wanted: str
) -> None:
    image = bench.signed(shape(bench))
    message = said(bench, bench.by_identity(image, **changes(bench)))
    assert message.startswith(f"no matching signatures: {wanted}")


def test_promises_of_another_certificate(bench: Bench) -> None:
    class Liar(CertificateLog):
        __slots__ = ()

        def promises(self, precertificate: bytes, issuer: PrivateKey, at: Any) -> bytes:
            return CertificateLog.promises(self, precertificate + b"x", issuer, at)

    leaf = bench.issue(log=Liar(bench.certificates.key))
    image = bench.signed(Signer.of(leaf, bench.log).signature)
    wrong = "error verifying embedded SCT: failed to verify ECDSA signature"
    assert said(bench, bench.by_identity(image)) == f"no matching signatures: {wrong}"
    assert said(bench, bench.by_identity(image, ignores_sct=True)) == ""


def test_a_certificate_that_was_valid_when_it_was_logged(bench: Bench) -> None:
    leaf = bench.issue(**_SHORT)
    image = bench.signed(Signer.of(leaf, bench.log, _INSIDE).signature)
    assert said(bench, bench.by_identity(image)) == ""


_UNSEEN = "no matching signatures: unable to verify RFC3161 timestamp bundle: "


@pytest.mark.parametrize(
    ("shape", "changes", "wanted"),
    [
        (_INSIDE, lambda b: {"tsa_chain": b.clock.chain_pem}, ""),
        (
            NOW,
            lambda b: {"tsa_chain": b.clock.chain_pem},
            "no matching signatures: checking expiry on certificate with timestamp: certificate "
            "expired before observed time: ",
        ),
        (_INSIDE, lambda _: {"tsa_chain": timestamp_server().chain_pem}, _UNSEEN),
        (
            _INSIDE,
            lambda b: {"tsa_chain": b.clock.leaf.pem},
            f"{_UNSEEN}no TSA root certificate(s) ",
        ),
        (_INSIDE, lambda _: {"tsa_chain": "no"}, "error splitting tsa certificates: "),
    ],
)
def test_certificates_that_a_clock_saw(
    bench: Bench, shape: Any, changes: Changes, wanted: str
) -> None:
    leaf = bench.issue(**_SHORT)
    signer = Signer(leaf.key, leaf=leaf, clock=bench.clock, at=shape)
    image = bench.signed(signer.signature)
    message = said(bench, bench.by_identity(image, ignores_log=True, **changes(bench)))
    assert message.startswith(wanted)
    assert bool(message) is bool(wanted)


@pytest.mark.parametrize("text", ["no", "[]", '{"SignedRFC3161Timestamp": "AAAA"}'])
def test_time_stamps_that_are_none(bench: Bench, text: str) -> None:
    image = bench.signed(lambda digest: bench.keyless.signature(digest).having(timestamp=text))
    question = bench.by_identity(image, tsa_chain=bench.clock.chain_pem)
    assert "RFC3161 timestamp bundle: " in said(bench, question)


def test_certificates_of_a_policy(bench: Bench) -> None:
    image = bench.signed(bench.keyless.signature)
    plain = {"key": "", "ctlog_key": bench.certificates.pem}
    assert said(bench, bench.by_key(image, **plain, cert=bench.leaf.pem)) == ""
    in_base64 = base64.b64encode(bench.leaf.pem.encode()).decode()
    assert said(bench, bench.by_key(image, **plain, cert=in_base64)) == ""
    roots = bench.by_key(image, **plain, cert_chain=bench.root.root_pem)
    assert said(bench, roots) == ""
    for changes, wanted in (
        ({"cert": "no"}, "failed to load certificate from no: failed to unmarshal certificate "),
        ({"cert": " "}, "failed to load certificate from  : no certs found in pem file"),
        ({"cert_chain": "no"}, "failed to load certificates: error creating root cert pool"),
        ({"roots": "no"}, "failed to load Root certificates: error creating root cert pool"),
    ):
        assert said(bench, bench.by_key(image, **plain, **changes)).startswith(wanted)


def test_a_certificate_with_its_chain_never_verifies(bench: Bench) -> None:
    """Kyverno 1.19 looks for a log's key before it has read the policy's."""
    image = bench.signed(bench.keyless.signature)
    what = "failed to load validate certificate chain"
    unlogged = bench.issue(log=None)
    for leaf, chain, wanted in (
        (bench.leaf, bench.leaf.chain_pem, f"{what}: none of the CTFE keys have been found"),
        (unlogged, unlogged.chain_pem, f"{what}: certificate does not include required embedded "),
        (bench.leaf, bench.root.root_pem, f"{what}: cert verification failed: "),
        (bench.leaf, "no", "failed to load certificate chain: error during PEM decoding"),
        (bench.leaf, " ", f"{what}: no chain provided to validate certificate"),
        (bench.leaf, bench.leaf.chain_pem * 6, "certificate chain too long (12), maximum "),
    ):
        question = bench.by_key(image, key="", cert=leaf.pem, cert_chain=chain)
        assert said(bench, question).startswith(wanted)


def test_logs_whose_keys_are_none(bench: Bench) -> None:
    image = bench.signed(bench.signer.signature)
    for changes, wanted in (
        (
            {"rekor_key": "no"},
            "failed to load Rekor public keys: failed to get rekor public keys: ",
        ),
        (
            {"ignores_sct": False, "ctlog_key": "no"},
            "failed to load CTLogs public keys: failed to get transparency log public keys: ",
        ),
    ):
        message = said(bench, bench.by_key(image, **changes))
        assert message == f"{wanted}PEM decoding failed"
    message = said(bench, bench.by_key(image, rekor_key=key_pem(rsa_key())))
    assert message.startswith("no matching signatures: error verifying bundle: ")


def test_without_keys_of_its_own_a_policy_trusts_the_public_instance(bench: Bench) -> None:
    image = bench.signed(bench.keyless.signature)
    message = said(bench, bench.by_identity(image, rekor_key=""))
    wanted = "verifying bundle: rekor log public key not found for payload"
    assert message == f"no matching signatures: error verifying bundle: {wanted}"
    assert "signed by unknown authority" in said(bench, bench.by_identity(image, roots=""))
    assert "ctfe public key not found" in said(bench, bench.by_identity(image, ctlog_key=""))
