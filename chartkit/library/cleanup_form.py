"""Checks of a library policy that deletes on a schedule: a ClusterCleanupPolicy, and in CEL a
DeletingPolicy."""

from __future__ import annotations

from typing import Final

from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version
from chartkit.library.policies import METADATA_FILE
from chartkit.library.policy import FolderPolicy
from chartkit.model import Body, Json, Location

API_VERSION: Final = "kyverno.io/v2"
KIND: Final = "ClusterCleanupPolicy"
DELETING: Final = "DeletingPolicy"
SINCE: Final = Version(1, 12)
"""The first Kyverno that serves cleanup policies in that version of the API."""


def cleans(body: Json) -> bool:
    """Return whether a policy deletes on a schedule, by its kind."""
    return isinstance(body, dict) and body.get("kind") in (KIND, DELETING)


def check_cleanup(body: Body, policy: FolderPolicy, place: Location) -> None:
    """Raises InputError for a cleanup policy that has no schedule, matches nothing, or that an
    older Kyverno than it claims does not serve; place: where it stands."""
    spec = body.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    if body.get("apiVersion") != API_VERSION:
        hint = f"write it as {API_VERSION}"
        raise InputError(f"policy '{policy.name}' is no {KIND} of {API_VERSION}", place, hint)
    if not isinstance(spec.get("schedule"), str) or not isinstance(spec.get("match"), dict):
        raise InputError(f"policy '{policy.name}' has no schedule, or matches nothing", place)
    if policy.minimum_kyverno < SINCE:
        claimed = read_file(policy.folder / METADATA_FILE)[0].locate("minimumKyverno")
        message = (
            f"policy '{policy.name}' claims Kyverno {policy.minimum_kyverno}, but {KIND} in "
            f"{API_VERSION} came with {SINCE}"
        )
        raise InputError(message, claimed, f'say minimumKyverno: "{SINCE}"')


def require_same_purpose(body: Body, cel: Body, policy: FolderPolicy, place: Location) -> None:
    """Raises InputError where one form deletes and the other does not; place: that in CEL."""
    if cleans(body) != cleans(cel):
        message = f"policy '{policy.name}' is a {body['kind']}, and in CEL a {cel['kind']}"
        raise InputError(message, place, f"{DELETING} stands beside {KIND}")
