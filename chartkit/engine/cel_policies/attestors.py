"""The attestors of an ImageValidatingPolicy: opaque to expressions, with texts that expressions
may give (`pkg/image/verification/variables`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from chartkit.engine.cel import types
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.library.printing import no_conversion, show, text_of
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Opaque, Value
from chartkit.engine.cel_policies.admission import has_own_webhook
from chartkit.engine.cel_policies.expressions import ExpressionCompiler
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import Deferred
from chartkit.model import Body, Json, RuleResult, Status, mapping_at, value_at, with_value

_GO_NAME: Final = "v1alpha1.Attestor"
_COMPUTED: Final = (
    (("cosign", "key"), "data", "key"),
    (("cosign", "certificate", "cert"), "value", "cert"),
    (("cosign", "certificate", "certChain"), "value", "cert chain"),
    (("notary", "certs"), "value", "notary cert"),
    (("notary", "tsaCerts"), "value", "notary tsa cert"),
    (("cosign", "trustedRoot"), "value", "trustedRoot"),
)
"""The fields with expressions, the fields that their values fill, and Kyverno's names for them."""
_NOT_COMPILED: Final = ("cosign", "certificate")
"""The fields that Kyverno ignores if an expression gives a key."""


@dataclass(frozen=True, slots=True, eq=False)
class Attestor(Opaque):
    """An attestor of images; body: an entry of `spec.attestors`, its expressions replaced with
    their values. Expressions see nothing of it."""

    cel_type: ClassVar[Type] = types.opaque("imageverify.attestor")

    body: Body

    @property
    def name(self) -> str:
        return str(self.body.get("name") or "")

    def equals(self, other: Value) -> bool:
        """Two attestors that are written alike are equal; raises CelError for anything else."""
        if not isinstance(other, Attestor):
            raise CelError("no such overload")
        return other.body == self.body

    def type_value(self) -> Type:
        """Raise CelError: the type has no value in Kyverno."""
        raise CelError(f"type conversion error from '{self.cel_type.name}' to 'type'")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class _Computed:
    """A text of an attestor that an expression gives."""

    path: tuple[str, ...]
    field: str
    what: str
    program: Program


@dataclass(frozen=True, slots=True)
class CompiledAttestor:
    """An attestor whose expressions became programs."""

    body: Body
    computed: tuple[_Computed, ...]

    def evaluate(self, scope: Mapping[str, Value], host: Host) -> Attestor:
        """The attestor with its texts; raises CelError."""
        body, name = self.body, self.body["name"]
        for computed in self.computed:
            around = f"failed to convert {computed.what} in compiled attestor: {name}, error: "
            try:
                value = computed.program.evaluate(scope, host)
            except CelError as error:
                text = f"failed to evaluate compiled attestor: {name}, error: {error.message}"
                raise CelError(around + text) from error
            try:
                filled = text_of(value)
            except CelError as error:
                text = f"failed to convert expression in compiled attestor: {name}, error: "
                raise CelError(around + text + error.message) from error
            body = with_value(body, (*computed.path, computed.field), filled)
        return Attestor(body)


def compile_attestors(
    bodies: Sequence[Body], compiler: ExpressionCompiler
) -> dict[str, CompiledAttestor]:
    """The attestors by name; the compiler notes those that do not compile."""
    attestors: dict[str, CompiledAttestor] = {}
    for index, body in enumerate(bodies):
        computed: list[_Computed] = []
        for path, key, what in _COMPUTED:
            text = value_at(body, (*path, "expression"))
            if not isinstance(text, str) or not text:
                continue
            if path[:2] == _NOT_COMPILED and value_at(body, ("cosign", "key", "expression")):
                continue
            field = f"spec.attestors[{index}].{'.'.join(path)}.expression"
            program = compiler.one(field, text)
            if program is not None:
                computed.append(_Computed(path, key, what, program))
        attestors[body["name"]] = CompiledAttestor(body, tuple(computed))
    return attestors


class Attestors(Deferred):
    """The variable `attestors`: each is made when it is first asked for.

    A macro goes through the attestors themselves, as in Kyverno, and not through their names.
    """

    __slots__ = ("_compiled", "_host", "_scope")

    def __init__(
        self,
        compiled: Mapping[str, CompiledAttestor],
        scope: Mapping[str, Value],
        host: Host,
    ) -> None:
        super().__init__(compiled)
        self._compiled, self._scope, self._host = compiled, scope, host

    def compute(self, name: str) -> Value:
        """An attestor; raises CelError."""
        if not isinstance(name, str):
            raise CelError("no such overload")
        return self._compiled[name].evaluate(self._scope, self._host)

    def __iter__(self) -> Iterator[Value]:  # type: ignore[override]
        return (self[name] for name in self._compiled)

    def __len__(self) -> int:
        return len(self._compiled)

    def get(self, _key: Value, _default: Value = None, /) -> Value:
        """Raise CelError, because Kyverno has no answer."""
        raise CelError("no such overload")


