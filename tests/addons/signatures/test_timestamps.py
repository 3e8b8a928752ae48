"""Time stamps: whose count, of what, and what is wrong with the others."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from chartkit.addons.signatures.trust.timestamps import (
    TimestampAuthority,
    read_authority,
    verify_timestamp,
    verify_token,
    with_ordered_certificates,
)
from chartkit.engine.ports.signatures import SignatureError
from tests.errors import error_of
from tests.signing.authority import NOW, YEAR, authority, der, key_pem, new_key
from tests.signing.authority import pem as pem_of
from tests.signing.tsa import (
    PLAIN,
    Stamp,
    TimestampServer,
    authority_server,
    timestamp_authority,
    timestamp_server,
)

MESSAGE = b"a signature"
CLOCK, CODE = ExtendedKeyUsageOID.TIME_STAMPING, ExtendedKeyUsageOID.CODE_SIGNING


@pytest.fixture(scope="module")
def clock() -> TimestampServer:
    return timestamp_server()


@pytest.fixture(scope="module")
def trusted(clock: TimestampServer) -> TimestampAuthority:
    return read_authority(clock.chain_pem)


def test_an_authority_is_read_from_certificates_in_any_order(clock: TimestampServer) -> None:
    shuffled = pem_of(*reversed(clock.certificates))
    leaf, intermediate, root = clock.certificates
    assert read_authority(shuffled) == TimestampAuthority((root,), (intermediate,), leaf)


@pytest.mark.parametrize("digest", ["sha256", "sha384", "sha512"])
@pytest.mark.parametrize(("embeds", "ordered"), [(True, True), (True, False), (False, True)])
def test_a_time_stamp(
    clock: TimestampServer, trusted: TimestampAuthority, digest: str, embeds: bool, ordered: bool
) -> None:
    stamp = Stamp(NOW, digest, embeds=embeds, ordered=ordered, accuracy=3)
    response = clock.stamp(MESSAGE, stamp)
    found = verify_timestamp(response, MESSAGE, trusted)
    assert (found.time, found.accuracy) == (NOW, timedelta(seconds=3))
    assert list(found.chain) == list(clock.certificates)


def test_certificates_are_put_in_order_and_nothing_else(clock: TimestampServer) -> None:
    response = clock.stamp(MESSAGE, Stamp(ordered=False))
    made = with_ordered_certificates(response)
    listed = sorted(map(der, clock.certificates))
    before, _, after = made.partition(b"".join(listed))
    assert response == before + b"".join(reversed(listed)) + after
    assert with_ordered_certificates(made) == made
    for end in range(len(response)):
        assert with_ordered_certificates(response[:end]) == response[:end]
    for wrong in (b"\x3f\x81\x01\x00", b"\x30\x80\x00\x00", b"\x30\x85" + b"\xff" * 5, b"\x30\x00"):
        assert with_ordered_certificates(wrong) == wrong


def test_a_bare_token_is_a_granted_response(
    clock: TimestampServer, trusted: TimestampAuthority
) -> None:
    found = verify_token(clock.token(MESSAGE), MESSAGE, trusted)
    assert (found.time, found.accuracy) == (NOW, timedelta())
    with pytest.raises(SignatureError, match="error parsing response into Timestamp"):
        verify_token(b"\x30\x03" * 100, MESSAGE, trusted)


def test_the_time_that_counts_is_the_stamp_s() -> None:
    past = timestamp_server(start=NOW - YEAR, lasts=timedelta(days=2))
    trusted = read_authority(past.chain_pem)
    when = NOW - YEAR + timedelta(days=1)
    assert verify_timestamp(past.stamp(MESSAGE, Stamp(when)), MESSAGE, trusted).time == when
    with pytest.raises(
        SignatureError, match="error while verifying signer certificate chain: x509: certificate "
    ):
        verify_timestamp(past.stamp(MESSAGE), MESSAGE, trusted)


def test_certificates_that_come_along_build_the_chain(clock: TimestampServer) -> None:
    alone = TimestampAuthority((clock.certificates[-1],))
    assert verify_timestamp(clock.stamp(MESSAGE), MESSAGE, alone).time == NOW
    bare = clock.stamp(MESSAGE, Stamp(embeds=False))
    with pytest.raises(SignatureError, match="leaf certificate must be present in the TSR"):
        verify_timestamp(bare, MESSAGE, alone)


@dataclass(frozen=True)
class Wrong:
    """says: the beginning of the message."""

    says: str
    stamp: Stamp = PLAIN
    message: bytes = MESSAGE


WRONG = {
    "another message": Wrong("hashed messages don't match", message=b"another"),
    "SHA-1": Wrong("weak hash algorithm: must be SHA-256", Stamp(digest="sha1")),
    "granted with changes": Wrong(
        "the request is granted with modifications:  ()", Stamp(status=1)
    ),
    "rejected": Wrong("the request is rejected:  ()", Stamp(status=2)),
    "no known status": Wrong("unknown status: 9:  ()", Stamp(status=9)),
    "nobody signed": Wrong("signer certificate was not found", Stamp(signers=0)),
    "two signed": Wrong("signer certificate was not found", Stamp(signers=2)),
    "before the certificates": Wrong(
        "error while verifying signer certificate chain: x509: certificate has expired or is not "
        "yet valid: current time ",
        Stamp(NOW - 2 * YEAR),
    ),
    "after the certificates": Wrong(
        "error while verifying signer certificate chain: x509: certificate has expired or is not "
        "yet valid: current time ",
        Stamp(NOW + 2 * YEAR),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_time_stamp_of_a_message(
    clock: TimestampServer, trusted: TimestampAuthority, name: str
) -> None:
    wrong = WRONG[name]
    with pytest.raises(SignatureError) as raised:
        verify_timestamp(clock.stamp(wrong.message, wrong.stamp), MESSAGE, trusted)
    assert raised.value.message.startswith(wrong.says)
    assert "\n" not in raised.value.message


SIGNERS = {
    "a certification authority": (
        authority_server,
        "failed to verify TSA certificate: TSA certificate must be an end-entity certificate",
    ),
    "usages that are not critical": (
        lambda: timestamp_server(critical=False),
        "failed to verify TSA certificate: certificate must set EKU to critical",
    ),
    "two usages": (
        lambda: timestamp_server(usages=(CLOCK, CODE)),
        "failed to verify EKU on leaf certificate: certificate has 2 extended key usages",
    ),
    "another usage": (
        lambda: timestamp_server(usages=(CODE,)),
        "error while verifying signer certificate chain: x509: certificate specifies an "
        "incompatible key usage",
    ),
    "an intermediate for something else": (
        lambda: timestamp_server(above=authority("clocks").intermediate("other", (CODE,))),
        "error while verifying signer certificate chain",
    ),
}


@pytest.mark.parametrize("name", SIGNERS)
def test_who_may_not_stamp(name: str) -> None:
    make, says = SIGNERS[name]
    server = make()
    leaf, *between, root = server.certificates
    trusted = TimestampAuthority((root,), tuple(between), leaf)
    error = error_of(SignatureError, verify_timestamp, server.stamp(MESSAGE), MESSAGE, trusted)
    assert error.message.startswith(says)


def test_whose_time_stamp_does_not_count(
    clock: TimestampServer, trusted: TimestampAuthority
) -> None:
    other = timestamp_server()
    with pytest.raises(SignatureError, match="does not match the provided TSA certificate"):
        verify_timestamp(other.stamp(MESSAGE), MESSAGE, trusted)
    with pytest.raises(
        SignatureError, match="error while verifying signer certificate chain: x509: certificate "
    ):
        verify_timestamp(other.stamp(MESSAGE), MESSAGE, replace(trusted, leaf=None))
    with pytest.raises(SignatureError, match="no root certificates provided"):
        verify_timestamp(clock.stamp(MESSAGE), MESSAGE, replace(trusted, roots=()))


def test_a_time_stamp_that_was_changed(clock: TimestampServer, trusted: TimestampAuthority) -> None:
    good = clock.stamp(MESSAGE)
    refused: list[str] = []
    for place in range(0, len(good), 7):
        broken = good[:place] + bytes((good[place] ^ 0x41,)) + good[place + 1 :]
        try:
            # The certificates beside the signature are not part of what is signed.
            assert verify_timestamp(broken, MESSAGE, trusted).time == NOW
        except SignatureError as error:
            refused.append(error.message)
    assert len(refused) > len(good) // 28
    assert not any("\n" in message for message in refused)


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"\x30\x80" * 500, b"\x30\x84\xff\xff\xff\xff"]
)
def test_timestamps_garbage(trusted: TimestampAuthority, content: bytes) -> None:
    with pytest.raises(SignatureError, match=r"^error parsing response into Timestamp: "):
        verify_timestamp(content, MESSAGE, trusted)


def test_a_time_stamp_with_too_many_certificates(
    clock: TimestampServer, trusted: TimestampAuthority
) -> None:
    others = tuple(authority(f"number {number}").certificate for number in range(30))
    extended = replace(clock.leaf, chain=(*clock.leaf.chain, *others))
    with pytest.raises(SignatureError, match="the timestamp carries 33 certificates"):
        verify_timestamp(TimestampServer(extended).stamp(MESSAGE), MESSAGE, trusted)


def test_chains_that_are_none(clock: TimestampServer) -> None:
    leaf, intermediate, root = clock.certificates
    cases = {
        "TSA certificate chain contains too many certificates (13), maximum allowed is 12": pem_of(
            *[root] * 13
        ),
        "TSA certificate chain contains too many intermediate certificates (11), maximum allowed "
        "is 10": pem_of(*[intermediate] * 11, root),
        "certificate chain must contain at most one TSA certificate": pem_of(leaf, leaf, root),
        "error splitting tsa certificates: error during PEM decoding": "garbage",
        "error splitting tsa certificates: x509: malformed certificate": key_pem(new_key()),
    }
    for says, chain in cases.items():
        assert error_of(SignatureError, read_authority, chain).message == says


def test_a_chain_without_the_clock_s_own_certificate() -> None:
    above = timestamp_authority()
    server = timestamp_server(above=above)
    trusted = read_authority(above.chain_pem)
    assert trusted.leaf is None
    assert verify_timestamp(server.stamp(MESSAGE), MESSAGE, trusted).time == NOW
