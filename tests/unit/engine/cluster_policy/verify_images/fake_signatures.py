"""Signatures in memory: who signed what, by the key that is asked for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest, Verified
from chartkit.engine.ports.world import (
    NOBODY_ELSE,
    Credentials,
    OfflineImages,
    SignatureSource,
    World,
)
from chartkit.engine.request import Request
from chartkit.errors import LookupFailed
from chartkit.model import Body, Json, Resource, RuleResult
from tests.unit.engine.policies import policy_resource, rule

DIGEST = "sha256:" + "1" * 64
TAGGED = "ghcr.io/a/b:1"
WHOLE = f"ghcr.io/a/b@{DIGEST}"
TYPE = "https://example.com/scan"
Shown = list[tuple[str, str]]


@dataclass(slots=True)
class Signatures:
    """signed, attested: by key, what is answered; everything else is not signed."""

    signed: Mapping[str, LookupFailed | None] = field(default_factory=dict)
    attested: Mapping[str, Sequence[Body] | LookupFailed] = field(default_factory=dict)
    asked: list[VerificationRequest] = field(default_factory=list)

    def signature(self, question: VerificationRequest, /) -> Verified:
        self.asked.append(question)
        error = self.signed.get(question.key, SignatureError("no signatures found"))
        if error is not None:
            raise error
        return Verified(DIGEST)

    def attestations(self, question: VerificationRequest, /) -> Verified:
        self.asked.append(question)
        found = self.attested.get(question.key, SignatureError("no matching attestations"))
        if isinstance(found, LookupFailed):
            raise found
        return Verified(DIGEST, found)


class _Images(OfflineImages):
    """A registry in which every image has one digest."""

    def digest(self, _reference: str, _credentials: Credentials = NOBODY_ELSE, /) -> str:
        return DIGEST


def world_of(signatures: Signatures) -> World:
    """Return a world of one digest for every image, and signatures."""
    # ImageValidatingPolicies ask the rest.
    return World(images=_Images(), signatures=cast(SignatureSource, signatures))


def pod(image: str = WHOLE, recorded: Body | None = None) -> Resource:
    """A pod of one image, perhaps with what the rule `r` of the policy `p` recorded of it."""
    metadata: Body = {"name": "a", "namespace": "default"}
    if recorded is not None:
        text = json.dumps({"version": 1, "policies": {"/p": {"r": recorded}}})
        metadata["annotations"] = {"kyverno.io/verify-images-scoped": text}
    spec = {"containers": [{"name": "c", "image": image}]}
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def by_key(name: str) -> Body:
    """An attestor with a key."""
    return {"keys": {"publicKeys": name}}


def by_keys(*names: str, **fields: Any) -> list[Body]:
    """One set of attestors with keys."""
    return [{"entries": [by_key(name) for name in names], **fields}]


def block(**fields: Any) -> Body:
    """An entry of `verifyImages` that adds no digests."""
    return {"imageReferences": ["ghcr.io/*"], "mutateDigest": False, **fields}


def statement(kind: str = TYPE, **predicate: Json) -> Body:
    """A statement with a predicate."""
    return {"type": kind, "predicateType": kind, "predicate": predicate}


def image_rule(*blocks: Body, **parts: Any) -> Body:
    """A rule of entries of `verifyImages`."""
    body = rule(verifyImages=list(blocks), **parts)
    del body["validate"]
    return body


def results(signatures: Signatures, resource: Resource, *rules: Body) -> list[RuleResult]:
    """What rules of one policy say of an object."""
    compiled = compile_policy(policy_resource(*rules, background=False))
    return evaluate([compiled], Request(resource), world_of(signatures))


def first(signatures: Signatures, *blocks: Body, image: str = WHOLE) -> tuple[str, str]:
    """The first answer to entries."""
    found = results(signatures, pod(image), image_rule(*blocks))[0]
    return str(found.status), found.message


def shown(signatures: Signatures, *blocks: Body, image: str = WHOLE) -> Shown:
    """All answers to entries."""
    found = results(signatures, pod(image), image_rule(*blocks))
    return [(str(one.status), one.message) for one in found]
