"""Differences that a conversion names: they are counted under their names, and are no fault."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.addons.migrate import differences
from chartkit.addons.migrate.proof.forms import AS_STORED
from chartkit.addons.migrate.proof.leaves.paths import GLOBAL, SUBRESOURCE
from chartkit.addons.migrate.proof.model import Answer, Aspect, Result, canonical
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.schema import REPLICATION_CONTROLLER
from chartkit.documents.reader import parse_yaml
from chartkit.engine import Phase
from chartkit.engine.cluster_policy.mutate.workspace import Schema, schema_of_kind
from chartkit.engine.cluster_policy.pattern.build import parse_anchor
from chartkit.engine.json_patch import scalar_text
from chartkit.engine.kubernetes.kinds import CRON_JOB, CRON_TEMPLATE, TEMPLATE
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.errors import InputError
from chartkit.model import (
    Body,
    Json,
    Resource,
    list_of,
    mapping_at,
    mappings_at,
    texts_below,
    values_below,
)

ASSUMPTIONS: Final = "objects whose fields are not of the types that the conversion assumes"
_NO_IMAGE: Final = "failed to extract images: invalid image "
_ACCOUNT: Final = "system:serviceaccount:"
_MALFORMED: Final = "incorrect query "
_LOADED: Final = re.compile(r"failed to resolve ([^\n]+?) at path : failed to apply jmespath ")
_IN_QUOTES: Final = re.compile(r"\"[^\"]*\"|'[^']*'")
_ROOT_WORD: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_UNRESOLVED: Final = "failed to resolve "
_NO_JSON: Final = re.compile(
    r"unexpected end of JSON input|invalid character '.*' |cannot unmarshal "
)
_OF_ADMISSION: Final = re.compile(
    r'Unknown key "(dryRun|kind|requestKind|requestResource|resource)"'
)
_NO_PARTS: Final = (": invalid image '", ": bad image: ")
_DESCRIBED: Final = ((), TEMPLATE.split("."), CRON_TEMPLATE.split("."))
"""The paths of what has labels: an object, and the Pods that it makes."""
_QUIET: Final = (Result.NONE, Result.PASS)

Ask = Callable[[Case, Iterable[Phase]], Answer]


@dataclass(frozen=True, slots=True)
class NamedDifferences:
    """The differences that a conversion names.

    changes: its sentences; assumed: types of fields that no table knows, by path; general: whether
    differences between the generations (`differences.GENERAL`) are named; wildcards: the names of
    labels and annotations that have some in patterns; by_context: whether rules read images or
    context entries.
    """

    general: bool = False
    changes: Collection[str] = ()
    assumed: Mapping[str, str] = field(default_factory=dict)
    wildcards: Collection[str] = ()
    by_context: bool = False

    def leaves_out(self, case: Case) -> bool:
        """Report whether an object is not of the types that the conversion assumes."""
        looked_up = mapping_at(case.document, "cluster").values()
        bodies = [case.document.get("object"), case.document.get("oldObject")]
        bodies += [body for listed in looked_up for body in list_of(listed)]
        bodies.append({GLOBAL: case.document.get(GLOBAL) or {}})
        objects = (body for body in bodies if isinstance(body, dict))
        return not all(differences.meets(body, self.assumed) for body in objects)

    def name_of(self, aspect: Aspect, case: Case, legacy: Answer, new: Answer, ask_new: Ask) -> str:
        """Return the name of the difference between two answers; empty for one without a name.

        ask_new: gives the new form's answer to another request, in phases of an admission.
        """
        two = _Difference(case, legacy, new, ask_new)
        if differences.IMAGE_PARTS in self.changes and any(
            part in error for error in two.old_errors for part in _NO_PARTS
        ):
            return differences.IMAGE_PARTS
        if self.general and _breaks_queries(case, two.old_errors):
            return differences.OWN_QUOTES.text
        if self.general and not two.new_errors and _loads_by_word(two.old_errors):
            return differences.ENTRIES_BY_WORD.text
        if aspect is Aspect.MUTATION:
            if self.general and has_irregular_lists(case.document.get("object")):
                return differences.TIDIED_LISTS.text
            if self.general and _is_replication_controller(case, legacy, ask_new):
                return differences.REPLICATION_CONTROLLERS.text
            patched = [_as_texts(answer.patched) for answer in (legacy, new)]
            if differences.NUMBERS in self.changes and patched[0] == patched[1]:
                return differences.NUMBERS
            is_read = differences.PLAIN_TEXTS in self.changes and _is_read_as_yaml(case)
            return differences.PLAIN_TEXTS if is_read else ""
        if aspect is Aspect.GENERATION and differences.SAME_NAMES in self.changes:
            parts = [(body["kind"], body["metadata"]) for body in new.generated]
            names = {(kind, part.get("namespace"), part["name"]) for kind, part in parts}
            return differences.SAME_NAMES if len(names) < len(new.generated) else ""
        if aspect not in (Aspect.RESULT, Aspect.REPORT, Aspect.ADMISSION):
            return ""
        if any(_has_several(case, wildcard) for wildcard in self.wildcards):
            return differences.EVERY_KEY
        for change, explains in _CHANGES.items():
            if change in self.changes and explains(two):
                return change
        if legacy.result is Result.FAIL and new.result is Result.ERROR:
            return ""
        name = _general(aspect, case, legacy, new, ask_new) if self.general else ""
        is_let_through = new.result is Result.FAIL and (
            legacy.result in _QUIET or (aspect is Aspect.ADMISSION and new.denied)
        )
        if not name and self.by_context and is_let_through and _is_update(case):
            return differences.EXISTING_BY_CONTEXT.text
        return name


def wildcards_of(legacy: Resource) -> frozenset[str]:
    """Return the keys with wildcards of the patterns in a ClusterPolicy, without their anchors."""

    rules = mappings_at(legacy.body, "spec", "rules")
    paths = [path for rule in rules for path, _ in values_below(rule.get("validate"))]
    keys = {path[-1] for path in paths if path and isinstance(path[-1], str)}
    anchors = {key: parse_anchor(key) for key in keys if has_wildcard(key)}
    return frozenset(key if anchor is None else anchor.key for key, anchor in anchors.items())


def reads_context(legacy: Resource) -> bool:
    """Report whether the rules of a ClusterPolicy read images or context entries."""
    rules = mappings_at(legacy.body, "spec", "rules")
    return any(rule.get("context") or "images." in json.dumps(rule) for rule in rules)


def _is_update(case: Case) -> bool:
    return case.document.get("operation") == "UPDATE" and isinstance(
        case.document.get("oldObject"), dict
    )


def _has_several(case: Case, wildcard: str) -> bool:
    """Report whether an object has several labels or annotations whose names match."""
    body, matches = case.document.get("object"), compile_wildcard(wildcard)
    places = [mapping_at(body, *path, "metadata") for path in _DESCRIBED]
    return any(
        sum(map(matches, mapping_at(place, key))) > 1
        for place in places
        for key in ("labels", "annotations")
    )


def _general(aspect: Aspect, case: Case, legacy: Answer, new: Answer, ask_new: Ask) -> str:
    if aspect is Aspect.REPORT:
        return differences.SKIPS.text
    if new.result is Result.NONE and _is_replication_controller(case, legacy, ask_new):
        return differences.REPLICATION_CONTROLLERS.text
    if new.result in _QUIET and _adds_containers(case, legacy, ask_new):
        return differences.EPHEMERAL_CONTAINERS.text
    if legacy.result is Result.ERROR and _is_deletion(case, new):
        return differences.FAILING_DELETIONS.text
    if legacy.result in _QUIET and new.result in (Result.FAIL, Result.ERROR):
        before = _before(case, ask_new)
        return differences.EXISTING.text if before.result in (Result.FAIL, Result.ERROR) else ""
    if aspect is Aspect.ADMISSION and new.denied:
        # Another rule, which only audits, reports the update in both forms.
        return differences.EXISTING.text if _before(case, ask_new).denied else ""
    if legacy.result is Result.ERROR and new.result is Result.FAIL:
        is_anchor = any("execution error: " in error for error in legacy.errors)
        return differences.ANCHOR_ERRORS.text if is_anchor else differences.ERRORS.text
    return ""


def _adds_containers(case: Case, legacy: Answer, ask_new: Ask) -> bool:
    """Report whether a request adds ephemeral containers to a Pod, and both forms agree on the
    Pod itself."""
    if mapping_at(case.document, SUBRESOURCE).get("name") != "ephemeralcontainers":
        return False
    document = {key: value for key, value in case.document.items() if key != SUBRESOURCE}
    return ask_new(replace(case, document=document), Phase).result is legacy.result


def _is_replication_controller(case: Case, legacy: Answer, ask_new: Ask) -> bool:
    """Report whether both forms agree on a ReplicationController that is written as a ReplicaSet,
    to which policies in CEL are extended."""
    if mapping_at(case.document, "object").get("kind") != REPLICATION_CONTROLLER.kind:
        return False
    bodies = {
        key: _as_replica_set(case.document[key])
        for key in ("object", "oldObject")
        if case.document.get(key)
    }
    answer = ask_new(replace(case, document={**case.document, **bodies}), Phase)
    patched = legacy.patched and _as_replica_set(legacy.patched)
    return answer.result is legacy.result and canonical(answer.patched) == canonical(patched)


def _as_replica_set(body: Body) -> Body:
    made = {**body, "apiVersion": "apps/v1", "kind": "ReplicaSet"}
    selector = mapping_at(body, "spec").get("selector")
    if isinstance(selector, dict):
        made["spec"] = {**body["spec"], "selector": {"matchLabels": selector}}
    return made


def _as_texts(value: Json) -> Json:
    """Return a JSON value with its numbers as texts."""
    if isinstance(value, dict):
        return {key: _as_texts(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_as_texts(member) for member in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return scalar_text(value) if is_number else value


def _breaks_queries(case: Case, errors: Collection[str]) -> bool:
    """Report whether a text of a request, put into a query, makes another one of it."""
    if not any(_MALFORMED in message for message in errors):
        return False
    return any(quote in json.dumps(case.document, default=str) for quote in ("'", "\\\\"))


def _loads_by_word(errors: Collection[str]) -> bool:
    """Report whether nothing but context entries is an error, loaded for queries that have their
    names in quoted keys alone."""
    queries = [match[1] for error in errors for match in _LOADED.finditer(error)]
    words = (word for query in queries for word in _ROOT_WORD.findall(_IN_QUOTES.sub("", query)))
    return bool(queries) and len(queries) == len(errors) and set(words) <= {"request"}


def _is_deletion(case: Case, new: Answer) -> bool:
    return case.document.get("operation") == "DELETE" and new.result is Result.NONE


def _has_long_name(case: Case) -> bool:
    """Report whether the name of a user that is not a service account has a colon behind as many
    characters as the prefix of those has."""
    name = str(mapping_at(case.document, "userInfo").get("username"))
    return not name.startswith(_ACCOUNT) and ":" in name[len(_ACCOUNT) :]


def _is_read_as_yaml(case: Case) -> bool:
    """Report whether a request has a text that YAML reads as something else, or as nothing."""
    return not all(_is_plain(text) for _, text in texts_below(case.document))


def _has_structured_text(case: Case) -> bool:
    """Report whether a request has a text that YAML, and so JSON, reads as an object or a list."""
    return any(
        "\n" in text or text[:1] in "{[" or ": " in text
        for _, text in texts_below(case.document)
        if text
    )


def _is_plain(text: str) -> bool:
    with suppress(InputError):
        return bool(parse_yaml(text) == text)
    return False


def _judges_job_annotations(case: Case, legacy: Answer, ask_new: Ask) -> bool:
    """Report whether both forms agree on a CronJob whose Pods have the annotations of its Jobs."""
    body = case.document.get("object")
    if not isinstance(body, dict) or body.get("kind") != CRON_JOB:
        return False
    body = copy.deepcopy(body)
    try:
        job = body["spec"]["jobTemplate"]
        pod = job["spec"]["template"]
        described = job.get("metadata") or {}
        pod["metadata"] = {**(pod.get("metadata") or {})}
        pod["metadata"]["annotations"] = described.get("annotations") or {}
    except (KeyError, TypeError, AttributeError):
        return False
    same = replace(case, document={**case.document, "object": body})
    refused = (Result.FAIL, Result.ERROR)
    return (ask_new(same, Phase).result in refused) == (legacy.result in refused)


def _before(case: Case, ask_new: Ask) -> Answer:
    """Return the new form's answer about an object as it was before an update; one without a result
    for another operation."""
    if not _is_update(case):
        return Answer(Result.NONE)
    old = case.document["oldObject"]
    created = {key: value for key, value in case.document.items() if key != "oldObject"}
    before = replace(case, document={**created, "object": old, "operation": "CREATE"})
    return ask_new(before, AS_STORED)


@dataclass(frozen=True, slots=True)
class _Difference:
    """Two answers to a request; ask_new: gives the new form's answer to another one."""

    case: Case
    legacy: Answer
    new: Answer
    ask_new: Ask

    @property
    def old_errors(self) -> tuple[str, ...]:
        return (*self.legacy.errors, *self.legacy.failed)

    @property
    def new_errors(self) -> tuple[str, ...]:
        return (*self.new.errors, *self.new.failed)

    def lost(self, text: str) -> bool:
        """Report whether all errors of the legacy form have a text, and the new one has none."""
        return _all_have(self.old_errors, text) and not self.new_errors


