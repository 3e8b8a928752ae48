"""Signs descriptors as notation does and hangs signatures and artifacts on images.

An envelope is JWS in flattened JSON or COSE_Sign1, a signature a manifest of its own whose subject
is what it speaks of.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from jwt.algorithms import get_default_algorithms

from chartkit.model import Body
from tests.signing.authority import NOW, YEAR, PrivateKey, der, new_key, pem, rsa_key
from tests.unit.network.registry.registry_server import Registry

SIGNATURE = "application/vnd.cncf.notary.signature"
PAYLOAD = "application/vnd.cncf.notary.payload.v1+json"
JWS, COSE = "application/jose+json", "application/cose"
X509, AUTHORITY = "notary.x509", "notary.x509.signingAuthority"
CRITICAL, SCHEME = "crit", "io.cncf.notary.signingScheme"
SIGNED_AT, SIGNED_FOR_SURE_AT = "io.cncf.notary.signingTime", "io.cncf.notary.authenticSigningTime"
EXPIRY, STAMP = "io.cncf.notary.expiry", "io.cncf.notary.timestampSignature"

_LABELS: Mapping[str, int] = {"alg": 1, CRITICAL: 2, "cty": 3}
_ALGORITHMS: Mapping[str, int] = {
    "ES256": -7,
    "ES384": -35,
    "ES512": -36,
    "PS256": -37,
    "PS384": -38,
    "PS512": -39,
}
_CHAIN = 33
Header = Mapping[object, object]


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has a certificate. chain: the own one first, the root last."""

    key: PrivateKey
    chain: tuple[x509.Certificate, ...]

    @property
    def certificate(self) -> x509.Certificate:
        return self.chain[0]

    @property
    def pem(self) -> str:
        """The own certificate."""
        return pem(self.certificate)

    @property
    def algorithm(self) -> str:
        """What signs with the key, as JWS names it."""
        if isinstance(self.key, rsa.RSAPrivateKey):
            return {3072: "PS384", 4096: "PS512"}.get(self.key.key_size, "PS256")
        if isinstance(self.key, ec.EllipticCurvePrivateKey):
            return {384: "ES384", 521: "ES512"}.get(self.key.curve.key_size, "ES256")
        return "EdDSA"


def usage(*names: str) -> x509.KeyUsage:
    """Uses of a key, by the names that `cryptography` has for them."""
    known = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**{name: name in names for name in known})


@dataclass(frozen=True, slots=True)
class Wish:
    """What a certificate says. uses: of the key, None for no such extension; purposes: extended
    uses; length: of the path below; further: extensions besides."""

    is_authority: bool = False
    uses: tuple[str, ...] | None = ("digital_signature",)
    uses_critical: bool = True
    purposes: tuple[x509.ObjectIdentifier, ...] = (ExtendedKeyUsageOID.CODE_SIGNING,)
    length: int | None = None
    start: datetime = NOW - timedelta(minutes=5)
    end: datetime = NOW + YEAR
    further: tuple[x509.ExtensionType, ...] = ()


LEAF = Wish()
ISSUER = Wish(
    is_authority=True, uses=("key_cert_sign", "crl_sign"), purposes=(), start=NOW - 2 * YEAR
)


