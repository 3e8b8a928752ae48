"""Trusted roots: the one that is built in, and those of others."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from chartkit.addons.signatures.trust.certificates import is_authority
from chartkit.addons.signatures.trust.trusted_root import (
    Trust,
    TrustedRoots,
    embedded_root,
    read_trusted_root,
)
from chartkit.engine.ports.signatures import SignatureError
from chartkit.model import Body
from tests.signing.authority import NOW, YEAR, CertificateLog, authority
from tests.signing.bundle import Instance
from tests.signing.rekor import Log
from tests.signing.tsa import timestamp_server

_LOG, _CERTIFICATES, _AUTHORITY = Log(), CertificateLog(), authority().intermediate()
_CLOCK = timestamp_server()


def _root(**changes: Any) -> Body:
    instance = Instance((_AUTHORITY,), (_LOG,), (_CERTIFICATES,), (_CLOCK,), **changes)
    made: Body = json.loads(instance.root)
    return made


def test_the_public_instance_is_built_in() -> None:
    trust = embedded_root()
    assert any(one.url == "https://rekor.sigstore.dev" for one in trust.logs.values())
    assert trust.ct_logs
    assert {one.uri for one in trust.authorities} == {"https://fulcio.sigstore.dev"}
    assert all(one.root is not None and is_authority(one.root) for one in trust.authorities)
    assert TrustedRoots()() is trust
    own = Trust()
    assert TrustedRoots(own)() is own


def test_an_instance_is_read() -> None:
    trust = read_trusted_root(json.dumps(_root(end=NOW + YEAR)))
    log = trust.logs[_LOG.identifier]
    assert log.key == _LOG.key.public_key()
    assert log.is_valid(NOW)
    assert not log.is_valid(NOW + 2 * YEAR)
    assert not log.is_valid(NOW - 3 * YEAR)
    assert [one.key for one in trust.ct_logs.values()] == [_CERTIFICATES.key.public_key()]
    (found,) = trust.authorities
    assert (found.root, found.intermediates) == (_AUTHORITY.root, (_AUTHORITY.certificate,))
    (clock,) = trust.timestamp_authorities
    assert clock.leaf is not None
    assert clock.root is not None


def test_an_instance_without_anything_is_one() -> None:
    body = {"mediaType": _root()["mediaType"]}
    assert read_trusted_root(json.dumps(body)) == Trust({}, {}, [], [])


def test_times_may_have_fractions() -> None:
    body = _root()
    body["tlogs"][0]["publicKey"]["validFor"] = {"start": "2021-01-12T11:53:27.123456789Z"}
    (log,) = read_trusted_root(json.dumps(body)).logs.values()
    assert log.start == datetime(2021, 1, 12, 11, 53, 27, 123456, UTC)


def _changed(path: str, value: Any) -> str:
    body = _root()
    *parents, last = path.split(".")
    place: Any = body
    for one in parents:
        place = place[int(one) if one.isdigit() else one]
    place[last] = value
    return json.dumps(body)


_MALFORMED = "failed to proto-json unmarshal trusted root: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", f"{_MALFORMED}it is not JSON"),
        ("[" * 100_000, f"{_MALFORMED}it is not JSON"),
        ("[]", f"{_MALFORMED}it is not an object"),
        ("{}", "unsupported TrustedRoot media type: "),
        (_changed("tlogs", {}), f"{_MALFORMED}tlogs is not a list of objects"),
        (_changed("tlogs", [{}] * 101), f"{_MALFORMED}tlogs has more than 100 members"),
        (_changed("tlogs.0.hashAlgorithm", "X"), "unsupported tlog hash algorithm: X"),
        (_changed("tlogs.0.logId", {}), "tlog missing log ID"),
        (_changed("tlogs.0.logId.keyId", "%"), f"{_MALFORMED}a value is not base64"),
        (_changed("tlogs.0.publicKey.rawBytes", ""), "tlog missing public key raw bytes"),
        (
            _changed("tlogs.0.publicKey.rawBytes", "AAAA"),
            "failed to parse public key for tlog: https://log.example x509: failed to parse "
            "public key",
        ),
        (
            _changed("tlogs.0.publicKey.validFor", None),
            "tlog missing public key validity period",
        ),
        (
            _changed("tlogs.0.publicKey.validFor", {}),
            "tlog missing public key validity period start time",
        ),
        (
            _changed("tlogs.0.publicKey.validFor.start", "soon"),
            f"{_MALFORMED}a time is not valid",
        ),
        (
            _changed("tlogs.0.publicKey.validFor.start", "2021-01-01T00:00:00"),
            f"{_MALFORMED}a time has no zone",
        ),
        (
            _changed("certificateAuthorities.0.certChain.certificates", []),
            "CertificateAuthority cert chain is empty",
        ),
        (
            _changed("certificateAuthorities.0.certChain.certificates", [{"rawBytes": "AAAA"}]),
            "failed to parse certificate for https://fulcio.example x509: malformed certificate",
        ),
    ],
)
def test_what_is_no_trusted_root_is_refused(text: str, message: str) -> None:
    with pytest.raises(SignatureError) as raised:
        read_trusted_root(text)
    assert raised.value.message == message
