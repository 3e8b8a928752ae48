"""Certificates in PEM; what is in them is tested where they are decoded."""

from __future__ import annotations

import pytest

from chartkit.go.x509.certificates import CertificateError, decode_pem


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
