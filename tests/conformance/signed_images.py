"""Policies that want images signed or attested, and the images, signed by the tests themselves.

`data/signed_images.json` has what Kyverno 1.19's own program answered to each of them, against the
same registry; keys and certificates are new in every run, and no answer shows them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from chartkit.model import Body, Json
from tests.objects import api_object
from tests.signing.authority import (
    Authority,
    CertificateLog,
    Leaf,
    PrivateKey,
    authority,
    key_pem,
    new_key,
)
from tests.signing.bundle import Maker, push_bundle
from tests.signing.cosign import Signer, push
from tests.signing.rekor import Log
from tests.unit.network.registry.registry_server import Registry

SCAN = "https://example.com/scan/v1"
BUILD = "https://slsa.dev/provenance/v0.2"
_PUBLIC_LOG = "https://rekor.sigstore.dev"
_ISSUER = "https://accounts.example.com"
_GITHUB = "https://token.actions.githubusercontent.com"
_WORKFLOW = "https://github.com/o/r/.github/workflows/x.yml@refs/heads/main"
_UNLOGGED: Body = {"rekor": {"url": _PUBLIC_LOG, "ignoreTlog": True}, "ctlog": {"ignoreSCT": True}}
_FOUND: Body = {
    "severity": "low",
    "count": 2,
    "tool": {"name": "scanner", "versions": ["1", "2"]},
    "when": "2026-11-20T00:00:00Z",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A policy and the pod's images."""

    name: str
    policy: Body
    pod: Body


@dataclass(slots=True)
class Signed:
    """The registry's images and who signed them. a, b, c, d: keys; log: of signatures; seen: of
    certificates; leaf, workflow: certificates of a person and of a build."""

    registry: Registry
    a: PrivateKey = field(default_factory=new_key)
    b: PrivateKey = field(default_factory=new_key)
    c: PrivateKey = field(default_factory=new_key)
    d: PrivateKey = field(default_factory=new_key)
    log: Log = field(default_factory=Log)
    seen: CertificateLog = field(default_factory=CertificateLog)
    root: Authority = field(default_factory=authority)
    leaf: Leaf = field(init=False)
    workflow: Leaf = field(init=False)
    digests: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        issuer = self.root.intermediate()
        self.leaf = issuer.leaf(email="dev@example.com", issuer=_ISSUER, log=self.seen)
        self.workflow = issuer.leaf(uri=_WORKFLOW, issuer=_GITHUB, log=self.seen)
        self._sign("app", Signer(self.a))
        self._sign("two", Signer(self.a), Signer(self.b))
        self._sign("none")
        self._sign("logged", Signer(self.a, log=self.log))
        self._sign("keyless", Signer.of(self.leaf, self.log))
        self._sign("github", Signer.of(self.workflow, self.log))
        self._sign("noted", Signer(self.a), optional={"env": "prod", "v": "1"})
        other = Signer(self.c).signature(self.digests["app"])
        push(self.registry, "team/other", self.digests["app"], [other])
        self._sign("scanned")
        self._attest("scanned", (SCAN, _FOUND))
        self._sign("twice")
        self._attest(
            "twice", (SCAN, {"count": 2}), (SCAN, {"count": 5}), (BUILD, {"builder": {"id": "b"}})
        )
        self._sign("both", Signer(self.a))
        built = Signer(self.b).attestation(
            self.digests["both"], BUILD, {"builder": {"id": "gh"}, "n": 1}
        )
        self._attest("both", (SCAN, {"count": 2}), further=(built,))
        self._sign("bundled")
        bundle = Maker(Signer(self.a)).attest(self.digests["bundled"], SCAN, _FOUND)
        push_bundle(self.registry, "team/bundled", self.digests["bundled"], bundle)

    def _sign(self, name: str, *signers: Signer, optional: Json = None) -> None:
        config = {"architecture": "amd64", "os": "linux", "author": name}
        digest = self.digests[name] = self.registry.add_image(f"team/{name}", "1", config)
        if signers:
            layers = [one.signature(digest, optional) for one in signers]
            push(self.registry, f"team/{name}", digest, layers)

    def _attest(self, name: str, *said: tuple[str, Body], further: tuple[Any, ...] = ()) -> None:
        digest = self.digests[name]
        layers = [Signer(self.a).attestation(digest, kind, body) for kind, body in said]
        push(self.registry, f"team/{name}", digest, [*layers, *further], "att")

    def image(self, name: str) -> str:
        """By its tag."""
        return f"{self.registry.host}/team/{name}:1"

    def by_digest(self, name: str) -> str:
        """By its digest alone."""
        return f"{self.registry.host}/team/{name}@{self.digests[name]}"

    def case(self, name: str, image: str, *blocks: Body, **rule: Json) -> Case:
        """A policy of one rule, and a pod of one image, by its name or whole reference."""
        references = {"imageReferences": [f"{self.registry.host}/*"]}
        entries = [{**references, **block} for block in blocks]
        matched = {"any": [{"resources": {"kinds": ["Pod"]}}]}
        made = {"name": "r", "match": matched, **rule, "verifyImages": entries}
        return Case(name, policy("p", made), pod(image if "/" in image else self.image(image)))


