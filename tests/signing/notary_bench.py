"""Images with signatures of every kind, for what verifies them."""

import gzip
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Final

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding
from cryptography.x509.oid import AuthorityInformationAccessOID, NameOID

from chartkit.engine.ports.world import NOBODY_ELSE
from chartkit.model import Body
from chartkit.network.registry.artifacts import Artifacts
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Settings
from tests.signing import notary as kit
from tests.signing.authority import NOW, YEAR, PrivateKey, der, rsa_key
from tests.unit.network.registry.registry_server import Registry, digest_of


@dataclass(frozen=True, slots=True)
class Bench:
    """A repository of one's own with an image, for one case."""

    registry: Registry
    repository: str

    def image(self) -> Body:
        digest = self.registry.add_image(self.repository, "1", {"os": "linux"})
        return self.registry.descriptor(self.repository, digest)

    def sign(
        self,
        holder: kit.Holder,
        signing: kit.Signing = kit.SOUND,
        *,
        is_cose: bool = False,
        content: bytes | None = None,
    ) -> None:
        """A signature of the image, or of other content."""
        signed = kit.payload(self.image()) if content is None else content
        made = (kit.cose if is_cose else kit.jws)(holder, signed, signing)
        self.push(made, kit.COSE if is_cose else kit.JWS)

    def push(self, envelope: bytes, media_type: str = kit.JWS) -> None:
        digest = self.image()["digest"]
        kit.add_signature(self.registry, self.repository, digest, envelope, media_type)


@dataclass(frozen=True, slots=True)
class Case:
    """build: hangs signatures on a bench's image; trusted, chain: the attestor's `cert` and
    `certChain`; reference: what follows the repository, `@` for the image's digest."""

    build: Callable[[Bench], None]
    trusted: Callable[[], str] = field(default=lambda: kit.root().pem)
    chain: Callable[[], str] = str
    reference: str = ":1"


def signed(signing: kit.Signing = kit.SOUND, is_cose: bool = False) -> Callable[[Bench], None]:
    return lambda bench: bench.sign(kit.signer(), signing, is_cose=is_cose)


def by(
    make: Callable[[], kit.Holder], is_cose: bool = False, algorithm: str = ""
) -> Callable[[Bench], None]:
    """Signed by somebody, where the algorithm's name is another one by somebody else's key."""

    def build(bench: Bench) -> None:
        holder = make()
        signing = kit.SOUND
        if algorithm:
            signing = kit.Signing(algorithm=algorithm, chain=tuple(map(der, holder.chain)))
            holder = kit.signer()
        bench.sign(holder, signing, is_cose=is_cose)

    return build


def leaf(wish: kit.Wish) -> Callable[[Bench], None]:
    return by(lambda: kit.certify("signer", kit.intermediate(), wish))


def changed(
    name: str, change: Callable[[str], str], who: Callable[[], kit.Holder] = kit.signer
) -> Callable[[Bench], None]:
    """An envelope whose member is another one."""

    def build(bench: Bench) -> None:
        body = json.loads(kit.jws(who(), kit.payload(bench.image())))
        bench.push(json.dumps({**body, name: change(body[name])}).encode())

    return build


def nobody(_: Bench) -> None:
    """Leaves the image as it is."""


def many(good: int, bad: int) -> Callable[[Bench], None]:
    """Signatures of strangers, and sound ones behind them."""

    def build(bench: Bench) -> None:
        for _ in range(bad):
            bench.sign(kit.stranger())
        for _ in range(good):
            bench.sign(kit.signer())

    return build


def flipped(text: str) -> str:
    """Another letter at the start, of another meaning."""
    return ("B" if text[0] != "B" else "C") + text[1:]


