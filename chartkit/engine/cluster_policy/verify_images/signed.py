"""The images that a rule finds in an object, and their signatures and attestations as the attestors
of an entry give them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from chartkit.engine.cluster_policy.conditions.blocks import compile_conditions
from chartkit.engine.cluster_policy.handler import Checked
from chartkit.engine.cluster_policy.verify_images.blocks import (
    Attestation,
    Attestor,
    AttestorSet,
    ImageBlock,
    Unusable,
)
from chartkit.engine.context.context import Context
from chartkit.engine.context.images import ImageExtractor, extract_images
from chartkit.engine.context.variables import SubstitutionError, Template
from chartkit.engine.ports.signatures import (
    SignatureError,
    UnknownKeyError,
    VerificationRequest,
    Verified,
)
from chartkit.engine.ports.world import Credentials, SignatureSource
from chartkit.errors import ChartkitError, EvaluationError, LookupFailed, NoSource, Reraise
from chartkit.go.fmt import UnsupportedValueError, go_json, go_sprint
from chartkit.model import Body, Json, Status, kind_of, mapping_at, text_of

_KYVERNO: Final = "kyverno"


@dataclass(frozen=True, slots=True)
class Image:
    """An image of an object. reference: the whole of it, with the digest before the tag; path: the
    keys that lead to it; parts: what expressions see of it."""

    reference: str
    digest: str
    path: tuple[str, ...]
    parts: Body

    def at(self, digest: str) -> str:
        """The reference with a digest that was found; the image's own counts first."""
        if self.digest or not digest:
            return self.reference
        registry = self.parts.get("registry")
        path: str = self.parts["path"]
        return f"{registry}/{path}@{digest}" if registry else f"{path}@{digest}"


Extract = Callable[[Body], Mapping[str, Json]]
"""Finds an object's images, by what found them and their key, in the parts that expressions see;
raises EvaluationError where the object is not built as the policy says."""


def compile_extractors(body: Mapping[str, Json]) -> Extract:
    """Return a search for the images of objects of any kind.

    body: `imageExtractors`, by kind; other kinds have the images of their pods.
    """
    by_kind = {kind: [_compile(entry) for entry in listed or ()] for kind, listed in body.items()}

    def extract(resource: Body) -> Mapping[str, Json]:
        extractors = by_kind.get(kind_of(resource))
        if extractors is None:
            return extract_images(resource)
        if not extractors:
            raise EvaluationError(f"no extractors found for {resource['kind']}")
        images_by_name: dict[str, Json] = {}
        for extractor in extractors:
            if images := extractor.find(resource):
                images_by_name[extractor.name] = images
        return images_by_name

    return extract


def images_in(extracted: Mapping[str, Json]) -> Sequence[Image]:
    """Return the images that were found, in order."""
    return [
        Image(
            member["reference"],
            member.get("digest", ""),
            tuple(member["jsonPointer"].split("/")[1:]),
            {key: value for key, value in member.items() if key != "jsonPointer"},
        )
        for members in extracted.values()
        for member in members.values()
    ]


def pull_secrets(resource: Body, image: Image) -> tuple[str, ...]:
    """Return the pull Secrets of an image, as `namespace/name`: all that objects on the path to it
    name."""
    namespace = mapping_at(resource, "metadata").get("namespace")
    names: list[str] = []
    value: Json = resource
    for step in image.path:
        if isinstance(value, list):
            value = value[int(step)]
        elif isinstance(value, dict):
            listed = value.get("imagePullSecrets")
            members = listed if isinstance(listed, list) else []
            named = (member.get("name") for member in members if isinstance(member, dict))
            names += [name for name in named if isinstance(name, str)]
            value = value.get(step)
    return tuple(f"{namespace or _KYVERNO}/{name}" for name in names)


