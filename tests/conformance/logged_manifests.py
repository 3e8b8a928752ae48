"""Objects that were signed with certificates, and logged: by the tests' own authority and log.

`data/logged_manifests.json` has what Kyverno 1.19's own program answered to each of them, with
that log in the place of the public one.
"""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from chartkit.model import Body
from tests.conformance.signed_manifests import SERVICE, Case, by, changed, signed, text, wants
from tests.signing.authority import Authority, Leaf, PrivateKey, authority, key_pem, new_key, sign
from tests.signing.rekor import Log, hashedrekord

EMAIL = "me@example.com"
URI = "https://ci.example/build"
CONTENT = text(SERVICE)


@dataclass(slots=True)
class World:
    """Who signs, and who logs: the log that is known, and another."""

    root: Authority = field(default_factory=authority)
    log: Log = field(default_factory=Log)
    other_log: Log = field(default_factory=Log)
    key: PrivateKey = field(default_factory=new_key)
    me: Leaf = field(init=False)
    build: Leaf = field(init=False)
    named: Leaf = field(init=False)

    def __post_init__(self) -> None:
        self.me = self.root.leaf(email=EMAIL, issuer="https://issuer.example")
        self.build = self.root.leaf(uri=URI)
        self.named = self.root.leaf(name="the build")

    def logged(
        self, leaf: Leaf, log: Log | None = None, content: bytes = CONTENT, **changes: str
    ) -> Body:
        """An object, signed and logged; changes: annotations, by the last part of their names."""
        made = sign(leaf.key, content)
        entry = (log or self.log).add(hashedrekord(content, made, leaf.pem))
        beside = {
            "certificate": packed(leaf.pem),
            "bundle": packed(json.dumps(entry.bundle)),
            "signature": base64.b64encode(made).decode(),
            **changes,
        }
        kept = {name: value for name, value in beside.items() if value}
        return signed(SERVICE, CONTENT, leaf.key, **kept)


def packed(content: str) -> str:
    """As an annotation holds it."""
    return base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()


def keyless(subject: str, issuer: str = "https://issuer.example") -> Body:
    """Whoever has a certificate for a subject."""
    return {"keyless": {"issuer": issuer, "subject": subject}}


def certified(leaf: Leaf, chain: str = "") -> Body:
    """Whoever has the key of a certificate; chain: who must vouch for it."""
    return {"certificates": {"cert": leaf.pem, **({"certChain": chain} if chain else {})}}


def cases(world: World) -> Iterator[Case]:
    """All of them."""
    yield from _keyless(world)
    yield from _certificates(world)
    yield from _one_after_another(world)


def _keyless(world: World) -> Iterator[Case]:
    me, wanted = world.logged(world.me), wants(keyless(EMAIL))
    plain = signed(SERVICE, CONTENT, world.key)
    for name, manifests, body in (
        ("me", wanted, me),
        ("another-issuer", wants(keyless(EMAIL, "https://other.example")), me),
        ("another-subject", wants(keyless("you@example.com")), me),
        ("pattern", wants(keyless("*@example.com")), me),
        ("uri", wants(keyless(URI)), world.logged(world.build)),
        ("name", wants(keyless("the build")), world.logged(world.named)),
        ("plain", wanted, plain),
        ("no-entry", wanted, world.logged(world.me, bundle="")),
        ("no-certificate", wanted, world.logged(world.me, certificate="")),
        ("changed", wanted, changed(me, "spec.x", "new")),
        ("another-log", wanted, world.logged(world.me, world.other_log)),
        ("another-content", wanted, world.logged(world.me, content=b"something else")),
        ("torn-entry", wanted, world.logged(world.me, bundle="!!")),
        ("no-entry-in-it", wanted, world.logged(world.me, bundle=packed("null"))),
        ("torn-certificate", wanted, world.logged(world.me, certificate=packed("x"))),
        ("another-certificate", wanted, _exchanged(world)),
    ):
        yield Case(f"keyless-{name}", manifests, body)


def _exchanged(world: World) -> Body:
    """Somebody's entry with another certificate for the same subject beside it."""
    other = world.root.leaf(email=EMAIL)
    return world.logged(world.me, certificate=packed(other.pem))


def _certificates(world: World) -> Iterator[Case]:
    me, build = world.logged(world.me), world.logged(world.build)
    plain = signed(SERVICE, CONTENT, world.me.key)
    again = world.root.leaf(email="again@example.com", key=world.me.key)
    for name, manifests, body in (
        ("me", wants(certified(world.me)), me),
        ("another", wants(certified(world.me)), build),
        ("same-key", wants(certified(again)), me),
        ("plain", wants(certified(world.me)), plain),
        ("no-entry", wants(certified(world.me)), world.logged(world.me, bundle="")),
        ("changed", wants(certified(world.me)), changed(me, "spec.x", "new")),
        ("chain", wants(certified(world.me, world.me.chain_pem)), me),
        ("another-chain", wants(certified(world.me, authority().root_pem)), me),
        ("torn-chain", wants(certified(world.me, "x")), me),
        ("none", wants({"certificates": {"cert": "x"}}), me),
        ("chain-plain", wants(certified(world.me, world.me.chain_pem)), plain),
        ("one-of-two", wants(certified(world.build), certified(world.me), count=1), me),
    ):
        yield Case(f"certificate-{name}", manifests, body)
    yield Case("key-logged", wants(by(world.me.key)), me)


def _one_after_another(world: World) -> Iterator[Case]:
    plain = signed(SERVICE, CONTENT, world.key)
    key, other = by(world.key), {"keys": {"publicKeys": key_pem(world.build.key)}}
    for name, entries, body in (
        ("key-after-keyless", (keyless(EMAIL), key), plain),
        ("key-after-any-keyless", (keyless("*"), key), plain),
        ("key-after-certificate", (certified(world.me), key), plain),
        ("keyless-after-key", (other, keyless(EMAIL)), plain),
        (
            "certificate-after-key",
            (other, certified(world.me)),
            signed(SERVICE, CONTENT, world.key),
        ),
        ("certificate-after-keyless", (keyless("x"), certified(world.me)), plain),
    ):
        yield Case(name, wants(*entries, count=1), body)