def changed_cose(member: int) -> Callable[[Bench], None]:
    """An envelope whose payload (2) or signature (3) has another byte at its end."""

    def build(bench: Bench) -> None:
        body = cbor2.loads(kit.cose(kit.signer(), kit.payload(bench.image()))).value
        body = [*body[:member], body[member][:-1] + bytes([body[member][-1] ^ 1])]
        whole = cbor2.loads(kit.cose(kit.signer(), kit.payload(bench.image()))).value
        bench.push(cbor2.dumps(cbor2.CBORTag(18, [*body, *whole[member + 1 :]])), kit.COSE)

    return build


def pushed(envelope: bytes, media_type: str = kit.JWS) -> Callable[[Bench], None]:
    return lambda bench: bench.push(envelope, media_type)


def protected(headers: kit.Header) -> kit.Signing:
    return kit.Signing(protected=headers)


def curved(curve: ec.EllipticCurve) -> kit.Holder:
    return kit.certify("signer", kit.intermediate(), key=ec.generate_private_key(curve))


def asked() -> Artifacts:
    """Registries, as nobody in particular."""
    return Registries(Settings()).artifacts(NOBODY_ELSE)


def plain(message: str, image: str) -> str:
    """A message without what differs from run to run. image: its name without tag and digest."""
    message = re.sub(r"sha256:[0-9a-f]{64}", "sha256:…", message.replace(image, "IMAGE"))
    message = message.replace(image.partition("/")[0], "HOST")
    message = re.sub(r"index \d+", "index N", message)
    return re.sub(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} [+-]\d{4}", "TIME", message)


def read_answers(kind: str) -> Mapping[str, str]:
    """What Kyverno 1.19's own program says of each case, by the case's name; empty where it is
    content. Digests, times and what a report has before it are left out."""
    found: Mapping[str, Mapping[str, str]] = json.loads(_ANSWERS.read_text())
    return found[kind]


_ANSWERS: Final = Path(__file__).with_name("notary_answers.json")


def of_key(key: PrivateKey) -> kit.Holder:
    return kit.certify("signer", kit.intermediate(), key=key)


@cache
def alone() -> kit.Holder:
    """Who vouches for himself."""
    return kit.certify("alone")


@cache
def short_path() -> kit.Holder:
    """Two authorities above, of which the root allows for none below it."""
    wish = kit.Wish(is_authority=True, uses=("key_cert_sign",), purposes=(), length=0)
    return kit.certify("x", kit.certify("y", kit.certify("z", wish=wish), kit.ISSUER))


@cache
def under_ed25519() -> kit.Holder:
    key = ed25519.Ed25519PrivateKey.generate()
    return kit.certify("signer", kit.certify("root", wish=kit.ISSUER, key=key))


@cache
def rsa_root() -> kit.Holder:
    return kit.certify("root with RSA", wish=kit.ISSUER, key=rsa_key())


def odd_name() -> kit.Holder:
    """Whose certificate, which is over, names him in many ways."""
    attributes = [
        x509.NameAttribute(NameOID.EMAIL_ADDRESS, "a@b"),
        x509.NameAttribute(NameOID.COMMON_NAME, "first"),
        x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "#one"),
        x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "two "),
        x509.NameAttribute(NameOID.USER_ID, "me"),
        x509.NameAttribute(NameOID.COMMON_NAME, 'a, "b" + é<>;\\'),
        x509.NameAttribute(NameOID.SERIAL_NUMBER, "7"),
        x509.NameAttribute(NameOID.LOCALITY_NAME, "B"),
        x509.NameAttribute(NameOID.STATE_OR_PROVINCE_NAME, "C"),
        x509.NameAttribute(NameOID.STREET_ADDRESS, "D"),
        x509.NameAttribute(NameOID.POSTAL_CODE, "E"),
    ]
    wish = kit.Wish(start=NOW - YEAR, end=NOW - timedelta(days=1))
    return kit.certify(attributes, kit.intermediate(), wish)