def _compile(body: Body) -> ImageExtractor:
    fields = tuple(step.strip(" ") for step in _text(body, "path").split("/") if step.strip(" "))
    value = _text(body, "value")
    if not value:
        value = fields[-1] if fields else ""
        fields = fields[:-1]
    name = _text(body, "name") or "custom"
    return ImageExtractor(fields, name, _text(body, "key"), value, _text(body, "jmesPath"))


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    return text_of(value)


_ANNOTATION: Final = "kyverno.io/verify-images"
_SCOPED: Final = "kyverno.io/verify-images-scoped"
_VERSION: Final = 1


def recorded_status(resource: Body, policy: str, rule: str, image: str) -> str:
    """`pass`, `skip`, `fail` or whatever is written there for an image; `fail` for nothing.

    policy: `namespace/name`, with an empty namespace for a ClusterPolicy. Raises EvaluationError
    for an annotation that is not a record.
    """
    text = _annotations(resource).get(_SCOPED)
    if not isinstance(text, str):
        return "fail"
    with Reraise("failed to parse scoped image metadata: ", (ValueError, RecursionError)):
        record = json.loads(text)
    value: Json = _policies(record)
    for key in (policy, rule, image):
        value = mapping_at(value).get(key)
    return value if isinstance(value, str) else "fail"


def with_record(resource: Body, policy: str, rule: str, images: Mapping[str, str]) -> Body:
    """Return the object with a rule's findings about its images; records of other rules stay.

    images: `pass`, `skip` or `fail` by the whole reference.
    """
    # An enumeration's text is not a string of JSON's.
    written = {image: str(status) for image, status in images.items()}
    annotations = _annotations(resource)
    policies = _policies(_read(annotations.get(_SCOPED)))
    rules = {**mapping_at(policies.get(policy)), rule: written}
    scoped = go_json({**policies, policy: rules})
    made = {
        **annotations,
        _ANNOTATION: go_json({**mapping_at(_read(annotations.get(_ANNOTATION))), **written}),
        _SCOPED: f'{{"version":{_VERSION},"policies":{scoped}}}',
    }
    metadata = {**mapping_at(resource, "metadata"), "annotations": made}
    return {**resource, "metadata": metadata}


def _annotations(resource: Body) -> Body:
    return mapping_at(mapping_at(resource, "metadata").get("annotations"))


def _read(text: Json) -> Json:
    """Read a record; one that cannot be read is replaced."""
    try:
        return json.loads(text, parse_constant=_refuse) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _policies(record: Json) -> Body:
    read = mapping_at(record)
    return mapping_at(read, "policies") if read.get("version") == _VERSION else {}


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding about an image's signatures. digest: of the signed image, empty if unknown;
    is_open: it could not be verified here."""

    status: Status
    message: str
    digest: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why one attestor does not count. status: FAIL if it did not sign, ERROR if that is
    unknown; is_open: because it cannot be verified here."""

    text: str
    status: Status = Status.FAIL
    is_open: bool = False

    def under(self, path: str) -> Fault:
        """The same behind the place of an entry."""
        return replace(self, text=f"{path}: {self.text}")


@dataclass(frozen=True, slots=True)
class Verifier:
    """The verifier of the images of an object. secrets: the pull Secrets of its pods, as
    `namespace/name`."""

    source: SignatureSource
    secrets: tuple[str, ...] = ()

    def signature(self, question: VerificationRequest, image: str) -> Verified:
        """As a source answers; raises LookupFailed."""
        return self.source.signature(self._about(question, image))

    def attestations(self, question: VerificationRequest, image: str) -> Verified:
        """As a source answers; raises LookupFailed."""
        return self.source.attestations(self._about(question, image))

    def with_secrets(self, credentials: Credentials) -> Credentials:
        """A policy's credentials, followed by the pods' own."""
        if not self.secrets:
            return credentials
        return credentials._replace(secrets=(*credentials.secrets, *self.secrets))

    def _about(self, question: VerificationRequest, image: str) -> VerificationRequest:
        return replace(question, image=image, credentials=self.with_secrets(question.credentials))