def _all_have(errors: Collection[str], text: str) -> bool:
    return bool(errors) and all(text in error for error in errors)


_CHANGES: Final[Mapping[str, Callable[[_Difference], bool]]] = {
    differences.DELETIONS: lambda two: _is_deletion(two.case, two.new),
    differences.JOB_ANNOTATIONS: lambda two: _judges_job_annotations(
        two.case, two.legacy, two.ask_new
    ),
    differences.KIND_IN_SCANS: lambda two: (
        two.case.is_background and any(map(_OF_ADMISSION.search, two.old_errors))
    ),
    differences.LISTS_AS_TEXTS: lambda two: any(
        text.startswith("[") for _, text in texts_below(two.case.document)
    ),
    differences.LISTS_IN_TEXTS: lambda two: (
        bool(two.new_errors) and all(map(_NO_JSON.search, two.new_errors))
    ),
    differences.CEL_ERRORS: lambda two: (
        two.legacy.result is Result.FAIL and two.new.result is Result.ERROR
    ),
    differences.EMPTY_SEARCHES: lambda two: two.lost(_UNRESOLVED),
    differences.FETCHED_DEFAULTS: lambda two: bool(two.new_errors) and not two.old_errors,
    differences.FAILING_CONDITIONS: lambda two: two.lost("conditions: "),
    differences.IMAGE_NAMES: lambda two: any(_NO_IMAGE in error for error in two.legacy.errors),
    differences.NO_DATA: lambda two: _all_have(two.new_errors, "no such key: data"),
    differences.NO_TARGET: lambda two: (
        any(error.endswith(" not found") for error in two.old_errors) and not two.new_errors
    ),
    differences.NULL_VALUES: lambda two: bool(two.new.failed) and not two.old_errors,
    differences.PASSES_ERRORS: lambda two: bool(two.old_errors) and two.new.result in _QUIET,
    differences.PLAIN_TEXTS: lambda two: _is_read_as_yaml(two.case),
    differences.READ_TEXTS: lambda two: (
        bool(two.old_errors or two.new_errors) and not _has_structured_text(two.case)
    ),
    differences.REPORTED: lambda two: two.case.is_background,
    differences.SERVICE_ACCOUNTS: lambda two: _has_long_name(two.case),
    differences.UNUSED_VARIABLES: lambda two: two.lost(_UNRESOLVED),
}
"""By sentence of a conversion: whether it explains a difference between two answers."""


def has_irregular_lists(body: Json) -> bool:
    """Report whether any list of an object, merged by keys, has elements without them or two
    elements with the same."""
    if not isinstance(body, dict):
        return False
    return _is_irregular(body, schema_of_kind(str(body.get("apiVersion")), str(body.get("kind"))))


def _is_irregular(value: Json, schema: Schema | None) -> bool:
    if schema is None:
        return False
    if isinstance(value, dict):
        return any(_is_irregular(item, schema.field(key)) for key, item in value.items())
    if not isinstance(value, list) or schema.keys is None:
        return False
    texts = [_key(item, schema.keys) for item in value]
    if len(set(texts)) < len(texts) or not all(all(text) for text in texts):
        return True
    return any(_is_irregular(item, schema.elements()) for item in value)


def _key(element: Json, keys: tuple[str, ...]) -> tuple[str, ...]:
    if not keys:
        return (scalar_text(element),)
    if not isinstance(element, dict):
        return ("",)
    return tuple(scalar_text(element[key]) if element.get(key) else "" for key in keys)
