"""The host of an ImageValidatingPolicy's expressions: registries and signatures
(`pkg/cel/libs/imageverify`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.cluster_host import ClusterHost
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.attestors import Attestor, Evidence, attestors_in
from chartkit.engine.cel_policies.expressions import ExpressionCompiler
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.ports.signatures import SignatureError, read_credentials
from chartkit.engine.ports.world import World
from chartkit.errors import LookupFailed, NoSource, Reraise
from chartkit.go.regexp import RegexError, compile_regex
from chartkit.model import Body, Json

_WILD: Final = {"*": ".*", "?": "."}


class GlobError(ValueError):
    """A glob that does not compile."""


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Report whether a whole text fits: `*` is any text, `?` any character, `[a-z]` and `[!a-z]`
    one of some or none of them, `{a,b}` one of several, `\\` takes the next character as it is."""
    try:
        out: list[str] = []
        depth = at = 0
        while at < len(pattern):
            char = pattern[at]
            if char == "\\":
                at += 1
                if at == len(pattern):
                    raise GlobError("unexpected end of input")
                out.append(re.escape(pattern[at]))
            elif char == "[":
                # The class that begins at a `[`, and where it ends.
                end = pattern.find("]", at + 2)
                if end < 0:
                    raise GlobError("unexpected end of input")
                inner = pattern[at + 1 : end]
                negated = inner.startswith("!")
                members = inner[1:] if negated else inner
                body = members if re.fullmatch(r".-.", members) else re.escape(members)
                text, at = f"[{'^' if negated else ''}{body}]", end
                out.append(text)
            elif char == "{":
                depth += 1
                out.append("(?:")
            elif char == "}" and depth:
                depth -= 1
                out.append(")")
            elif char == "," and depth:
                out.append("|")
            else:
                out.append(_WILD.get(char) or re.escape(char))
            at += 1
        # A brace that nothing closes ends with the glob.
        translated = "".join(out) + ")" * depth
        regexp = compile_regex(rf"(?s)\A(?:{translated})\z")
    except RegexError as error:
        raise GlobError(str(error)) from error
    return regexp.matches


_REFERENCES: Final = "spec.matchImageReferences"

Fits = Callable[[str], bool]
"""A test whether a reference is one of a policy's images; raises CelError."""


def compile_references(policy: CelPolicy, compiler: ExpressionCompiler) -> Fits:
    """A test for the policy's images; without any reference a policy is about all. Raises
    CompileError."""
    references: list[Fits] = []
    matching = ExpressionCompiler(policy, ENVIRONMENTS["matchimage"])
    for index, body in enumerate(policy.spec.get("matchImageReferences") or ()):
        path = f"{_REFERENCES}[{index}]"
        if body.get("glob"):
            try:
                references.append(compile_glob(body["glob"]))
            except GlobError as error:
                compiler.refuse(f"{path}.glob", body["glob"], str(error))
        elif body.get("expression"):
            program = matching.one(f"{path}.expression", body["expression"], (types.BOOL,))
            if program is not None:
                references.append(_fits(program))
    matching.check()
    compiler.check()
    tests = tuple(references)
    return lambda image: not tests or any(fits(image) for fits in tests)


def _fits(program: Program) -> Fits:
    return lambda image: program.evaluate({"ref": image}, OFFLINE) is True


SHORT_TYPES: Final = frozenset(
    {"custom", "slsaprovenance", "slsaprovenance02", "slsaprovenance1", "spdx", "spdxjson"}
    | {"cyclonedx", "link", "vuln", "openvex"}
)
"""Cosign's short names for predicate types. Kyverno keeps the content of such an attestation
under the whole type, and `extractPayload` does not find it there."""
_MOST_REASONS: Final = 32
_LONGEST_REASON: Final = 2000
"""An image may have a thousand signatures, each with a reason of its own; in characters."""
_UNVERIFIED: Final = (
    "intoto attestation payload cannot be fetch before verifying intoto attestation"
)


