"""Checks of the forms of a library policy: the one in CEL, and policies that delete."""

from __future__ import annotations

import re
from typing import Final

from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.kyverno import policy_fields
from chartkit.kyverno.policy_fields import extends_to_controllers
from chartkit.kyverno.versions import Version
from chartkit.library.policies import METADATA_FILE, FolderPolicy
from chartkit.library.templating import source_documents
from chartkit.model import Body, Json, Location, mapping_at, texts_below
from chartkit.suggestions import nearest
from chartkit.wording import counted

API_VERSION = f"{policy_fields.GROUP}/v1"
VALIDATING = "ValidatingPolicy"
_OWN_FIELD = re.compile(
    r"\b(?:object|oldObject)\.metadata\.(?:name|generateName|uid|ownerReferences)\b"
)
_BY_INDEX = re.compile(r"\b(?:object|oldObject)(?:\[|\.\?)")
CLEANUP_VERSION: Final = "kyverno.io/v2"
CLEANUP: Final = "ClusterCleanupPolicy"
DELETING: Final = "DeletingPolicy"
SINCE: Final = Version(1, 12)
"""The first Kyverno that serves cleanup policies in that version of the API."""


def require_name(body: Body, policy: FolderPolicy, location: Location) -> None:
    """Raise InputError if a policy's name is not its folder's."""
    name = mapping_at(body, "metadata").get("name")
    if name != policy.name:
        hint = "name it as its folder is named"
        raise InputError(f"policy '{policy.name}' calls itself '{name}'", location, hint)


def checked_cel(document: Document, policy: FolderPolicy, rules: int) -> Body:
    """A policy's form in CEL, looked through. rules: the number of rules of its ClusterPolicy with
    the same parameters; a ValidatingPolicy has as many validations, one a rule in their order, so
    that values that name a rule find it. Raises InputError."""
    body, file = document.body, policy.cel.file if policy.cel else ""
    where = Location(file, 1)
    kinds = [kind for kind in policy_fields.KINDS if not kind.startswith(policy_fields.NAMESPACED)]
    if (
        not isinstance(body, dict)
        or body.get("apiVersion") != API_VERSION
        or (body.get("kind") not in kinds)
    ):
        hint = f"it is one document of {API_VERSION}, of kind {', '.join(kinds)}"
        raise InputError(f"the CEL form of policy '{policy.name}' is no such policy", where, hint)
    require_name(body, policy, where)
    if not isinstance(body.get("spec"), dict):
        raise InputError(f"the CEL form of policy '{policy.name}' has no spec", where)
    if body["kind"] == VALIDATING:
        _require_validations(body["spec"], policy, rules, where)
    if extends_to_controllers(body):
        # A policy for Pods is extended by writing its text anew, and that finds not all ways to say
        # a thing, and no name in a Pod's template
        for _, text in texts_below(body["spec"]):
            match = _OWN_FIELD.search(text)
            if match:
                message = (
                    f"policy '{policy.name}' speaks of {match[0]}, which Pods of controllers lack"
                )
                hint = "take it out, or match other resources beside Pods: then it is not extended"
                raise InputError(message, where, hint)
            match = _BY_INDEX.search(text)
            if match:
                message = f"policy '{policy.name}' says '{match[0]}', which controllers do not get"
                hint = "write object.spec or object.metadata: so it is found when it is extended"
                raise InputError(message, where, hint)
    return body


def _require_validations(spec: Body, policy: FolderPolicy, rules: int, location: Location) -> None:
    validations = spec.get("validations")
    if not isinstance(validations, list) or not all(
        isinstance(item, dict) and isinstance(item.get("expression"), str) for item in validations
    ):
        message = f"the CEL form of policy '{policy.name}' has no validations with an expression"
        near = [] if "validations" in spec else nearest("validations", spec, 1)
        if near and policy.cel is not None:
            location = source_documents(policy.cel.text, location.file)[0].locate("spec", near[0])
        hint = f"did you mean 'validations' by '{near[0]}'?" if near else None
        raise InputError(message, location, hint)
    if len(validations) != rules:
        message = (
            f"the CEL form of policy '{policy.name}' has "
            f"{counted(len(validations), 'validation')}, and its ClusterPolicy has "
            f"{counted(rules, 'rule')}"
        )
        hint = "write one validation for each rule, in their order: values name rules"
        raise InputError(message, location, hint)


def cleans(body: Json) -> bool:
    """Report whether a policy deletes on a schedule, by its kind."""
    return isinstance(body, dict) and body.get("kind") in (CLEANUP, DELETING)


def check_cleanup(body: Body, policy: FolderPolicy, location: Location) -> None:
    """Raises InputError for a cleanup policy that has no schedule, matches nothing, or that an
    older Kyverno than it claims does not serve; location: where it stands."""
    spec = body.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    if body.get("apiVersion") != CLEANUP_VERSION:
        hint = f"write it as {CLEANUP_VERSION}"
        message = f"policy '{policy.name}' is not a {CLEANUP} of {CLEANUP_VERSION}"
        raise InputError(message, location, hint)
    if not isinstance(spec.get("schedule"), str) or not isinstance(spec.get("match"), dict):
        raise InputError(f"policy '{policy.name}' has no schedule, or matches nothing", location)
    if policy.minimum_kyverno < SINCE:
        claimed = read_file(policy.folder / METADATA_FILE)[0].locate("minimumKyverno")
        message = (
            f"policy '{policy.name}' claims Kyverno {policy.minimum_kyverno}, but {CLEANUP} in "
            f"{CLEANUP_VERSION} came with {SINCE}"
        )
        raise InputError(message, claimed, f'say minimumKyverno: "{SINCE}"')


def require_same_purpose(body: Body, cel: Body, policy: FolderPolicy, location: Location) -> None:
    """Raises InputError where one form deletes and the other does not; location: that in CEL."""
    if cleans(body) != cleans(cel):
        message = f"policy '{policy.name}' is a {body['kind']}, and in CEL a {cel['kind']}"
        raise InputError(message, location, f"{DELETING} stands beside {CLEANUP}")
