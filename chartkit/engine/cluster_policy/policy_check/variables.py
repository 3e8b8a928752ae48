"""The variables that a policy may use: a dry run of its substitution with a list of names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

from chartkit.documents.reader import parse_yaml
from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind
from chartkit.engine.context.context import Context, QueryError
from chartkit.engine.context.variables import (
    SubstitutionError,
    compile_template,
    has_references,
    has_variable,
    may_vary,
)
from chartkit.engine.jmespath import Expression, JMESPathError, compile_expression
from chartkit.engine.kubernetes.definitions import show_path
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import InputError, Reraise
from chartkit.go.fmt import go_json
from chartkit.model import Body, Json

_FUNCTION: Final = r"([a-z_0-9]+\()[^{}]"
_NAMES: Final = (
    rf"request|serviceAccountName|serviceAccountNamespace|element|elementIndex|@|images|image|"
    rf"{_FUNCTION}"
)
_BACKGROUND_NAMES: Final = rf"request\.|element|elementIndex|@|images|images\.|image\.|{_FUNCTION}"
_TARGET_NAMES: Final = (
    r"request\.|serviceAccountName|serviceAccountNamespace|element|elementIndex|@|images|images\.|"
    rf"image\.|target\.|{_FUNCTION}"
)
_BACKGROUND_TARGET_NAMES: Final = (
    rf"request\.|element|elementIndex|@|images|images\.|image\.|target\.|{_FUNCTION}"
)

_VARIABLE: Final = re.compile(r"(^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*\}\})")
_PLAIN_VARIABLE: Final = re.compile(r"\{\{[^{}]*\}\}")
_OF_USERS: Final = re.compile(
    r"[^.](serviceAccountName|serviceAccountNamespace|request.userInfo|request.roles"
    r"|request.clusterRoles)\b"
)
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class _NotAllowed(Exception):  # noqa: N818 - Kyverno's InvalidVariableError, never seen outside
    """A variable that is on no list; not a ChartkitError, so that no layer wraps its text."""


class _DryRun(Context):
    """A context in which every allowed variable is there, and null."""

    __slots__ = ("_fits", "_names", "_patterns")

    def __init__(self, names: str, patterns: Sequence[str]) -> None:
        super().__init__({})
        self._names = names
        self._patterns = patterns
        self._fits = [compile_wildcard(pattern) for pattern in patterns]

    def query(self, expression: Expression) -> Json:
        return self._allow(expression.text)

    def query_text(self, query: str) -> Json:
        query = query.strip()
        if not query:
            raise QueryError("invalid query (nil)")
        with Reraise(f"invalid JMESPath query {query}: ", JMESPathError, QueryError):
            compile_expression(query)
        return self._allow(query)

    def _allow(self, query: str) -> None:
        query = query.strip().replace('"', "")
        if re.search(self._names, query) or any(fits(query) for fits in self._fits):
            return
        shown = " ".join(self._patterns)
        raise _NotAllowed(
            f'variable {query} must match regex "{self._names}" or patterns [{shown}]'
        )


def variables_fault(policy: Policy, rules: Sequence[Rule]) -> str | None:
    """Return the fault of a policy's variables, in Kyverno's words."""
    if policy.background and (fault := _user_fault(policy, rules)):
        return (
            "only select variables are allowed in background mode. Set spec.background=false "
            f"to disable background mode for this policy rule: {fault} "
        )
    for rule in rules:
        if fault := _rule_fault(rule, policy.background):
            return f"policy contains invalid variables: {fault}"
    return None


def _user_fault(policy: Policy, rules: Sequence[Rule]) -> str | None:
    """Return the fault of a background policy that uses data of admission requests only."""
    for index, rule in enumerate(rules):
        for path, block in rule.filters():
            if block.roles:
                field = "roles"
            elif block.cluster_roles:
                field = "clusterRoles"
            else:
                field = "subjects" if block.subjects else ""
            if field:
                user_path = show_path(("spec", "rules", index, *path, field)).replace(".", "/")
                return f"invalid variable used at path: {user_path}"
    if any(rule.kind is RuleKind.MUTATE_EXISTING for rule in policy.rules):
        return None
    metadata = dict(policy.resource.body.get("metadata") or {})
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {**annotations, _LAST_APPLIED: ""}
    text = json.dumps(
        {**policy.resource.body, "metadata": metadata, "status": None}, ensure_ascii=False
    )
    for variable in (match[2] for match in _VARIABLE.finditer(text)):
        if _OF_USERS.search(variable):
            return f"variable {variable} is not allowed"
    return None


def _rule_fault(rule: Rule, background: bool) -> str | None:
    if fault := _forbidden_section(rule):
        return f'rule "{rule.name}" should not have variables in {fault} section'
    body, targeted = rule.body, rule.kind is RuleKind.MUTATE_EXISTING
    if targeted and (fault := _targets_fault(rule, background)):
        return fault
    fault = _substitution_fault(body, _DryRun(_names(background, targeted), _own_names(rule)))
    return f"variable substitution failed for rule {rule.name}: {fault}" if fault else None


def _names(background: bool, targeted: bool) -> str:
    if targeted:
        return _BACKGROUND_TARGET_NAMES if background else _TARGET_NAMES
    return _BACKGROUND_NAMES if background else _NAMES


def _targets_fault(rule: Rule, background: bool) -> str | None:
    """Return the fault of a selector of targets that refers to the target itself."""
    mutate = rule.mutate or {}
    shared: Body = {
        key: rule.body[key] for key in ("context", "preconditions") if rule.body.get(key)
    }
    for index, target in enumerate(mutate["targets"]):
        selected = {key: text for key, text in target.items() if key in _TARGET_SPEC}
        body = {**shared, "mutate": {"targets": [selected]}}
        fault = _substitution_fault(body, _DryRun(_names(background, False), _own_names(rule)))
        if fault:
            return f"invalid variables defined at mutate.targets[{index}]: {fault}"
    return None


_TARGET_SPEC: Final = ("apiVersion", "kind", "namespace", "name", "uid")


def _substitution_fault(body: Body, context: Context) -> str | None:
    if images := body.get("verifyImages"):
        # The variables in the conditions of attestations come from a signature.
        body = {**body, "verifyImages": [_without_conditions(image) for image in images]}
    if not may_vary(body):
        return None
    try:
        compile_template(_without_repeats(body)).resolve(context)
    except SubstitutionError as error:
        return error.message
    except _NotAllowed as error:
        return str(error)
    return None


def _without_repeats(body: Body) -> Body:
    """Return the rule with each text once: a fault is reported at its first occurrence."""
    seen: set[str] = set()

    def once(value: Json) -> Json:
        if isinstance(value, dict):
            return {key: once(member) for key, member in value.items()}
        if isinstance(value, list):
            return [once(member) for member in value]
        # What asks for the value at its own place is another text at each.
        if isinstance(value, str) and "@" not in value:
            if value in seen:
                return ""
            seen.add(value)
        return value

    return body if has_references(body) else once(body)


def _without_conditions(image: Body) -> Body:
    attestations = image.get("attestations")
    if not isinstance(attestations, list):
        return image
    kept = [
        {key: value for key, value in attestation.items() if key != "conditions"}
        if isinstance(attestation, dict)
        else attestation
        for attestation in attestations
    ]
    return {**image, "attestations": kept}


def _own_names(rule: Rule) -> list[str]:
    """The names that the rule's own context entries add, as Kyverno's wildcard patterns."""
    names = _entry_names(rule.context)
    for image in rule.verify_images:
        if image.get("validate"):
            names += [f"{entry.get('name', '')}*" for entry in image.get("attestations") or ()]
    names += _nested_names(rule.validate.foreach)
    mutate, generate = rule.mutate or {}, rule.generate or {}
    names += _nested_names(mutate.get("foreach") or ())
    names += _nested_names(mutate.get("targets") or ())
    return names + _nested_names(generate.get("foreach") or ())


def _nested_names(blocks: Iterable[Body]) -> list[str]:
    return [name for block in blocks for name in _entry_names(block.get("context") or ())]


def _entry_names(entries: Iterable[Body]) -> list[str]:
    names = []
    for entry in entries:
        name = entry.get("name") or ""
        if any(entry.get(kind) is not None for kind in _WHOLE_ENTRIES):
            names.append(f"{name}*")
        if entry.get("configMap") is not None:
            names += [f"{name}.data", f"{name}.metadata", f"{name}.data.*", f"{name}.metadata.*"]
    return names


_WHOLE_ENTRIES: Final = ("apiCall", "globalReference", "imageRegistry", "variable")


def _forbidden_section(rule: Rule) -> str | None:
    patch = (rule.mutate or {}).get("patchesJson6902") or ""
    if patch and any(has_variable(path) for path in _patch_paths(patch)):
        return "patchesJSON6902 path"
    for name in ("exclude", "match"):
        if _PLAIN_VARIABLE.search(go_json(rule.body.get(name) or {})):
            return name
    for image in rule.verify_images:
        references = image.get("imageReferences") or [image.get("image")]
        if any(isinstance(text, str) and has_variable(text) for text in references):
            return "image reference"
    return None


def _patch_paths(patch: str) -> list[str]:
    try:
        operations = parse_yaml(patch)
    except InputError:
        return []
    if not isinstance(operations, list):
        return []
    paths = [operation.get("path") for operation in operations if isinstance(operation, dict)]
    return [path for path in paths if isinstance(path, str)]
