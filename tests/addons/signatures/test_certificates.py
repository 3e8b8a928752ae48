"""Certificates: ways to a root, times, and whom they are for."""

from collections.abc import Sequence
from datetime import timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from chartkit.addons.signatures.errors import UndecidedError
from chartkit.addons.signatures.trust.certificates import (
    CODE_SIGNING,
    TIME_STAMPING,
    alternative_names,
    check_expiry,
    extension_values,
    is_authority,
    read_certificate,
    read_certificates,
    read_pool,
    verify_chain,
)
from chartkit.engine.ports.signatures import SignatureError
from tests.errors import error_of
from tests.signing.authority import ISSUER, NOW, YEAR, PrivateKey, authority, der, new_key, pem, tlv

_ROOT = authority()
_BETWEEN = _ROOT.intermediate()
_LOWER = _BETWEEN.intermediate("lower")
_LEAF = _LOWER.leaf(email="me@example.com", issuer="https://issuer.example")
_UNKNOWN = "x509: certificate signed by unknown authority"


def _chain(
    leaf: x509.Certificate,
    roots: Sequence[x509.Certificate],
    between: Sequence[x509.Certificate] = (),
    usage: x509.ObjectIdentifier = CODE_SIGNING,
) -> list[x509.Certificate]:
    return verify_chain(leaf, roots=roots, intermediates=between, at=NOW, usage=usage)


def test_a_way_leads_from_a_leaf_to_a_root() -> None:
    between = (_LOWER.certificate, _BETWEEN.certificate)
    found = _chain(_LEAF.certificate, [_ROOT.certificate], between)
    assert found == [_LEAF.certificate, *between, _ROOT.certificate]
    assert _chain(_LEAF.certificate, [_LOWER.certificate]) == found[:2]


def test_a_stranger_and_a_gap_are_refused() -> None:
    for roots, between in (
        ([authority("stranger").certificate], [_LOWER.certificate, _BETWEEN.certificate]),
        ([_ROOT.certificate], [_LOWER.certificate]),
        ([_ROOT.certificate], []),
        ([], [_LOWER.certificate, _BETWEEN.certificate]),
    ):
        error = error_of(SignatureError, _chain, _LEAF.certificate, roots, between)
        assert error.message == _UNKNOWN


def test_who_has_the_name_of_an_issuer_is_named() -> None:
    with pytest.raises(SignatureError) as raised:
        _chain(
            _LEAF.certificate, [authority().certificate], [_LOWER.certificate, _BETWEEN.certificate]
        )
    assert raised.value.message == (
        f'{_UNKNOWN} (possibly because of "x509: ECDSA verification failure" while trying to '
        'verify candidate authority certificate "root")'
    )


def _issue(
    by: x509.Certificate,
    key: PrivateKey,
    *extensions: x509.ExtensionType,
    start: timedelta = timedelta(),
    name: str = "odd",
    own: PrivateKey | None = None,
    is_critical: bool = True,
) -> tuple[PrivateKey, x509.Certificate]:
    """A certificate with some extensions; start: from now on."""
    held = own or new_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(by.subject)
        .public_key(held.public_key())
        .serial_number(7)
        .not_valid_before(NOW + start)
        .not_valid_after(NOW + start + YEAR)
    )
    for one in extensions:
        builder = builder.add_extension(one, critical=is_critical)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return held, builder.sign(key, algorithm)


_CA = x509.BasicConstraints(ca=True, path_length=None)
_MAIL = x509.SubjectAlternativeName([x509.RFC822Name("a@example.com")])
_STRANGE = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\5\0")
_SIGNS = _LEAF.certificate.extensions.get_extension_for_class(x509.KeyUsage).value
_OTHERS = x509.NameConstraints([x509.RFC822Name("other.example")], None)