def policy(name: str, *rules: Body) -> Body:
    """A ClusterPolicy that refuses."""
    spec = {"validationFailureAction": "Enforce", "background": False, "rules": list(rules)}
    kind = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def pod(*images: str) -> Body:
    """A pod with a container for each image."""
    containers = [{"name": f"c{at}", "image": image} for at, image in enumerate(images)]
    metadata = {"name": "a", "namespace": "default"}
    return api_object("v1", "Pod", metadata, spec={"containers": containers})


def cases(signed: Signed) -> Iterator[Case]:
    """All of them."""
    yield from _by_key(signed)
    yield from _sets(signed)
    yield from _places(signed)
    yield from _keyless(signed)
    yield from _certificates(signed)
    yield from _attestations(signed)
    yield from _attestors_of_attestations(signed)
    yield from _denied(signed)
    yield from _bundles(signed)


def _key(*keys: PrivateKey, **fields: Json) -> Body:
    pem = "\n".join(key_pem(one).strip() for one in keys)
    return {"keys": {"publicKeys": pem, **_UNLOGGED, **fields}}


def _set(*entries: Body, **fields: Json) -> list[Body]:
    return [{"entries": list(entries), **fields}]


def _wants(*entries: Body, **fields: Json) -> Body:
    return {"attestors": _set(*entries, **fields)}


def _nested(*entries: Body, **fields: Json) -> Body:
    return {"attestor": {"entries": list(entries), **fields}}


def _by_key(s: Signed) -> Iterator[Case]:
    a, b = _wants(_key(s.a)), _wants(_key(s.b))
    yield s.case("key", "app", a)
    yield s.case("digest", s.by_digest("app"), a)
    yield s.case("tag-and-digest", f"{s.image('app')}@{s.digests['app']}", a)
    yield s.case("another-key", "app", b)
    yield s.case("unsigned", "none", a)
    yield s.case("missing", f"{s.registry.host}/team/nope:1", a)
    yield s.case("no-digest-added", "app", {**a, "mutateDigest": False})
    yield s.case("no-digest", "app", {**a, "mutateDigest": False, "verifyDigest": False})
    yield s.case("not-required", "app", {**b, "required": False})
    yield s.case("nobody", "app", {})
    yield s.case("algorithm", "app", _wants(_key(s.a, signatureAlgorithm="sha512")))
    log = {"url": _PUBLIC_LOG, "pubkey": s.log.pem}
    yield s.case("logged", "logged", _wants(_key(s.a, rekor=log)))
    log = {"url": _PUBLIC_LOG, "pubkey": Log().pem}
    yield s.case("another-log", "logged", _wants(_key(s.a, rekor=log)))