def fault_of(error: LookupFailed) -> Fault:
    """The fault of an unanswered request, or of the verdict that an attestor did not sign."""
    is_verdict = isinstance(error, SignatureError)
    status = Status.FAIL if is_verdict else Status.ERROR
    if isinstance(error, UnknownKeyError):
        return Fault(str(error), status, is_open=True)
    return Fault(error.message, status, isinstance(error, NoSource))


def unusable_fault(entry: Unusable) -> Fault:
    """An entry that cannot be asked."""
    return Fault(entry.fault, Status.FAIL if entry.is_refusal else Status.ERROR)


def joined(faults: Sequence[Fault]) -> str:
    """All texts in one."""
    return "; ".join(fault.text for fault in faults)


def check_attestors(sets: Sequence[AttestorSet], verifier: Verifier, image: str) -> Finding:
    """Require every set of attestors; the digest is the last set's."""
    digest = ""
    for at, wanted in enumerate(sets):
        outcome = _check_set(wanted, verifier, image, f".attestors[{at}]")
        if not isinstance(outcome, Verified):
            text = f"failed to verify image {image}: {joined(outcome)}"
            return Finding(worst(outcome), text, is_open=any(fault.is_open for fault in outcome))
        digest = outcome.digest
    return Finding(Status.PASS, f"verified image signatures for {image}", digest)


def worst(faults: Sequence[Fault]) -> Status:
    """The worst status. A question without an answer leaves open whether an image is signed."""
    is_error = any(fault.status is Status.ERROR for fault in faults)
    return Status.ERROR if is_error else Status.FAIL


def _check_set(
    wanted: AttestorSet, verifier: Verifier, image: str, path: str
) -> Verified | Sequence[Fault]:
    faults: list[Fault] = []
    verified = 0
    for at, entry in enumerate(wanted.entries):
        entry_path = f"{path}.entries[{at}]"
        if isinstance(entry, AttestorSet):
            outcome: Verified | Sequence[Fault] = _check_set(
                entry, verifier, image, f"{entry_path}.attestor"
            )
        elif isinstance(entry, Unusable):
            fault = unusable_fault(entry)
            outcome = [fault if entry.is_refusal else fault.under(entry_path)]
        else:
            try:
                outcome = verifier.signature(entry.question, image)
            except LookupFailed as error:
                outcome = [fault_of(error).under(entry_path + entry.place)]
        if not isinstance(outcome, Verified):
            faults += outcome
            continue
        verified += 1
        if verified >= wanted.required:
            return outcome
    return faults