def certify(
    name: str | Sequence[x509.NameAttribute[str]],
    above: Holder | None = None,
    wish: Wish = LEAF,
    key: PrivateKey | None = None,
) -> Holder:
    """A certificate. name: the common one, or all of them; above: who vouches for it, nobody else
    where None is given."""
    own = key or new_key()
    subject = x509.Name(_names(name) if isinstance(name, str) else name)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(above.certificate.subject if above else subject)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(wish.start)
        .not_valid_after(wish.end)
    )
    if wish.is_authority:
        basic = x509.BasicConstraints(ca=True, path_length=wish.length)
        builder = builder.add_extension(basic, critical=True)
    if wish.uses is not None:
        builder = builder.add_extension(usage(*wish.uses), critical=wish.uses_critical)
    if wish.purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(wish.purposes), critical=False)
    for extension in wish.further:
        builder = builder.add_extension(extension, critical=False)
    signing = above.key if above else own
    hashed = None if isinstance(signing, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    made = builder.sign(signing, hashed)
    return Holder(own, (made, *(above.chain if above else ())))


def _names(common: str) -> Sequence[x509.NameAttribute[str]]:
    return [
        x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Acme"),
        x509.NameAttribute(NameOID.COMMON_NAME, common),
    ]


@cache
def root() -> Holder:
    """The root of a whole run."""
    return certify("root", wish=ISSUER)


@cache
def intermediate() -> Holder:
    """Who stands between the root and those who sign."""
    return certify("intermediate", root(), ISSUER)


@cache
def signer() -> Holder:
    """Who signs, on P-256."""
    return certify("signer", intermediate())


@cache
def rsa_signer() -> Holder:
    """Who signs with RSA, 2048 bits."""
    return certify("signer with RSA", intermediate(), key=rsa_key())


@cache
def stranger() -> Holder:
    """Who signs under another root."""
    return certify("stranger", certify("another root", wish=ISSUER))


@dataclass(frozen=True, slots=True)
class Signing:
    """How an envelope departs from a sound one.

    protected: headers added, changed or (with None) left out; header: the same of what is not
    protected; chain: in place of the signer's own; algorithm: what signs; stamp: makes the
    countersignature of a signature.
    """

    scheme: str = X509
    at: datetime = NOW - timedelta(minutes=1)
    expiry: datetime | None = None
    protected: Header = field(default_factory=dict)
    header: Header = field(default_factory=dict)
    chain: tuple[bytes, ...] | None = None
    algorithm: str = ""
    stamp: Callable[[bytes], bytes] | None = None

    def headers(self, algorithm: str, moment: Callable[[datetime], object]) -> dict[object, object]:
        """The protected ones, by their names in JWS."""
        is_sure = self.scheme == AUTHORITY
        time_name = SIGNED_FOR_SURE_AT if is_sure else SIGNED_AT
        critical = [SCHEME, *([time_name] if is_sure else []), *([EXPIRY] if self.expiry else [])]
        made: dict[object, object] = {
            "alg": algorithm,
            "cty": PAYLOAD,
            CRITICAL: critical,
            SCHEME: self.scheme,
            time_name: moment(self.at),
        }
        if self.expiry:
            made[EXPIRY] = moment(self.expiry)
        return _changed(made, self.protected)

    def certificates(self, holder: Holder) -> Sequence[bytes]:
        return [der(one) for one in holder.chain] if self.chain is None else self.chain


SOUND = Signing()


def payload(descriptor: Body) -> bytes:
    """What is signed of a manifest."""
    kept = {key: descriptor[key] for key in ("mediaType", "digest", "size")}
    return json.dumps({"targetArtifact": kept}).encode()


def jws(holder: Holder, content: bytes, signing: Signing = SOUND) -> bytes:
    """An envelope in flattened JSON."""
    name = signing.algorithm or holder.algorithm
    headers = signing.headers(name, lambda at: at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    protected, encoded = encoded64(json.dumps(headers).encode()), encoded64(content)
    signature = sign(name, holder.key, f"{protected}.{encoded}".encode())
    chain = [base64.b64encode(one).decode() for one in signing.certificates(holder)]
    header: dict[object, object] = {"x5c": chain}
    if signing.stamp:
        header[STAMP] = base64.b64encode(signing.stamp(signature)).decode()
    body = {
        "payload": encoded,
        "protected": protected,
        "header": _changed(header, signing.header),
        "signature": encoded64(signature),
    }
    return json.dumps(body).encode()


def cose(holder: Holder, content: bytes, signing: Signing = SOUND) -> bytes:
    """An envelope in COSE_Sign1."""
    name = signing.algorithm or holder.algorithm
    headers = signing.headers(name, lambda at: cbor2.CBORTag(1, int(at.timestamp())))
    labelled = {_LABELS.get(str(key), key): value for key, value in headers.items()}
    if labelled.get(1) == name:
        labelled[1] = _ALGORITHMS[name]
    protected = cbor2.dumps(labelled, canonical=True)
    signed = cbor2.dumps(["Signature1", protected, b"", content])
    signature = sign(name, holder.key, signed)
    header: dict[object, object] = {_CHAIN: list(signing.certificates(holder))}
    if signing.stamp:
        header[STAMP] = signing.stamp(signature)
    for key, value in signing.header.items():
        label = _CHAIN if key == "x5c" else key
        header[label] = value
    kept = {key: value for key, value in header.items() if value is not None}
    return cbor2.dumps(cbor2.CBORTag(18, [protected, kept, content, signature]))


def sign(algorithm: str, key: PrivateKey, content: bytes) -> bytes:
    """A signature as JWS and COSE have it."""
    return get_default_algorithms()[algorithm].sign(content, key)


def encoded64(content: bytes) -> str:
    """The base64 of URLs, unpadded."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _changed(headers: Mapping[object, object], changes: Header) -> dict[object, object]:
    merged = {**headers, **changes}
    return {key: value for key, value in merged.items() if value is not None}


def attach(
    registry: Registry,
    repository: str,
    digest: str,
    artifact_type: str,
    layers: Sequence[tuple[str, bytes]],
) -> str:
    """Hangs an artifact on a manifest; layers: media types and contents. Gives its digest."""
    blobs = [registry.add_blob(repository, content, kind) for kind, content in layers]
    return registry.add_artifact(repository, digest, artifact_type, blobs)


def add_signature(
    registry: Registry, repository: str, digest: str, envelope: bytes, media_type: str = JWS
) -> str:
    """Hangs a signature on a manifest; gives its digest."""
    return attach(registry, repository, digest, SIGNATURE, [(media_type, envelope)])


def sign_manifest(
    registry: Registry, repository: str, digest: str, holder: Holder, signing: Signing = SOUND
) -> str:
    """Signs a manifest as it lies in a registry, in JSON."""
    content = payload(registry.descriptor(repository, digest))
    return add_signature(registry, repository, digest, jws(holder, content, signing))
