"""Objects that somebody signed, signed by the tests themselves, and what was done to them since.

`data/signed_manifests.json` has what Kyverno 1.19's own program answered to each of them.
"""

import base64
import copy
import gzip
import io
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from chartkit.model import Body, Json
from tests.data import tables
from tests.signing.authority import PrivateKey, key_pem, new_key, sign

_DOMAIN = "cosign.sigstore.dev"
_NOTHING: Body = {}
SERVICE: Body = tables(__file__)["service"]
CONFIG: Body = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": "d", "labels": {"l": "x"}},
    "data": {"a": "1", "b": "two", "e": ""},
}
_CONTAINERS: list[Json] = [
    {"name": "c", "image": "nginx"},
    {"name": "e", "image": "ubuntu:1", "args": ["one", "two"]},
]
DEPLOYMENT: Body = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": _CONTAINERS}},
    },
}


@dataclass(frozen=True, slots=True)
class Case:
    """A policy's `manifests` and an object."""

    name: str
    manifests: Body
    body: Body


@dataclass(frozen=True, slots=True)
class Keys:
    """Two who sign."""

    a: PrivateKey = field(default_factory=new_key)
    b: PrivateKey = field(default_factory=new_key)


def cases(keys: Keys) -> Iterator[Case]:
    """All of them."""
    yield from _by_attestors(keys)
    yield from _messages(keys)
    yield from _changed(keys)
    yield from _ignored(keys)


def text(*bodies: Body) -> bytes:
    """A file of manifests."""
    return yaml.safe_dump_all(bodies).encode()


def signed(
    body: Body, content: bytes, *keys: PrivateKey, domain: str = _DOMAIN, **changed: str
) -> Body:
    """An object with signatures of some content. changed: annotations, by the last part of their
    names (`message`, `signature`)."""
    made = copy.deepcopy(body)
    annotations = made["metadata"].setdefault("annotations", {})
    packed = gzip.compress(content, mtime=0)
    annotations[f"{domain}/message"] = base64.b64encode(packed).decode()
    for at, key in enumerate(keys):
        suffix = f"_{at}" if at else ""
        made_by = base64.b64encode(sign(key, content)).decode()
        annotations[f"{domain}/signature{suffix}"] = made_by
    annotations.update({f"{domain}/{name}": value for name, value in changed.items()})
    return made


def by(key: PrivateKey) -> Body:
    """An attestor."""
    return {"keys": {"publicKeys": key_pem(key)}}


def wants(*entries: Body, **fields: Json) -> Body:
    """One set of attestors."""
    return {"attestors": [{"entries": list(entries), **fields}]}


