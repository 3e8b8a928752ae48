"""Certificates in PEM; what is in them is tested where they are decoded."""

import sys
from pathlib import Path

import pytest

from chartkit.go.x509 import CertificateError, decode_pem, holds_certificate
from tests.self_signed import self_signed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bad", "failed to decode PEM block"),
        ("-----BEGIN FOO-----\nYQ==\n-----END FOO-----", "PEM block neither contains"),
        ("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----", "malformed certificate"),
        ("-----BEGIN CERTIFICATE-----\nY$\n-----END CERTIFICATE-----", "failed to decode"),
    ],
)
def test_what_is_no_certificate_is_refused(text: str, message: str) -> None:
    with pytest.raises(CertificateError, match=message):
        decode_pem(text)


def test_without_its_package_certificates_are_a_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(CertificateError, match="package cryptography: install"):
        decode_pem("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----")


def test_the_blocks_that_are_certificates_are_found(tmp_path: Path) -> None:
    broken = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
    assert not holds_certificate(broken)
    assert holds_certificate(broken + self_signed(tmp_path).read_text())