def _sets(s: Signed) -> Iterator[Case]:
    a, b, c, d = (_key(one) for one in (s.a, s.b, s.c, s.d))
    for name, image, attestors in (
        ("two-of-three", "two", _set(a, b, c, count=2)),
        ("two-of-three-last", "two", _set(c, a, b, count=2)),
        ("one-of-three", "two", _set(c, a, d, count=2)),
        ("all", "two", _set(a, b)),
        ("several-keys", "two", _set(_key(s.c, s.b), count=1)),
        ("several-keys-all", "two", _set(_key(s.c, s.b))),
        ("two-sets", "two", [*_set(a), *_set(b)]),
        ("second-set", "two", [*_set(a), *_set(c)]),
        ("nested", "app", _set(_nested(c, a, count=1))),
        ("nested-fails", "app", _set(_nested(c, d), b)),
        ("nested-twice", "app", _set(_nested(_nested(a), b, count=1), d, count=1)),
        ("nested-keys", "app", _set(_nested(_key(s.c, s.a), count=1))),
    ):
        yield s.case(name, image, {"attestors": attestors})


def _places(s: Signed) -> Iterator[Case]:
    a, c, host = _wants(_key(s.a)), _key(s.c), s.registry.host
    other = f"{host}/team/other"
    yield s.case("repository", "app", {**_wants(c), "repository": other})
    own = _wants({**c, "repository": other})
    yield s.case("own-repository", "app", {**own, "repository": f"{host}/team/none"})
    yield s.case("no-repository", "app", {**_wants(c), "repository": f"{host}/team/zzz"})
    yield s.case("bad-repository", "app", {**_wants(c), "repository": "A B"})
    yield s.case("annotations", "noted", {**a, "annotations": {"env": "prod"}})
    yield s.case("other-annotations", "noted", {**a, "annotations": {"env": "dev"}})
    own = _wants({**_key(s.a), "annotations": {"v": "1"}})
    yield s.case("own-annotations", "noted", {**own, "annotations": {"env": "dev"}})
    yield s.case("skipped", "app", {**a, "skipImageReferences": [f"{host}/team/a*"]})
    insecure = {"imageRegistryCredentials": {"allowInsecureRegistry": True}}
    yield s.case("credentials", "app", {**a, **insecure})
    first, second = (
        {**_wants(_key(key)), "imageReferences": [f"{host}/team/{name}*"]}
        for key, name in ((s.a, "app"), (s.b, "two"))
    )
    yield s.case("entries-of-others", "app", first, second)
    yield s.case("entries-of-one", "two", a, _wants(_key(s.b)))
    named = "{{ request.object.metadata.name }}"
    yield s.case("variable", "app", {**a, "skipImageReferences": [named]})
    unknown = "{{ request.object.metadata.zz }}"
    yield s.case("no-variable", "app", {**a, "skipImageReferences": [unknown]})
    entry = {"keys": {"publicKeys": "{{ k.pub }}", **_UNLOGGED}}
    value = {"name": "k", "variable": {"value": {"pub": key_pem(s.a)}}}
    yield s.case("key-of-context", "app", _wants(entry), context=[value])


def _keyless(s: Signed) -> Iterator[Case]:
    logs = {"rekor": {"url": _PUBLIC_LOG, "pubkey": s.log.pem}, "ctlog": {"pubkey": s.seen.pem}}
    roots = s.root.root_pem
    dev = {"issuer": _ISSUER, "subject": "dev@example.com"}
    github = {"issuer": _GITHUB, "subject": "https://github.com/o/r/*"}
    for name, image, fields in (
        ("keyless", "keyless", dev),
        ("wildcards", "keyless", {"issuer": "https://accounts.*", "subject": "*@example.com"}),
        ("subject", "keyless", {**dev, "subject": "ops@example.com"}),
        ("issuer", "keyless", {**dev, "issuer": "https://other"}),
        ("regexp", "keyless", {"issuerRegExp": "^https://acc", "subjectRegExp": "dev@.*"}),
        ("other-regexp", "keyless", {"issuerRegExp": "^https://acc", "subjectRegExp": "^ops"}),
        ("bad-regexp", "keyless", {"issuerRegExp": "(", "subjectRegExp": "^ops"}),
        ("workflow", "github", github),
        ("extensions", "github", {**github, "additionalExtensions": {"no": "such"}}),
        ("keyless-unsigned", "none", dev),
    ):
        yield s.case(name, image, _wants({"keyless": {"roots": roots, **logs, **fields}}))
    either = _wants({"keyless": {"roots": roots, **logs, **dev}}, _key(s.a), count=1)
    yield s.case("keyless-or-key", "app", either)