@pytest.mark.parametrize(
    ("between", "below", "wanted"),
    [
        ([_CA], [_STRANGE], "x509: unhandled critical extension"),
        ([], [], f'{_UNKNOWN} (possibly because of "x509: invalid signature: parent certificate '),
        (
            [_CA, _SIGNS],
            [],
            f'{_UNKNOWN} (possibly because of "x509: invalid signature: parent certificate ',
        ),
        ([_CA, _OTHERS], [_MAIL], "x509: a root or intermediate certificate is not authorized "),
    ],
)
def test_what_is_wrong_with_a_way_is_said(
    between: list[x509.ExtensionType], below: list[x509.ExtensionType], wanted: str
) -> None:
    key, middle = _issue(_ROOT.certificate, _ROOT.key, *between)
    _, leaf = _issue(middle, key, *below, name="leaf")
    error = error_of(SignatureError, _chain, leaf, [_ROOT.certificate], [middle])
    assert error.message.startswith(wanted)


@pytest.mark.parametrize(
    "odd",
    [
        x509.CRLDistributionPoints(
            [x509.DistributionPoint([x509.UniformResourceIdentifier("u:v")], None, None, None)]
        ),
        x509.CertificatePolicies([x509.PolicyInformation(x509.ObjectIdentifier("1.2.3"), None)]),
        x509.NameConstraints([x509.UniformResourceIdentifier("example.com")], None),
        x509.PolicyConstraints(0, None),
    ],
)
@pytest.mark.parametrize("is_critical", [True, False])
def test_ways_that_the_library_alone_refuses_are_no_verdict(
    odd: x509.ExtensionType, is_critical: bool
) -> None:
    key, middle = _issue(_ROOT.certificate, _ROOT.key, _CA, odd, is_critical=is_critical)
    url = x509.SubjectAlternativeName([x509.UniformResourceIdentifier("https://example.com")])
    _, leaf = _issue(middle, key, url, name="leaf")
    is_unknown = isinstance(odd, x509.PolicyConstraints | x509.NameConstraints)
    if not (is_critical or is_unknown):
        assert len(_chain(leaf, [_ROOT.certificate], [middle])) == 3
        return
    with pytest.raises(UndecidedError, match='"root" are of a kind that is not verified here'):
        _chain(leaf, [_ROOT.certificate], [middle])


def test_extensions_that_are_never_critical() -> None:
    identifier = x509.SubjectKeyIdentifier(b"identifier")
    _, made = _issue(_ROOT.certificate, _ROOT.key, identifier)
    wrong = "x509: subject key identifier incorrectly marked critical"
    with pytest.raises(SignatureError, match=wrong):
        read_certificate(der(made))


def test_ways_that_are_too_long_or_of_another_time() -> None:
    short = x509.BasicConstraints(ca=True, path_length=0)
    key, upper = _issue(_ROOT.certificate, _ROOT.key, short, name="upper")
    lower_key, lower = _issue(upper, key, _CA, name="lower one")
    _, leaf = _issue(lower, lower_key, _MAIL, name="leaf")
    with pytest.raises(SignatureError, match="x509: too many intermediates for path length"):
        _chain(leaf, [_ROOT.certificate], [upper, lower])
    for start, side in ((-2 * YEAR, "after"), (YEAR, "before")):
        key, middle = _issue(_ROOT.certificate, _ROOT.key, _CA, start=start)
        _, leaf = _issue(middle, key, _MAIL, name="leaf")
        error = error_of(SignatureError, _chain, leaf, [_ROOT.certificate], [middle])
        limit = NOW - YEAR if side == "after" else NOW + YEAR
        assert error.message == (
            "x509: certificate has expired or is not yet valid: current time "
            f"{NOW:%Y-%m-%dT%H:%M:%SZ} is {side} {limit:%Y-%m-%dT%H:%M:%SZ}"
        )


def test_authorities_of_a_kind_that_is_not_verified_are_no_verdict() -> None:
    own = ed25519.Ed25519PrivateKey.generate()
    _, root = _issue(_ROOT.certificate, own, _CA, own=own, name="root")
    _, leaf = _issue(root, own, _MAIL, name="leaf")
    with pytest.raises(UndecidedError, match="of a kind that is not verified here"):
        _chain(leaf, [root])


