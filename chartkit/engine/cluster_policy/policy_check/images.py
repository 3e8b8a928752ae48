"""The faults of verifyImages entries that Kyverno's webhook rejects
(`api/kyverno/v1/image_verification_types.go`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from chartkit.engine.cluster_policy.policy import Rule
from chartkit.engine.ports.signatures import METHODS, attestor_types, kyverno_types
from chartkit.errors import EvaluationError
from chartkit.go.fmt import go_json
from chartkit.model import Body, Json
from chartkit.schemas.compact import Schema, flattened, type_library

SELECTOR: Final = "v1.LabelSelector"
_LIST: Final = "[]"
_MAP: Final = "map[string]"
_CONDITIONS: Final = "Conditions"


def rule_json(body: Body, api_version: str = "kyverno.io/v1") -> str:
    """A rule with the defaults of its custom resource definition."""
    name = "RuleV2" if api_version.endswith("/v2beta1") else "Rule"
    return typed_json("v1.Rule", with_defaults({"$ref": name}, body))


def with_defaults(schema: Schema, value: Json) -> Any:
    """Return a value with the defaults of its type in `chartkit.schemas`, below it too."""
    types = type_library()
    if "$ref" in schema:
        schema = flattened(types[schema["$ref"]], types)
    if isinstance(value, list):
        return [with_defaults(schema.get("items", {}), element) for element in value]
    if not isinstance(value, dict):
        return value
    fields: Schema = schema.get("properties", {})
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    given = {name: with_defaults(fields.get(name, {}), member) for name, member in value.items()}
    return {**defaults, **given}


def typed_json(struct: str, body: Body) -> str:
    """An object of a type of Kyverno's API, its fields in Go's order."""
    parts = []
    for entry, kind in kyverno_types()[struct].items():
        name = entry.removesuffix("!")
        value = body.get(name)
        if value is None or value in _EMPTY.get(kind.partition("[")[0], ((), [])):
            if name == entry:
                continue
            value = None
        parts.append(f'"{name}":{_printed(kind, value)}')
    return "{" + ",".join(parts) + "}"


_EMPTY: Final[dict[str, tuple[Json, ...]]] = {
    **dict.fromkeys(("Raw", "*bool", "*string"), ()),
    "map": ({},),
    "bool": (False,),
    "int=int64": (0,),
    **dict.fromkeys(("string", "v1.ImageVerificationType=string"), ("",)),
}
"""Values that `omitempty` leaves out, by the beginning of their type; of all others no elements."""


def _printed(kind: str, value: Json) -> str:
    types = kyverno_types()
    element = kind.removeprefix(_LIST)
    if kind == _CONDITIONS:
        element = "v1.Condition"
        kind = _LIST if isinstance(value, list) else "v1.AnyAllConditions"
    if kind.startswith(_LIST) and element in types and value:
        return "[" + ",".join(typed_json(element, item) for item in value) + "]"
    if kind in types:
        return typed_json(kind, value or {})
    if kind.startswith(_MAP) and isinstance(value, dict):
        element = kind.removeprefix(_MAP)
        members = (f"{go_json(key)}:{_printed(element, value[key])}" for key in sorted(value))
        return "{" + ",".join(members) + "}"
    return go_json(_ZEROES.get(kind) if value is None else value)


_ZEROES: Final[dict[str, Json]] = {"string": "", "bool": False}


_ENTRY: Final = {"$ref": "ImageVerification"}
_ONE_METHOD: Final = "keys, certificates, keyless, or a nested attestor is required"
_ALGORITHMS: Final = ("", "sha224", "sha256", "sha384", "sha512")


def images_fault(index: int, rule: Rule, failure_action: str) -> str | None:
    """Return the fault of the entries of the rule at an index, if any.

    failure_action: the policy's own. An entry without one has the action of the entry before it.
    """
    faults: dict[str, None] = {}
    for at, block in enumerate(rule.verify_images):
        path = f"spec.rules[{index}].verifyImages[{at}]"
        failure_action = block.get("failureAction") or failure_action
        if failure_action in ("Audit", "audit") and block.get("mutateDigest") is not False:
            faults[
                f"{path}.mutateDigest: Invalid value: true: "
                "mutateDigest must be set to false for ‘Audit’ failure action"
            ] = None
        faults.update(dict.fromkeys(_block_faults(with_defaults(_ENTRY, block), path)))
    if not faults:
        return None
    return next(iter(faults)) if len(faults) == 1 else f"[{', '.join(faults)}]"


def _block_faults(block: Body, path: str) -> Iterator[str]:
    whole = typed_json("v1.ImageVerification", block)
    from chartkit.engine.cluster_policy.verify_images.blocks import converted

    read = converted(block)
    if not read.get("imageReferences"):
        yield f"{path}: Invalid value: {whole}: An image reference is required"
    for at, attestation in enumerate(read.get("attestations") or ()):
        yield from _sets_faults(attestation, f"{path}.attestations[{at}].attestors")
    yield from _sets_faults(read, f"{path}.attestors")
    if block.get("type") != "Notary":
        return
    for attestor_set in block.get("attestors") or ():
        for entry in attestor_set.get("entries") or ():
            for name, method in (("Keyless", "keyless"), ("Keys", "keys")):
                if entry.get(method) is not None:
                    text = f"{name} field is not allowed for type notary"
                    yield f"{path}.attestors: Invalid value: {whole}: {text}"


def _sets_faults(body: Body, path: str) -> Iterator[str]:
    for at, attestors in enumerate(body.get("attestors") or ()):
        yield from _set_faults(attestors, f"{path}[{at}]")


def _set_faults(body: Body, path: str) -> Iterator[str]:
    invalid = f"{path}: Invalid value: {typed_json('v1.AttestorSet', body)}"
    entries = body.get("entries") or ()
    if (body.get("count") or 0) > len(entries):
        yield f"{invalid}: Count cannot exceed length of entries"
    if not entries:
        yield f"{invalid}: An entry is required"
    for at, entry in enumerate(entries):
        entry_path = f"{path}.entries[{at}]"
        if sum(entry.get(name) is not None for name in (*METHODS, "attestor")) != 1:
            yield f"{entry_path}: Invalid value: {typed_json('v1.Attestor', entry)}: {_ONE_METHOD}"
        for method, fault in (
            ("keys", _keys_fault),
            ("certificates", _certificates_fault),
            ("keyless", _keyless_fault),
        ):
            body = entry.get(method)
            if body is None:
                continue
            text = fault(body)
            if text is not None:
                shown = typed_json(kyverno_types()["v1.Attestor"][method], body)
                yield f"{entry_path}.{method}: Invalid value: {shown}: {text}"
        if entry.get("attestor") is not None:
            yield from _nested_faults(entry["attestor"], f"{entry_path}.attestor")


def _nested_faults(body: Body, path: str) -> Iterator[str]:
    try:
        decoded = attestor_types().decode("v1.AttestorSet", body)
    except EvaluationError as error:
        shown = go_json(body)
        text = f"failed to unmarshal attestor set {shown}: {error.message}"
        yield f"{path}: Invalid value: {shown}: {text}"
        return
    yield from _set_faults(decoded, path)


def _keys_fault(body: Body) -> str | None:
    if not (body.get("publicKeys") or body.get("kms") or body.get("secret") is not None):
        return "A public key, kms key or secret is required"
    if body.get("publicKeys") and (body.get("signatureAlgorithm") or "") not in _ALGORITHMS:
        return "Invalid signature algorithm provided"
    return None


def _certificates_fault(body: Body) -> str | None:
    return None if body.get("cert") or body.get("certChain") else "cert or certChain required"


def _keyless_fault(body: Body) -> str | None:
    rekor = body.get("rekor")
    if rekor is None:
        return None if body.get("roots") else "Either Rekor URL or roots are required"
    return None if rekor.get("url") else "An URL is required"