def attestors_in(values: Sequence[Value]) -> list[Attestor]:
    """The attestors that an expression lists; raises CelError for anything else."""
    return [_attestor(value) for value in values]


def _attestor(value: Value) -> Attestor:
    if isinstance(value, Attestor):
        return value
    if isinstance(value, str):
        raise CelError(f"unsupported native conversion from string to '{_GO_NAME}'")
    if not isinstance(value, dict):
        raise no_conversion(value, _GO_NAME)
    names = {key: show(key) for key in value}
    fields = {f"{name[:1].upper()}{name[1:]}": value[key] for key, name in names.items()}
    for name in fields.keys() - {"Name", "Cosign", "Notary"}:
        text = f"no such field '{name}' in type '{_GO_NAME}'"
        raise CelError(f"type conversion error, {text}")
    if fields.keys() - {"Name"}:
        # Kyverno would read the names of Go here; whoever vouches stands in the policy.
        raise CelError("an attestor is not written in an expression: name it in spec.attestors")
    return Attestor({"name": text_of(fields.get("Name", ""))})


StatementKey = tuple[str, str, str]
"""An image as it is named, `intoto` or `referrer`, and the type of an attestation."""

_UNCHECKED: Final = "no policy performed a signature or attestation check on it"


@dataclass(frozen=True, slots=True)
class Claim:
    """Images that a policy requires to be verified; reasons: properties that say why attestors did
    not vouch for them; fields: returns the JSON pointers of an image."""

    images: tuple[str, ...]
    reasons: Mapping[str, str]
    fields: Callable[[str], tuple[str, ...]]


@dataclass(slots=True)
class Evidence:
    """For the policies that a cluster asks together.

    verified: whether any check of an image passed, for those that were checked; payloads: what
    verified attestations say; required: by a policy's id, what must have passed.
    """

    verified: dict[str, bool] = field(default_factory=dict)
    payloads: dict[StatementKey, Json] = field(default_factory=dict)
    required: dict[str, Claim] = field(default_factory=dict)

    def record(self, image: str, verified: bool) -> None:
        """Notes how a check ended; one that passed is not undone."""
        self.verified[image] = self.verified.get(image, False) or verified

    def missing(self, images: Sequence[str]) -> tuple[str, str] | None:
        """The first image that passed no check, and its fault; None if all passed."""
        for image in images:
            passed = self.verified.get(image)
            if passed is None:
                return image, f"image {image} is not verified: {_UNCHECKED}"
            if not passed:
                return image, f"image {image} failed signature or attestation verification"
        return None


@dataclass(slots=True)
class RequestEvidence:
    """The evidence of one request; policies that a cluster asks in calls of their own share
    nothing."""

    _by_call: dict[str, Evidence] = field(default_factory=dict)

    def of(self, call: str) -> Evidence:
        """The evidence of the policies that are asked in one call."""
        return self._by_call.setdefault(call, Evidence())

    def settled(self, result: RuleResult) -> RuleResult:
        """A result after all policies were judged: what passed fails where an image that the
        policy requires to be verified was not, by any of them."""
        if result.status is not Status.PASS:
            return result
        for evidence in self._by_call.values():
            claim = evidence.required.get(result.policy_id)
            problem = None if claim is None else evidence.missing(claim.images)
            if claim is not None and problem is not None:
                image, message = problem
                return replace(
                    result,
                    status=Status.FAIL,
                    message=message,
                    properties={**claim.reasons, **result.properties},
                    fields=claim.fields(image),
                )
        return result


def call_of(policy: CelPolicy) -> str:
    """Return the key of the call in which a cluster asks a policy.

    A policy may have a webhook of its own; all others of a kind share one with those of the same
    selectors. Any JSON is judged at once.
    """
    if policy.json:
        return ""
    if has_own_webhook(policy):
        return policy.id
    constraints = mapping_at(policy.spec, "matchConstraints")
    selectors = [constraints.get(name) or {} for name in ("namespaceSelector", "objectSelector")]
    return f"{policy.kind_name} {json.dumps(selectors, sort_keys=True)}"