def test_usages_count_along_the_whole_way() -> None:
    wrong = "x509: certificate specifies an incompatible key usage"
    between = [_BETWEEN.certificate]
    client = _BETWEEN.leaf(email="a@example.com", usages=[ExtendedKeyUsageOID.CLIENT_AUTH])
    with pytest.raises(SignatureError, match=wrong):
        _chain(client.certificate, [_ROOT.certificate], between)
    everything = _BETWEEN.leaf(
        email="a@example.com", usages=[ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]
    )
    assert len(_chain(everything.certificate, [_ROOT.certificate], between)) == 3
    clock = _BETWEEN.leaf(name="clock", usages=[ExtendedKeyUsageOID.TIME_STAMPING])
    with pytest.raises(SignatureError, match=wrong):
        _chain(clock.certificate, [_ROOT.certificate], between, TIME_STAMPING)


def test_times_of_all_certificates_count() -> None:
    short = _ROOT.leaf(email="a@example.com", start=NOW, lasts=timedelta(minutes=10))
    issuers = [_ROOT.certificate]
    check_expiry(short.certificate, issuers, NOW)
    later, earlier = NOW + timedelta(minutes=11), NOW - timedelta(seconds=1)
    for at, message in (
        (later, "certificate expired before observed time: "),
        (earlier, "certificate was issued after observed time: "),
    ):
        with pytest.raises(SignatureError, match=f"^{message}"):
            check_expiry(short.certificate, issuers, at)
    far = NOW + 6 * YEAR
    long = _ROOT.leaf(email="a@example.com", start=NOW - 10 * YEAR, lasts=20 * YEAR)
    error = error_of(SignatureError, check_expiry, long.certificate, issuers, far)
    last = _ROOT.certificate.not_valid_after_utc
    assert error.message == (
        f"issuing CA certificate expired before observed time: {last:%Y-%m-%dT%H:%M:%SZ} is "
        f"before {far:%Y-%m-%dT%H:%M:%SZ}"
    )
    with pytest.raises(SignatureError, match="issuing CA certificate was issued after observed"):
        check_expiry(long.certificate, issuers, NOW - 9 * YEAR)


def test_names_and_extensions() -> None:
    assert alternative_names(_LEAF.certificate) == ["me@example.com"]
    assert extension_values(_LEAF.certificate)[ISSUER] == "https://issuer.example"
    assert alternative_names(_ROOT.certificate) == []
    assert is_authority(_ROOT.certificate)
    assert not is_authority(_LEAF.certificate)


def test_names_of_every_kind_in_their_order() -> None:
    key = new_key()
    other = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.7")
    names = [
        x509.UniformResourceIdentifier("https://example.com"),
        x509.OtherName(other, tlv(0x0C, b"somebody")),
        x509.IPAddress(ip_address("192.0.2.1")),
        x509.RFC822Name("a@example.com"),
        x509.DNSName("example.com"),
    ]
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(x509.Name([]))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + YEAR)
        .add_extension(x509.SubjectAlternativeName(names), critical=True)
        .sign(key, hashes.SHA256())
    )
    wanted = ["example.com", "a@example.com", "192.0.2.1", "https://example.com", "somebody"]
    assert alternative_names(made) == wanted


def test_certificates_are_read() -> None:
    both = [_LEAF.certificate, _ROOT.certificate]
    assert read_certificates(pem(*both)) == both
    assert read_certificates(" \n") == []
    assert read_pool(f"text\n{pem(*both)}") == both
    nothing = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    assert read_pool(nothing + pem(*both)) == both
    for text, message in (
        (nothing, "x509: malformed certificate"),
        ("text", "error during PEM decoding"),
        (f"{pem(*both)}text", "error during PEM decoding"),
    ):
        assert error_of(SignatureError, read_certificates, text).message == message
    for text in ("", nothing, "text"):
        with pytest.raises(SignatureError, match="error creating root cert pool"):
            read_pool(text)


def test_every_cut_of_a_certificate_is_refused() -> None:
    content = der(_LEAF.certificate)
    for end in range(0, len(content), 7):
        with pytest.raises(SignatureError, match="x509: malformed certificate"):
            read_certificate(content[:end])