def packed(files: Mapping[str, bytes]) -> bytes:
    """A tar archive, zipped."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return written.getvalue()


def changed(body: Body, path: str, value: Json) -> Body:
    """An object with another value at a dotted path; None takes it away."""
    made = copy.deepcopy(body)
    *steps, last = path.split(".")
    at: Any = made
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
    if value is None:
        del at[last]
    else:
        at[last] = value
    return made


def _by_attestors(keys: Keys) -> Iterator[Case]:
    a, b, content = by(keys.a), by(keys.b), text(SERVICE)
    one, other = signed(SERVICE, content, keys.a), signed(SERVICE, content, keys.b)
    both, later = (signed(SERVICE, content, *pair) for pair in ((keys.a, keys.b), (keys.b, keys.a)))
    nested = {"attestor": {"entries": [a]}}
    garbage = {"keys": {"publicKeys": "-----BEGIN PUBLIC KEY-----\nYQ==\n-----END PUBLIC KEY-----"}}
    two_sets = {"attestors": [*wants(a)["attestors"], *wants(a)["attestors"]]}
    for name, manifests, body in (
        ("one", wants(a), one),
        ("another-key", wants(a), other),
        ("second-signature", wants(a), later),
        ("both", wants(a, b), both),
        ("one-of-both", wants(a, b), one),
        ("count", wants(b, a, count=1), one),
        ("two-sets", two_sets, one),
        ("nested", wants(nested), one),
        ("nested-another", wants(nested), other),
        ("no-key", wants(garbage), one),
        ("another-and-changed", wants(a), changed(other, "spec.x", "new")),
    ):
        yield Case(name, manifests, body)


def _messages(keys: Keys) -> Iterator[Case]:
    a, service, config = keys.a, text(SERVICE), text(CONFIG)
    plain = base64.b64encode(service).decode()
    torn = base64.b64encode(b"\x00\x01: [").decode()
    own = {**wants(by(a)), "annotationDomain": "my.dev"}
    for name, body in (
        ("no-signature", signed(SERVICE, service)),
        ("no-message", {**SERVICE, "metadata": {"name": "s", "annotations": {"a": "b"}}}),
        ("no-base64", signed(SERVICE, service, a, message="!!")),
        ("not-zipped", signed(SERVICE, service, a, message=plain)),
        ("no-yaml", signed(SERVICE, service, a, message=torn)),
        ("no-object", signed(SERVICE, b"hello", a)),
        ("another-kind", signed(SERVICE, config, a)),
        ("archive", signed(SERVICE, packed({"a.yaml": service, "b.txt": b"x"}), a)),
        ("archives", signed(SERVICE, packed({"x/a.yaml": config, "b.yml": service}), a)),
        ("archive-without", signed(SERVICE, packed({"b.txt": service}), a)),
        ("documents", signed(CONFIG, service + b"---\n" + config, a)),
        ("documents-torn", signed(CONFIG, config + b"---\n: : [\n", a)),
        ("signature-garbage", signed(SERVICE, service, a, signature="!!")),
        ("signature-empty", signed(SERVICE, service, a, signature="")),
    ):
        yield Case(name, wants(by(a)), body)
    yield Case("domain", own, signed(SERVICE, service, a, domain="my.dev"))
    yield Case("another-domain", own, signed(SERVICE, service, a))


def _changed(keys: Keys) -> Iterator[Case]:
    first = "spec.template.spec.containers.0"
    swapped = list(reversed(_CONTAINERS))
    shifted = [{"name": "new", "image": "i"}, *_CONTAINERS]
    for name, body, path, value in (
        ("value", CONFIG, "data.b", "three"),
        ("added", CONFIG, "data.z", "new"),
        ("removed", CONFIG, "data.b", None),
        ("empty-removed", CONFIG, "data.e", None),
        ("label", CONFIG, "metadata.labels.m", "new"),
        ("list-for-text", CONFIG, "data.a", ["x"]),
        ("number", DEPLOYMENT, "spec.replicas", 3),
        ("text-for-number", DEPLOYMENT, "spec.replicas", "2"),
        ("false", DEPLOYMENT, "spec.paused", False),
        ("zero", DEPLOYMENT, "spec.minReadySeconds", 0),
        ("image-tag", DEPLOYMENT, f"{first}.image", "nginx:latest"),
        ("image-registry", DEPLOYMENT, f"{first}.image", "docker.io/nginx"),
        ("image", DEPLOYMENT, f"{first}.image", "evil<&>"),
        ("swapped", DEPLOYMENT, "spec.template.spec.containers", swapped),
        ("shifted", DEPLOYMENT, "spec.template.spec.containers", shifted),
        ("member", DEPLOYMENT, "spec.template.spec.containers.1.args", ["one", "two", "last"]),
        (
            "first-member",
            DEPLOYMENT,
            "spec.template.spec.containers.1.args",
            ["first", "one", "two"],
        ),
        ("name", CONFIG, "metadata.name", "other"),
        ("namespace", CONFIG, "metadata.namespace", "other"),
        ("new-namespace", SERVICE, "metadata.namespace", "other"),
        ("version", DEPLOYMENT, "apiVersion", "apps/v1beta1"),
        ("status", SERVICE, "status", {"x": 1}),
        ("cluster-ip", SERVICE, "spec.clusterIP", "1.2.3.4"),
        ("node-port", SERVICE, "spec.ports.0.nodePort", 3),
        ("annotation", SERVICE, "metadata.annotations.foo", "bar"),
        ("last-applied", SERVICE, "metadata.annotations", {_LAST: "{}"}),
        ("large", changed(CONFIG, "x", {"large": 1234567.5, "flag": True}), "x.large", 12345678),
    ):
        made = signed(changed(body, path, value), text(body), keys.a)
        yield Case(f"changed-{name}", wants(by(keys.a)), made)


_LAST = "kubectl.kubernetes.io/last-applied-configuration"


def _ignored(keys: Keys) -> Iterator[Case]:
    body = changed(changed(CONFIG, "data.b", "three"), "data.z", "new")
    made = signed(body, text(CONFIG), keys.a)
    maps, named = {"kind": "ConfigMap"}, {"name": "c*", "namespace": "d"}
    for name, fields, objects in (
        ("kind", ["data.*"], [maps]),
        ("another-kind", ["data.*"], [{"kind": "Pod"}]),
        ("every-object", ["data.b", "data.z"], []),
        ("one-field", ["data.b"], []),
        ("named", ["data"], [{"name": "x"}, named]),
        ("kinds", ["data"], [{"kind": "Pod,ConfigMap"}]),
        ("group", ["data"], [{"group": "-", "version": "v1"}]),
        ("another-group", ["data"], [{"group": "apps"}]),
        ("bad-pattern", ["data.(*"], [maps]),
    ):
        listed = [{"fields": fields, **({"objects": objects} if objects else _NOTHING)}]
        yield Case(f"ignored-{name}", {**wants(by(keys.a)), "ignoreFields": listed}, made)
