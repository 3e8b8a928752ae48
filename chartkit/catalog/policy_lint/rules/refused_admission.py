"""CK722: admission policies and bindings that an API server refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine.kubernetes.kinds import ADMISSION, ADMISSION_GROUP, BINDINGS, group_of
from chartkit.model import (
    Body,
    Diagnostic,
    FieldPath,
    Json,
    list_of,
    mapping_at,
    mappings_at,
    text_of,
)
from chartkit.suggestions import suggestion

_Fault = tuple[FieldPath, str, str | None]
_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")
_REASONS: Final = ("Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge")
_QUALIFIED: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMES: Final = {
    "matchConditions": ("name", _QUALIFIED, "a qualified name, such as not-system"),
    "variables": ("name", _IDENTIFIER, "an identifier of CEL: letters, digits and _"),
    "auditAnnotations": ("key", _QUALIFIED, "a qualified name, such as owner"),
}
_LISTS: Final = ("apiGroups", "apiVersions", "operations", "resources")


class RefusedAdmission(PolicyRule):
    id = "CK722"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        resource = subject.resource
        if group_of(resource) != ADMISSION_GROUP:
            return
        spec = mapping_at(resource.body, "spec")
        faults: Iterator[_Fault] = iter(())
        if resource.kind in ADMISSION:
            faults = _of_policy(spec, resource.kind)
        elif resource.kind in BINDINGS:
            faults = _of_binding(spec, resource.kind)
        for path, message, hint in faults:
            yield self.finding(subject, ("spec", *path), message, hint)


def _of_policy(spec: Body, kind: str) -> Iterator[_Fault]:
    rules = mapping_at(spec, "matchConstraints").get("resourceRules")
    if not rules:
        yield (), "matchConstraints.resourceRules must name what the policy is about", None
    if kind == "ValidatingAdmissionPolicy":
        if not (spec.get("validations") or spec.get("auditAnnotations")):
            yield (), "validations or auditAnnotations must have at least one item", None
    elif not spec.get("mutations"):
        yield (), "mutations must have at least one item", None
    for at, rule in enumerate(mappings_at(spec, "matchConstraints", "resourceRules")):
        yield from _of_rule(rule, ("matchConstraints", "resourceRules", at))
    for part, (key, pattern, wanted) in _NAMES.items():
        for at, entry in enumerate(mappings_at(spec, part)):
            name = text_of(entry.get(key))
            if pattern.fullmatch(name) is None:
                yield (part, at), f"{part}[{at}].{key} must be {wanted}, not '{name}'", None
    for at, validation in enumerate(mappings_at(spec, "validations")):
        path = ("validations", at)
        if not text_of(validation.get("expression")).strip():
            yield path, "a validation must have an expression", None
        message = text_of(validation.get("message"))
        if "\n" in message.strip() or "\r" in message.strip():
            yield (*path, "message"), "a message must not have line breaks", "write it in one line"
        reason = validation.get("reason")
        if reason is not None and reason not in _REASONS:
            meant = suggestion(str(reason), _REASONS) or f"reasons are {', '.join(_REASONS)}"
            yield (*path, "reason"), f"'{reason}' is not a reason of a validation", meant
    parameter = mapping_at(spec, "paramKind")
    for key in ("apiVersion", "kind") if spec.get("paramKind") is not None else ():
        if not parameter.get(key):
            yield ("paramKind",), f"paramKind.{key} must be set", None


def _of_rule(rule: Body, path: FieldPath) -> Iterator[_Fault]:
    for key in _LISTS:
        items = list_of(rule.get(key))
        if not items:
            yield path, f"{key} of a resource rule must have at least one item", None
        elif "*" in items and len(items) > 1 and (key != "resources" or not _has_others(items)):
            yield (*path, key), f"'*' of {key} must stand alone", "remove the others, or '*'"
    for at, operation in enumerate(list_of(rule.get("operations"))):
        if operation not in _OPERATIONS:
            meant = suggestion(str(operation), _OPERATIONS)
            yield (*path, "operations", at), f"there is no operation '{operation}'", meant


def _has_others(resources: Sequence[Json]) -> bool:
    """Report whether all resources beside `*` are subresources, which it does not include."""
    return all(each == "*" or "/" in str(each) for each in resources)


def _of_binding(spec: Body, kind: str) -> Iterator[_Fault]:
    actions = list_of(spec.get("validationActions"))
    if kind == "ValidatingAdmissionPolicyBinding":
        if not actions:
            yield (), "validationActions must have at least one item", "Deny, Warn or Audit"
        elif {"Deny", "Warn"}.issubset(map(str, actions)):
            message = "validationActions must not have both Deny and Warn"
            yield ("validationActions",), message, "leave Warn out: Deny sends the same message"
    parameter = mapping_at(spec, "paramRef")
    if parameter:
        if bool(parameter.get("name")) == (parameter.get("selector") is not None):
            yield ("paramRef",), "paramRef must have either a name or a selector", None
        if not parameter.get("parameterNotFoundAction"):
            yield ("paramRef",), "paramRef.parameterNotFoundAction must be Allow or Deny", None
