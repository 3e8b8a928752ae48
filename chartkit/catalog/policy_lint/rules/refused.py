"""Policies that a release of Kyverno or an API server refuses, or takes only in part: CK72x."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.catalog.policy_lint.rule import Fault, Subject, policy_rule
from chartkit.engine.kubernetes.kinds import ADMISSION, ADMISSION_GROUP, group_of
from chartkit.kyverno import policy_fields
from chartkit.kyverno.known_faults import (
    ChangeKind,
    announced,
    changes,
    known_faults,
)
from chartkit.model import (
    Body,
    Diagnostic,
    FieldPath,
    Json,
    Severity,
    list_of,
    mapping_at,
    mappings_at,
    text_of,
)
from chartkit.suggestions import suggestion
from chartkit.wording import counted

_NAMED: Final = frozenset({ChangeKind.CHANGED, ChangeKind.DEPRECATED, ChangeKind.REMOVED})
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


@policy_rule("CK720")
def young_field(subject: Subject) -> Iterator[Fault]:
    """Fields and kinds that the Kyverno of a cluster does not have yet."""
    version, body = subject.kyverno, subject.resource.body
    if version is None:
        return
    if subject.cluster_policy is not None:
        for use in policy_fields.needed(body):
            if use.field.since > version.minor_version:
                yield _field(subject, use)
        return
    if subject.resource.kind in policy_fields.KINDS and subject.cel_policy is not None:
        needed, newest = policy_fields.minimum_version(body)
        if needed > version.minor_version and newest is None:
            message = f"Kyverno {version} has no {subject.resource.kind}: it came with {needed}"
            yield Fault(("kind",), message)
        elif needed > version.minor_version and newest is not None:
            yield _field(subject, newest)


def _field(subject: Subject, use: policy_fields.Use) -> Fault:
    message = f"Kyverno {subject.kyverno} has no {use.field.text}: it came with {use.field.since}"
    return Fault(use.path, message, "an API server drops the field")


@policy_rule("CK721")
def release_change(subject: Subject) -> Iterator[Fault | Diagnostic]:
    """Changes that a release of Kyverno makes to the meaning of a policy."""
    release = subject.kyverno
    if release is None:
        return
    for fault in known_faults():
        if fault.is_in(release) and fault.concerns(subject.resource):
            message = fault.message(release, subject.resource)
            yield fault.diagnostic(message, subject.resource.location, release)
    of_versions = {**changes(), **{row.version: row.changes for row in announced().values()}}
    for version, listed in of_versions.items():
        for change in listed:
            is_old = version < release.minor_version
            if version > release.minor_version or change.kind not in _NAMED:
                continue
            if is_old and not (change.stops or change.kind is ChangeKind.REMOVED):
                continue
            if change.concerned is None or not change.concerned.has(subject.resource):
                continue
            if next(filter(change.concerned.has, subject.run)) is subject.resource:
                # The one fault for all policies of a run is at the first of them.
                others = sum(map(change.concerned.has, subject.run)) - 1
                more = f" ({counted(others, 'more policy', 'more policies')})" if others else ""
                message = f"Kyverno {version}: {change.sentence}{more}"
                severity = Severity.NOTE if change.kind is ChangeKind.DEPRECATED else None
                yield Fault((), message, change.advice or None, severity=severity)


@policy_rule("CK722")
def refused_admission(subject: Subject) -> Iterator[Fault]:
    """Admission policies and bindings that an API server refuses."""
    resource = subject.resource
    if group_of(resource) == ADMISSION_GROUP:
        spec = mapping_at(resource.body, "spec")
        of_kind = _of_policy if resource.kind in ADMISSION else _of_binding
        for fault in of_kind(spec, resource.kind):
            yield fault._replace(path=("spec", *fault.path))


def _of_policy(spec: Body, kind: str) -> Iterator[Fault]:
    """Yield what is wrong with a policy; paths begin in its spec."""
    rules = mapping_at(spec, "matchConstraints").get("resourceRules")
    if not rules:
        yield Fault((), "matchConstraints.resourceRules must name what the policy is about")
    if kind == "ValidatingAdmissionPolicy":
        if not (spec.get("validations") or spec.get("auditAnnotations")):
            yield Fault((), "validations or auditAnnotations must have at least one item")
    elif not spec.get("mutations"):
        yield Fault((), "mutations must have at least one item")
    for at, rule in enumerate(mappings_at(spec, "matchConstraints", "resourceRules")):
        yield from _of_rule(rule, ("matchConstraints", "resourceRules", at))
    for part, (key, pattern, wanted) in _NAMES.items():
        for at, entry in enumerate(mappings_at(spec, part)):
            name = text_of(entry.get(key))
            if pattern.fullmatch(name) is None:
                yield Fault((part, at), f"{part}[{at}].{key} must be {wanted}, not '{name}'")
    for at, validation in enumerate(mappings_at(spec, "validations")):
        path = ("validations", at)
        if not text_of(validation.get("expression")).strip():
            yield Fault(path, "a validation must have an expression")
        message = text_of(validation.get("message"))
        if "\n" in message.strip() or "\r" in message.strip():
            yield Fault(
                (*path, "message"), "a message must not have line breaks", "write it in one line"
            )
        reason = validation.get("reason")
        if reason is not None and reason not in _REASONS:
            meant = suggestion(str(reason), _REASONS) or f"reasons are {', '.join(_REASONS)}"
            yield Fault((*path, "reason"), f"'{reason}' is not a reason of a validation", meant)
    parameter = mapping_at(spec, "paramKind")
    for key in ("apiVersion", "kind") if spec.get("paramKind") is not None else ():
        if not parameter.get(key):
            yield Fault(("paramKind",), f"paramKind.{key} must be set")


def _of_rule(rule: Body, path: FieldPath) -> Iterator[Fault]:
    for key in _LISTS:
        items = list_of(rule.get(key))
        if not items:
            yield Fault(path, f"{key} of a resource rule must have at least one item")
        elif "*" in items and len(items) > 1 and (key != "resources" or not _has_others(items)):
            yield Fault((*path, key), f"'*' of {key} must stand alone", "remove the others, or '*'")
    for at, operation in enumerate(list_of(rule.get("operations"))):
        if operation not in _OPERATIONS:
            meant = suggestion(str(operation), _OPERATIONS)
            yield Fault((*path, "operations", at), f"there is no operation '{operation}'", meant)


def _has_others(resources: Sequence[Json]) -> bool:
    """Report whether all resources beside `*` are subresources, which it does not include."""
    return all(resource == "*" or "/" in str(resource) for resource in resources)


def _of_binding(spec: Body, kind: str) -> Iterator[Fault]:
    actions = list_of(spec.get("validationActions"))
    if kind == "ValidatingAdmissionPolicyBinding":
        if not actions:
            yield Fault((), "validationActions must have at least one item", "Deny, Warn or Audit")
        elif {"Deny", "Warn"}.issubset(map(str, actions)):
            message = "validationActions must not have both Deny and Warn"
            yield Fault(
                ("validationActions",), message, "leave Warn out: Deny sends the same message"
            )
    parameter = mapping_at(spec, "paramRef")
    if parameter:
        if bool(parameter.get("name")) == (parameter.get("selector") is not None):
            yield Fault(("paramRef",), "paramRef must have either a name or a selector")
        if not parameter.get("parameterNotFoundAction"):
            yield Fault(("paramRef",), "paramRef.parameterNotFoundAction must be Allow or Deny")