def chained(*makers: Callable[[], kit.Holder] | None) -> Callable[[Bench], None]:
    """Signed, with a chain of these; garbage for None."""

    def build(bench: Bench) -> None:
        members = tuple(der(make().certificate) if make else b"x" for make in makers)
        bench.sign(kit.signer(), kit.Signing(chain=members))

    return build


def sign1(*members: object) -> bytes:
    """COSE_Sign1 of anything."""
    return cbor2.dumps(cbor2.CBORTag(18, list(members)))


def without_payload() -> bytes:
    raw, unprotected, _, signature = cbor2.loads(kit.cose(kit.signer(), b"x")).value
    return sign1(raw, unprotected, None, signature)


def salted(is_cose: bool) -> Callable[[Bench], None]:
    """Signed with RSA and a salt that is shorter than the hash."""

    def build(bench: Bench) -> None:
        content, scheme = kit.payload(bench.image()), padding.PSS(padding.MGF1(hashes.SHA256()), 20)
        if is_cose:
            raw, header, payload, _ = cbor2.loads(kit.cose(kit.rsa_signer(), content)).value
            wanted = cbor2.dumps(["Signature1", raw, b"", payload])
            bench.push(
                sign1(raw, header, payload, rsa_key().sign(wanted, scheme, hashes.SHA256())),
                kit.COSE,
            )
            return
        body = json.loads(kit.jws(kit.rsa_signer(), content))
        wanted = f"{body['protected']}.{body['payload']}".encode()
        body["signature"] = kit.encoded64(rsa_key().sign(wanted, scheme, hashes.SHA256()))
        bench.push(json.dumps(body).encode())

    return build


def packed(bench: Bench) -> None:
    """A signature that is packed, which registries do not undo and Kyverno does."""
    bench.push(gzip.compress(kit.jws(kit.signer(), kit.payload(bench.image()))))


def weakly(hashed: bytes) -> Callable[[Bench], None]:
    """Signed, by one whose certificate says that it is signed with another hash than SHA-256."""

    def build(bench: Bench) -> None:
        leaf = der(kit.certify("signer", rsa_root(), key=kit.signer().key).certificate)
        named = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01"
        changed = leaf.replace(named + b"\x0b", named + hashed)
        signing = kit.Signing(chain=(changed, der(rsa_root().certificate)))
        bench.sign(kit.signer(), signing)

    return build


def crowded(count: int) -> Callable[[Bench], None]:
    """Other artifacts beside a signature."""

    def build(bench: Bench) -> None:
        image = bench.image()
        bench.sign(kit.signer())
        listed = bench.registry.referrers(bench.repository, image["digest"])
        listed += [{**image, "artifactType": f"example/{number}"} for number in range(count)]
        bench.registry.list_referrers(bench.repository, image["digest"], listed)

    return build


def layered(count: int) -> Callable[[Bench], None]:
    """A signature of several layers, the first of which is sound."""

    def build(bench: Bench) -> None:
        envelope = kit.jws(kit.signer(), kit.payload(bench.image()))
        layers = [(kit.JWS, envelope)] * count
        kit.attach(bench.registry, bench.repository, bench.image()["digest"], kit.SIGNATURE, layers)

    return build


def without_blob(bench: Bench) -> None:
    envelope = kit.jws(kit.signer(), kit.payload(bench.image()))
    bench.push(envelope)
    del bench.registry.documents[f"/v2/{bench.repository}/blobs/{digest_of(envelope)}"]


PLUGIN: Final = "io.cncf.notary.verificationPlugin"
OCSP: Final = x509.AuthorityInformationAccess(
    [
        x509.AccessDescription(
            AuthorityInformationAccessOID.OCSP,
            x509.UniformResourceIdentifier("http://127.0.0.1:9/ocsp"),
        )
    ]
)
REVOKED: Final = x509.CRLDistributionPoints(
    [
        x509.DistributionPoint(
            [x509.UniformResourceIdentifier("http://127.0.0.1:9/crl")], None, None, None
        )
    ]
)