def _certificates(s: Signed) -> Iterator[Case]:
    logs = {"rekor": {"url": _PUBLIC_LOG, "pubkey": s.log.pem}, "ctlog": {"pubkey": s.seen.pem}}
    chain = {"certChain": s.leaf.chain_pem}
    for name, fields in (
        ("certificate", {"cert": s.leaf.pem, **_UNLOGGED}),
        ("certificate-and-chain", {"cert": s.leaf.pem, **chain, **_UNLOGGED}),
        ("chain", {**chain, **_UNLOGGED}),
        ("certificate-logged", {"cert": s.leaf.pem, **logs}),
        ("another-certificate", {"cert": s.workflow.pem, **_UNLOGGED}),
        ("no-certificate", {"cert": "garbage", **_UNLOGGED}),
    ):
        yield s.case(name, "keyless", _wants({"certificates": fields}))


def _is(key: str, value: Json, operator: str = "Equals", message: str = "") -> Body:
    said = {"message": message} if message else {}
    return {"key": key, "operator": operator, "value": value, **said}


def _attested(s: Signed, kind: str = SCAN, **fields: Json) -> Body:
    return {"type": kind, **_wants(_key(s.a)), **fields}


def _attestations(s: Signed) -> Iterator[Case]:
    two, low = _is("{{ count }}", 2), _is("{{ severity }}", ["low", "none"], "AnyIn")
    parts = "{{ image.name }}/{{ image.tag }}/{{ image.path }}"
    elapsed = "{{ time_since('', when, '2026-11-21T00:00:00Z') }}"
    for name, image, conditions in (
        ("conditions", "scanned", [{"all": [two, _is("{{ tool.name }}", "scanner"), low]}]),
        (
            "unmet",
            "scanned",
            [{"all": [two, _is("{{ severity }}", "no", message="{{ severity }} of {{count}}")]}],
        ),
        ("unmet-silently", "scanned", [{"all": [_is("{{ count }}", 3)]}]),
        (
            "none-met",
            "scanned",
            [{"any": [_is("{{ count }}", n, message=f"not {n}") for n in (3, 4)]}],
        ),
        ("second-block", "scanned", [{"any": [two]}, {"all": [_is("a", "b", message="x")]}]),
        ("unknown", "scanned", [{"all": [_is("{{ nope }}", 2)]}]),
        ("unknown-later", "scanned", [{"all": [_is("{{ count }}", 3), _is("{{ tool.no }}", 2)]}]),
        ("default", "scanned", [{"all": [_is("{{ nope || 'x' }}", "x")]}]),
        ("function", "scanned", [{"all": [_is("{{ length(tool.versions) }}", 2)]}]),
        ("time", "scanned", [{"all": [_is(elapsed, "48h", "LessThan")]}]),
        ("image", "scanned", [{"all": [_is(parts, "x", message=parts)]}]),
        ("request", "scanned", [{"all": [_is("{{ request.object.metadata.name }}", "a")]}]),
        ("each", "twice", [{"all": [_is("{{ count }}", 3, "LessThan", "is {{ count }}")]}]),
        ("each-holds", "twice", [{"all": [_is("{{ count }}", 9, "LessThan")]}]),
    ):
        block = {"attestations": [_attested(s, conditions=conditions)]}
        yield s.case(f"attestation-{name}", image, block)
    named = [{"all": [_is("{{ scan.count }}", 3, message="{{ scan.tool.name }}")]}]
    block = {"attestations": [_attested(s, name="scan", conditions=named)]}
    yield s.case("attestation-name", "scanned", block)