@dataclass(slots=True)
class AttestationCheck:
    """The check of one image's attestations. What they say stays in the context, for conditions
    over all of them. digest: of the image, as it or its signature says it; empty if unknown."""

    context: Context
    verifier: Verifier
    image: Image
    digest: str

    @property
    def _reference(self) -> str:
        return self.image.at(self.digest)

    def run(
        self, block: ImageBlock, rule: str, validations: Sequence[Callable[[Context], Checked]]
    ) -> Finding:
        """Return the finding about an entry's attestations, and about the denials of all entries.

        rule: its name; validations: of all entries of the rule.
        """
        for at, attestation in enumerate(block.attestations):
            path = f".attestations[{at}]"
            if not attestation.type:
                return Finding(Status.FAIL, f"{path}: missing type")
            finding = self._check(attestation, path, at)
            if finding is not None:
                return finding
        if not validations:
            text = f"verified image attestations for {self._reference}"
            return Finding(Status.PASS, text, self.digest)
        for validation in validations:
            checked = validation(self.context)
            if checked.status is not Status.PASS:
                text = f"validation in verifyImages failed: {checked.message}"
                return Finding(Status.FAIL, text, self.digest)
        text = f"verifyImages validation is passed in {rule} rule"
        return Finding(Status.PASS, text, self.digest)

    def _check(self, attestation: Attestation, path: str, index: int) -> Finding | None:
        """Return the fault of one attestation; None if every set of attestors is satisfied."""
        faults: list[Fault] = []
        for at, wanted in enumerate(attestation.sets):
            # Kyverno numbers the entries with the attestation's own index.
            entry_path = f"{path}.attestors[{at}].entries[{index}]"
            verified = 0
            for entry in wanted.entries:
                fault = self._ask(attestation, entry, entry_path)
                if fault is not None:
                    faults.append(fault)
                    continue
                verified += 1
                if verified >= wanted.required:
                    break
            if verified < wanted.required:
                return self._too_few(verified, wanted.required, faults)
        return None

    def _too_few(self, verified: int, required: int, faults: Sequence[Fault]) -> Finding:
        if any(fault.is_open for fault in faults):
            text = f"failed to verify image {self._reference}: {joined(faults)}"
            return Finding(Status.ERROR, text, is_open=True)
        text = (
            f"image attestations verification failed, verifiedCount: {verified}, requiredCount: "
            f"{required}, error: {joined(faults) or 'attestations verification failed'}"
        )
        return Finding(worst(faults), text)

    def _ask(self, attestation: Attestation, entry: Attestor | Unusable, path: str) -> Fault | None:
        if isinstance(entry, Unusable):
            return unusable_fault(entry).under(path)
        try:
            verified = self.verifier.attestations(entry.question, self._reference)
        except LookupFailed as error:
            # Kyverno fails here whatever the reason is, the network's faults among them.
            fault = fault_of(error)
            return fault if fault.is_open else replace(fault, status=Status.FAIL)
        try:
            # Puts the first predicate under an attestation's name.
            predicates = (statement.get("predicate") for statement in verified.statements)
            predicate = next((body for body in predicates if isinstance(body, dict)), None)
            if predicate is None:
                raise EvaluationError("predicate not found in any statement")
            with Reraise("", UnsupportedValueError):
                size = len(go_json(predicate).encode())
            self.context.count(size)
            self.context.add((attestation.name,), predicate)
        except ChartkitError as error:
            return Fault(error.message)
        self.digest = self.digest or verified.digest
        wrong = self._wrong(attestation, verified.statements)
        return None if wrong is None else Fault(wrong).under(path + entry.place)

    def _wrong(self, attestation: Attestation, statements: Sequence[Body]) -> str | None:
        """Return why statements do not satisfy the attestation; None if they do."""
        matching = [body for body in statements if body.get("type") == attestation.type]
        if not matching:
            return f"attestions not found for predicate type {attestation.type}"
        conditions = attestation.conditions
        if conditions is None:
            return None
        for statement in matching:
            try:
                message = _unmet(conditions, statement, self.context)
            except ChartkitError as error:
                return f"failed to check attestations: {error.message}"
            if message is not None:
                return (
                    f"attestation checks failed for {self._reference} and predicate "
                    f"{attestation.type}: {message}"
                )
        return None


def _unmet(conditions: Template, statement: Body, context: Context) -> str | None:
    """Return why a statement's predicate does not meet the conditions, each of which must hold;
    None if it does. Raises ChartkitError for conditions that cannot be evaluated."""
    predicate = statement.get("predicate")
    if not isinstance(predicate, dict):
        text = go_sprint(statement)
        raise EvaluationError(f"failed to extract predicate from statement: {text}")
    seen = context.child()
    seen.add((), predicate)
    # All conditions with their variables replaced, before any of them is asked; Kyverno decodes
    # them anew.
    with Reraise("failed to substitute variables in attestation conditions: ", SubstitutionError):
        resolved = conditions.resolve(seen)
    with Reraise("", UnsupportedValueError):
        made: list[Json] = json.loads(go_json(resolved))
    for body in made:
        outcome = compile_conditions(body).evaluate(seen)
        if not outcome.holds:
            return outcome.message
    return None