class ImageHost(ClusterHost):
    """The world of one policy while it judges one request.

    reasons: why attestors did not vouch for images, which Kyverno only logs.
    """

    def __init__(self, policy: CelPolicy, world: World, fits: Fits, evidence: Evidence) -> None:
        super().__init__(world, policy.name, namespace=policy.namespace, may_call=policy.may_call)
        self.evidence = evidence
        self.reasons: list[str] = []
        self._counts: dict[tuple[str, str | None, tuple[str, ...]], int] = {}
        self._source = world.signatures
        self._fits = fits
        self._credentials = read_credentials(policy.spec.get("credentials"))
        self._attestations: Mapping[str, Body] = {
            attestation["name"]: attestation
            for attestation in policy.spec.get("attestations") or ()
        }

    def fetch(self, image: str) -> Body:
        """The registry's data about an image, with the policy's settings; raises LookupFailed."""
        return self._world.images.descriptor(image, self._credentials)

    def image_data(self, reference: str, /) -> Body:
        with Reraise("", LookupFailed, CelError):
            return self.fetch(reference)

    def verify_image(
        self, image: str, attestation: str | None, attestors: Sequence[Value], /
    ) -> int:
        listed = attestors_in(attestors)
        if not self._fits(image):
            return 0
        wanted = None if attestation is None else self._attestation(attestation)
        self._see(image)
        count = sum(self._vouches(image, wanted, attestor) for attestor in listed)
        if listed:
            self.evidence.record(image, count > 0)
        self._counts[image, attestation, tuple(attestor.name for attestor in listed)] = count
        return count

    def counted(
        self, image: str, attestation: str | None, attestors: Sequence[Value], /
    ) -> int | None:
        """Return how many attestors vouched for an image when it was verified; None if it was not.

        Raise CelError as `verify_image` does.
        """
        names = tuple(attestor.name for attestor in attestors_in(attestors))
        return self._counts.get((image, attestation, names)) if self._fits(image) else 0

    def has_payload(self, image: str, attestation: str, /) -> bool:
        """Report whether an attestation was read; raise CelError for an unknown one."""
        return (image, *_kind_of(self._attestation(attestation))) in self.evidence.payloads

    def image_payload(self, image: str, attestation: str, /) -> Json:
        wanted = self._attestation(attestation)
        self._see(image)
        kind, name = _kind_of(wanted)
        payloads = self.evidence.payloads
        if (image, kind, name) not in payloads:
            if kind != "referrer":
                raise CelError(f"failed to get payload: {_UNVERIFIED}")
            payloads[image, kind, name] = self._asked(
                image, lambda: self._source.payload(image, wanted, self._credentials)
            )
        payload = payloads[image, kind, name]
        if payload is None:
            text = f"failed to unmarshal json for attestation {attestation}"
            raise CelError(f"failed to get payload: {text}")
        return payload

    def _attestation(self, name: str) -> Body:
        attestation = self._attestations.get(name)
        if attestation is None:
            raise CelError(f"attestation not found in policy: {name}")
        return attestation

    def _see(self, image: str) -> None:
        """Kyverno fetches an image before it asks anything of it."""
        try:
            self.fetch(image)
        except NoSource:
            raise CelError(f"no registry to verify {image} with") from None
        except LookupFailed as error:
            raise CelError(f"failed to get imagedata: {error.message}") from None

    def _vouches(self, image: str, attestation: Body | None, attestor: Attestor) -> bool:
        """Report whether an attestor vouches; one of neither kind never does. Raises CelError."""
        is_cosign = attestor.body.get("cosign") is not None
        if not is_cosign and attestor.body.get("notary") is None:
            return False
        if attestation is not None:
            if is_cosign and not attestation.get("intoto"):
                text = "cosgin verifier only supports intoto referrers as attestations"
                return self._refused(image, attestor, text)
            if not is_cosign and not attestation.get("referrer"):
                raise CelError("notary verifier only supports oci 1.1 referrers as attestations")
        try:
            source, credentials = self._source, self._credentials
            if attestation is None:
                source.signed(image, attestor.body, credentials)
            else:
                payload = source.attested(image, attestation, attestor.body, credentials)
                kind, name = _kind_of(attestation)
                if kind == "referrer" or name not in SHORT_TYPES:
                    self.evidence.payloads[image, kind, name] = payload
        except SignatureError as error:
            return self._refused(image, attestor, error.message)
        except NoSource as error:
            raise CelError(f"no registry to verify {image} with: {error}") from None
        except LookupFailed as error:
            raise CelError(f"failed to verify image {image}: {error}") from None
        return True

    def _refused(self, image: str, attestor: Attestor, reason: str) -> bool:
        said = " ".join(reason.split())
        said = said if len(said) <= _LONGEST_REASON else f"{said[:_LONGEST_REASON]} …"
        text = f"{image}: attestor {attestor.name}: {said}"
        if text not in self.reasons and len(self.reasons) < _MOST_REASONS:
            self.reasons.append(text)
        return False

    def _asked(self, image: str, ask: Callable[[], Json]) -> Json:
        try:
            return ask()
        except NoSource as error:
            raise CelError(f"no registry to ask for {image}: {error}") from None
        except LookupFailed as error:
            raise CelError(f"failed to get payload: {error.message}") from None


def _kind_of(attestation: Body) -> tuple[str, str]:
    for kind in ("intoto", "referrer"):
        named = attestation.get(kind)
        if isinstance(named, dict):
            return kind, str(named.get("type") or "")
    return "", ""
