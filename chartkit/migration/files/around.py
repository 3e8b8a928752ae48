"""Text around policies that does not follow them: it is named, with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.migration.convert import policy_key
from chartkit.migration.files.migrated import MigratedObject
from chartkit.migration.plan.inventory import LegacyObject
from chartkit.migration.plan.origin import Tool
from chartkit.model import Json, Location, list_of, mapping_at, mappings_at
from chartkit.report.model import resource_id
from chartkit.scan.inputs import is_chart, is_object, walk

KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml")
_PATCHES: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
_KINDS: Final = frozenset(
    {"ClusterPolicy", "Policy", "CleanupPolicy", "ClusterCleanupPolicy", "PolicyException"}
)
_VALUES: Final = re.compile(
    r"^(validationFailureAction\w*|policyExclude|policyPreconditions|failurePolicyByPolicyName"
    r"|autogenControllers|backgroundByPolicyName|skipBackgroundRequests\w*)$"
)
_VALUE: Final = "a value of a chart of ClusterPolicies, which the new policies do not read"
_PATCH: Final = "a kustomize patch of {name}, which the new policies do not get"
_RENDERED: Final = "is rendered from a chart, whose template stays: change it by hand"
_IN_CLUSTER: Final = "is in a cluster, where nothing is changed"
_EXCEPTION: Final = "names {name}, which converts: the new policy applies without this exception"


@dataclass(frozen=True, slots=True)
class Mention:
    """A part of the inputs that is left to be done by hand, although the policies convert."""

    location: Location
    what: str


def mentions(
    paths: Sequence[str], migrated: Sequence[MigratedObject], patches: Iterable[LegacyObject]
) -> list[Mention]:
    """Return what is not carried along: values, kustomize patches, templates and exceptions."""
    found = list(_patched(patches))
    for path in paths:
        if Path(path).is_dir() and not is_chart(Path(path)):
            for file in walk(Path(path)):
                if not file.is_dir():
                    found += _in_file(file)
    found += _rendered(migrated)
    found += _exceptions(migrated)
    return found


def _patched(patches: Iterable[LegacyObject]) -> Iterator[Mention]:
    for each in patches:
        text = _PATCH.format(name=resource_id(each.resource))
        yield Mention(each.resource.location, text)


def _in_file(file: Path) -> Iterator[Mention]:
    try:
        documents = read_file(file)
    except InputError:
        return  # the inventory names it
    for document in documents:
        if file.name in KUSTOMIZATIONS:
            yield from _in_kustomization(document)
        elif isinstance(document.body, dict) and not is_object(document):
            for key in document.body:
                if isinstance(key, str) and _VALUES.match(key):
                    yield Mention(document.locate(key), f"{key} is {_VALUE}")


def _in_kustomization(document: Document) -> Iterator[Mention]:
    for key in _PATCHES:
        for index, patch in enumerate(list_of(mapping_at(document.body).get(key))):
            kind = mapping_at(patch, "target").get("kind")
            if isinstance(kind, str) and kind in _KINDS:
                text = _PATCH.format(name=_target(patch))
                yield Mention(document.locate(key, index), text)
    for index, replacement in enumerate(mappings_at(document.body, "replacements")):
        for target in mappings_at(replacement, "targets"):
            if mapping_at(target, "select").get("kind") in _KINDS:
                text = "a kustomize replacement in a policy, which the new policies do not get"
                yield Mention(document.locate("replacements", index), text)


def _target(patch: Json) -> str:
    target = mapping_at(patch, "target")
    name = target.get("name")
    return f"{target['kind']}/{name}" if name else f"every {target['kind']}"


def patch_files(paths: Sequence[str]) -> frozenset[Path]:
    """Return the files that the kustomizations below folders have as patches: parts of policies,
    not policies."""
    found = set()
    for path in paths:
        folder = Path(path)
        if folder.is_dir() and not is_chart(folder):
            for file in walk(folder):
                if file.name in KUSTOMIZATIONS and not file.is_dir():
                    found |= set(_patch_files(file))
    return frozenset(found)


def _patch_files(file: Path) -> Iterator[Path]:
    try:
        bodies = [each.body for each in read_file(file)]
    except InputError:
        return
    for body in bodies:
        for key in _PATCHES:
            for patch in list_of(mapping_at(body).get(key)):
                name = patch if isinstance(patch, str) else mapping_at(patch).get("path")
                if isinstance(name, str) and "\n" not in name and "\x00" not in name:
                    yield (file.parent / name).resolve()


def _rendered(migrated: Iterable[MigratedObject]) -> Iterator[Mention]:
    for each in migrated:
        if each.legacy.document is None:
            resource = each.legacy.resource
            text = _RENDERED if each.legacy.origin.tool is Tool.CHART else _IN_CLUSTER
            yield Mention(resource.location, f"{resource_id(resource)} {text}")


def _exceptions(migrated: Sequence[MigratedObject]) -> Iterator[Mention]:
    """Yield the exceptions that stay and name a policy which does not."""
    replaced = {policy_key(each.legacy.resource): each for each in migrated if each.documents}
    for each in migrated:
        if each.legacy.resource.kind != "PolicyException" or each.documents:
            continue
        listed = mappings_at(each.legacy.resource.body, "spec", "exceptions")
        for index, one in enumerate(listed):
            policy = replaced.get(str(one.get("policyName")))
            if policy is not None:
                place = each.legacy.locate(f"/spec/exceptions/{index}")
                text = _EXCEPTION.format(name=resource_id(policy.legacy.resource))
                yield Mention(place, text)