def _attestors_of_attestations(s: Signed) -> Iterator[Case]:
    a, b, c = (_key(one) for one in (s.a, s.b, s.c))
    builder = [{"all": [_is("{{ builder.id }}", "gh")]}]
    missing = f"{s.registry.host}/team/nope:1"
    for name, image, attestations in (
        ("attestation", "scanned", [_attested(s)]),
        ("attestation-digest", s.by_digest("scanned"), [_attested(s)]),
        ("attestation-type", "scanned", [_attested(s, "https://other")]),
        ("attestation-no-type", "scanned", [_wants(a)]),
        ("attestation-predicate", "scanned", [{"predicateType": SCAN, **_wants(a)}]),
        ("attestation-key", "scanned", [{"type": SCAN, **_wants(b)}]),
        ("attestation-none", "app", [_attested(s)]),
        ("attestation-missing", missing, [_attested(s)]),
        ("attestation-count", "scanned", [{"type": SCAN, **_wants(b, a, count=1)}]),
        ("attestation-too-few", "scanned", [{"type": SCAN, **_wants(b, a, c, count=2)}]),
        ("attestation-sets", "scanned", [{"type": SCAN, "attestors": [*_set(a), *_set(b)]}]),
        ("attestation-keys", "scanned", [{"type": SCAN, **_wants(_key(s.a, s.b))}]),
        ("attestation-types", "twice", [_attested(s), _attested(s, BUILD, conditions=builder)]),
    ):
        yield s.case(name, image, {"attestations": attestations})
    for name, image, attestations in (
        ("signed-and-attested", "both", [_attested(s)]),
        ("attested-alone", "scanned", [_attested(s)]),
        ("signed-alone", "both", [_attested(s, "https://other")]),
        ("by-two", "both", [_attested(s), {"type": BUILD, **_wants(b), "conditions": builder}]),
    ):
        yield s.case(name, image, {**_wants(a), "attestations": attestations})


def _denied(s: Signed) -> Iterator[Case]:
    scan = _attested(s, name="scan")
    build = {"name": "build", "type": BUILD, **_wants(_key(s.b))}
    two = _is("{{ scan.count }}", 2)
    for name, message, condition in (
        ("allowed", "no", _is("{{ scan.count }}", "{{ build.n }}")),
        ("denied", "no", {**two, "message": "is {{ scan.count }}"}),
        ("denied-silently", "", two),
        ("denied-message", "no", {**two, "message": "{{ scan.zz }}"}),
        ("denied-unknown", "no", _is("{{ scan.zz }}", 2)),
        ("denied-early", "no {{ scan.count }}", two),
    ):
        said = {"message": message} if message else {}
        validate = {**said, "deny": {"conditions": {"any": [condition]}}}
        yield s.case(name, "both", {"attestations": [scan, build], "validate": validate})


def _bundles(s: Signed) -> Iterator[Case]:
    two = [{"all": [_is("{{ count }}", 2)]}]
    three = [{"all": [_is("{{ count }}", 3, message="of {{ tool.name }}")]}]
    for name, block in (
        ("bundle", _wants(_key(s.a))),
        ("bundle-key", _wants(_key(s.b))),
        ("bundle-attestation", {"attestations": [_attested(s, conditions=two)]}),
        ("bundle-unmet", {"attestations": [_attested(s, conditions=three)]}),
        ("bundle-type", {"attestations": [_attested(s, BUILD)]}),
    ):
        yield s.case(name, "bundled", {"type": "SigstoreBundle", **block})


def shown(signed: Signed, message: str) -> str:
    """A message without the registry's address and the images' digests."""
    message = message.replace(signed.registry.host, "HOST")
    for name, digest in signed.digests.items():
        message = message.replace(digest, f"sha256:{name}")
    return message
