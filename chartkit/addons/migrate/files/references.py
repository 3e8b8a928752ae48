"""References to legacy policies that do not follow them: patches of kustomize, health checks,
permissions, policies within other objects, queries of metrics."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from chartkit.documents.reader import Document, read_file, read_text
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.engine.kubernetes.kinds import KYVERNO_GROUP, group_of, resource_name
from chartkit.errors import InputError
from chartkit.go.regexp import RegexError, compile_regex
from chartkit.model import Body, Json, Resource, list_of, mapping_at, text_of

KINDS: Final = frozenset(
    {"ClusterPolicy", "Policy", "CleanupPolicy", "ClusterCleanupPolicy", "PolicyException"}
)
PATCH: Final = "a kustomize patch of {name}, which the new policies do not get"
_REPLACEMENT: Final = "a kustomize replacement in a policy, which the new policies do not get"
_NAMES: Final = "names {name}, which the new policies replace"
_HOLDS: Final = "holds {name}, which stays: policies in documents of their own convert"
_GRANTS: Final = "a permission for {resources}, which does not cover the new policies"
_METRIC: Final = re.compile(r"\bkyverno_policy_(?:results|rule_info|execution_duration)\w+")
_POLICY_NAME: Final = re.compile(r'\bpolicy_name\s*=~?\s*\\*"([^"\\]*)')
_OF_CEL: Final = "kyverno_validating_policy_results_total"
_QUERIES: Final = (
    "a query of {metric}, which has nothing of the new policies: "
    f"they have metrics of their own, such as {_OF_CEL}"
)
_PLURALS: Final = frozenset(map(resource_name, KINDS))
PATCHES: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
_PASSED_OVER: Final = ("ownerReferences", "status")
_CLI_GROUP: Final = "cli.kyverno.io"

Steps: TypeAlias = tuple[str | int, ...]
Found: TypeAlias = tuple[Steps, str]


def references(document: Document, names: Collection[str]) -> Iterator[Found]:
    """Yield what in a document names legacy policies: the way to it, and a text; names: those of
    the policies that convert."""
    body = document.body
    if isinstance(body, dict) and not _is_own(body):
        folder = Path(document.source.file).parent
        yield from _References(names, folder).among(body, ())


def _is_own(body: Body) -> bool:
    """Report whether an object is a legacy policy itself, or a test of Kyverno's command line."""
    resource = Resource(body)
    return is_legacy(resource) or group_of(resource) == _CLI_GROUP


class _References:
    def __init__(self, names: Collection[str], folder: Path) -> None:
        """folder: the folder of the file."""
        self._names = names
        self._folder = folder
        self._files: dict[str, list[Json]] = {}

    def among(self, value: Json, steps: Steps) -> Iterator[Found]:
        """Yield what is found in a value, and at which steps."""
        if isinstance(value, dict):
            mention = self._text(value, steps)
            if mention:
                yield steps, mention
                return
            for key, item in value.items():
                if key not in _PASSED_OVER:
                    yield from self.among(item, (*steps, key))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.among(item, (*steps, index))
        elif isinstance(value, str) and set(PATCHES) & set(steps):
            yield from ((steps, PATCH.format(name=name)) for name in _patched(value))
        elif isinstance(value, str) and (metric := _METRIC.search(value)):
            asked = _POLICY_NAME.findall(value)
            is_about = any(fits(text, name) for text in asked for name in self._names)
            if (is_about or not asked) and _OF_CEL not in value:
                yield steps, _QUERIES.format(metric=metric[0])

    def _text(self, body: Body, steps: Steps) -> str:
        """Return the text about an object among others; empty if there is none."""
        is_item = len(steps) == 2 and steps[0] == "items"
        if is_item and _is_own(body):
            return ""
        within = steps[-2] if len(steps) > 1 else ""
        if within in PATCHES and self._selects(body.get("target")):
            return PATCH.format(name=_target(body["target"]))
        if within == "replacements" and self._replaces(body):
            return _REPLACEMENT
        kind, version = body.get("kind"), body.get("apiVersion")
        group = body.get("group") if version is None else group_of(Resource(body))
        if steps and group == KYVERNO_GROUP and text_of(kind) in KINDS:
            metadata = mapping_at(body, "metadata")
            name = metadata.get("name") or body.get("name")
            text = _HOLDS if "spec" in body else _NAMES
            return text.format(name=f"{kind}/{name}" if name else f"every {kind}")
        if KYVERNO_GROUP in list_of(body.get("apiGroups")):
            named = [name for name in list_of(body.get("resources")) if text_of(name) in _PLURALS]
            return _GRANTS.format(resources=", ".join(map(str, named))) if named else ""
        return ""

    def _selects(self, target: Json) -> bool:
        """Report whether a target of a patch may be a legacy policy; its texts are regular
        expressions."""
        if not isinstance(target, dict):
            return False
        kind, group, name = (target.get(key) for key in ("kind", "group", "name"))
        if kind is None and group is None:
            return any(fits(name, known_name) for known_name in self._names)
        return any(fits(kind, legacy) for legacy in KINDS) and fits(group, KYVERNO_GROUP)

    def _replaces(self, body: Body) -> bool:
        bodies: Iterable[Json] = [body]
        if isinstance(body.get("path"), str):
            bodies = self._read(body["path"])
        return any(
            self._selects(mapping_at(target, "select"))
            for part in bodies
            for replacement in (part if isinstance(part, list) else [part])
            for target in list_of(mapping_at(replacement).get("targets"))
        )

    def _read(self, path: str) -> list[Json]:
        """Return the documents of a file next to this one, which several entries may name."""
        if path not in self._files:
            try:
                self._files[path] = [document.body for document in read_file(self._folder / path)]
            except InputError:
                self._files[path] = []  # kustomize names it
        return self._files[path]


def _patched(text: str) -> list[str]:
    """Return the legacy policies that the text of a patch names."""
    try:
        bodies = [item.body for item in read_text(text)] if "\n" in text or "{" in text else []
    except InputError:
        return []  # kustomize names it
    resources = [Resource(body) for body in bodies if isinstance(body, dict)]
    return [f"{resource.kind}/{resource.name}" for resource in resources if is_legacy(resource)]


def fits(pattern: Json, text: str) -> bool:
    """Report whether a text of a patch's target selects another one; an absent one does."""
    if not isinstance(pattern, str) or not pattern:
        return pattern is None or pattern == ""
    try:
        return compile_regex(f"^(?:{pattern})$").matches(text)
    except RegexError:
        return pattern == text


def _target(target: Body) -> str:
    kind, name = target.get("kind"), target.get("name")
    if not kind:
        return str(name) if name else "every policy"
    return f"{kind}/{name}" if name else f"every {kind}"
