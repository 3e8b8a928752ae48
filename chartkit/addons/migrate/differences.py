"""Differences between the generations of policies that no conversion can take away, and the
types that a conversion assumes.

They hold for every converted rule that they are about, so they are told once and not with each
rule. The proof knows them and does not count them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.expressions.place import ANY_LIST, ANY_MAP, TEXT
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Body, Json, list_of


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A difference; id: its name in outputs; text: a sentence."""

    id: str
    text: str


EXISTING: Final = KnownDifference(
    "existing-violations",
    "An update of an object that violates already is refused: a ClusterPolicy lets it through "
    "unless allowExistingViolations is false.",
)
EXISTING_BY_CONTEXT: Final = KnownDifference(
    "existing-by-context",
    "Of an update, a ClusterPolicy judges the object as it was by the images and context entries "
    "of the new one, and so may let through what violates for the first time; it is refused.",
)
FIRST_FAILURE: Final = KnownDifference(
    "first-failure",
    "A policy gives one result and the message of its first failure, where a ClusterPolicy gives "
    "one for each rule.",
)
REPLICATION_CONTROLLERS: Final = KnownDifference(
    "replication-controllers",
    "Kyverno extends policies in CEL to six pod controllers, and not to ReplicationControllers.",
)
ANCHOR_ERRORS: Final = KnownDifference(
    "anchor-errors",
    "Where no object has the key of an anchor, a pattern that does not match is an error in a "
    "ClusterPolicy and a failure here; both refuse.",
)
ERRORS: Final = KnownDifference(
    "errors",
    "Where one part of a rule cannot be evaluated and another fails, a ClusterPolicy reports the "
    "error and a policy in CEL the failure; both refuse.",
)
FAILING_DELETIONS: Final = KnownDifference(
    "failing-deletions",
    "A ClusterPolicy refuses a deletion of which its conditions cannot be evaluated; a policy in "
    "CEL that says nothing of deletions is not asked.",
)
SKIPS: Final = KnownDifference(
    "skips",
    "Where an anchor or a precondition keeps a rule from applying, or a list is empty, one of the "
    "two says pass and the other skip.",
)
TIDIED_LISTS: Final = KnownDifference(
    "tidied-lists",
    "A strategic merge of a ClusterPolicy leaves one of several elements with the same key, and "
    "none without a key, in every list that is merged by keys, such as env; a policy in CEL leaves "
    "such lists as they are.",
)
OWN_WILDCARDS: Final = KnownDifference(
    "own-wildcards",
    "A wildcard in a value of the object or of the cluster, such as the host *.example.com, is the "
    "text that it is; conditions of a ClusterPolicy take it for a pattern.",
)
OWN_QUOTES: Final = KnownDifference(
    "own-quotes",
    "A quote or a backslash in a text that a variable puts into a query, such as "
    "'{{element.image}}' in quotes, is a part of the text; a ClusterPolicy reads it as one of the "
    "query, which then may be malformed.",
)
ENTRIES_BY_WORD: Final = KnownDifference(
    "entries-by-word",
    "A query with a quoted key in which the name of a context entry is a word loads this entry in "
    "a ClusterPolicy, and fails where it fails; a policy in CEL evaluates what is named.",
)
GENERAL: Final = (
    *(
        EXISTING,
        EXISTING_BY_CONTEXT,
        FIRST_FAILURE,
        REPLICATION_CONTROLLERS,
        ANCHOR_ERRORS,
        ERRORS,
        FAILING_DELETIONS,
        SKIPS,
    ),
    *(TIDIED_LISTS, OWN_WILDCARDS, OWN_QUOTES, ENTRIES_BY_WORD),
)
"""In the order in which they matter."""

DELETIONS: Final = "deletions are no longer judged: the rule says nothing of them"
"""A change of a `deny` or of a `validate.cel` that does not speak of operations."""
REFUSES_ALL: Final = (
    "it refuses every object, as before: correct what it asks. An object such as a probe never "
    'equals a text; the pattern "*" alone asks that it is there'
)
NEVER_REFUSES: Final = "it refuses nothing, as before: delete it, or correct what it asks"
"""A remark about a rule that no object can violate."""
CEL_ERRORS: Final = "an expression that cannot be evaluated is an error, and no failure"
"""A change of a `validate.cel` rule."""
FAILING_CONDITIONS: Final = (
    "a condition that names what is not there is no error where another condition decides alone"
)
"""A change of conditions, which CEL joins whatever their order."""
UNUSED_VARIABLES: Final = (
    "a variable that names what is not there is no error where an anchor keeps its value from "
    "being written"
)
"""A change of strategic merges."""
PLAIN_TEXTS: Final = (
    "a variable that stands in a patch without quotes gives a text, also one that YAML would read "
    "as a number, as true or as false"
)
"""A change of JSON patches."""
POLICY_EVENTS: Final = (
    "targets change when the policy does, too, once for each trigger: the rule waits for a trigger "
    "to change"
)
"""A change of mutate rules with targets, without mutateExistingOnPolicyUpdate."""
NO_SCANS: Final = "background scans no longer change targets: triggers and the policy's changes do"
"""A change of mutate rules with targets and mutateExistingOnPolicyUpdate."""
NO_TARGET: Final = "a target that is not there is no error"
"""A change of mutate rules with targets that are named."""
DIVISION: Final = "a division by zero is infinite, or no number, and no error"
"""A change of rules that divide."""
ASCII_CASE: Final = "letters other than a to z keep their case"
"""A change of rules that turn texts to upper or lower case."""
PARENT_FOLDERS: Final = (
    "of a path, .. stays as it is written, which an API server refuses of a hostPath, and of . "
    "alone nothing is left"
)
"""A change of rules that take paths apart."""
DECIMALS: Final = "texts such as 1_000, 0x1p4 and inf are no numbers"
"""A change of rules that read numbers of texts."""
CONDITION_MESSAGES: Final = "messages of preconditions are not shown where a rule does not apply"
"""A change of preconditions with messages of their own."""
IMAGE_PARTS: Final = "an image that is no valid reference is no error"
"""A change of rules that take images apart."""
TIMES: Final = (
    "times outside of the years 1 to 9999, spans of more than 292 years and times that are not "
    "strictly in RFC 3339 are errors"
)
"""A change of rules that read times of texts."""
DECODED: Final = (
    "Base64 without padding is read, and of bytes that are no text there is an error instead of "
    "what they look like"
)
"""A change of rules that decode Base64."""
READ_TEXTS: Final = (
    "what is read of a text as JSON or YAML is taken to be of the type that it is compared with"
)
"""An assumption of rules that read JSON or YAML."""
LISTS_IN_TEXTS: Final = (
    "a text that begins with [ and is no list in JSON is an error, where a ClusterPolicy compares "
    "it as a text"
)
"""A change of conditions about what is in a text, which may be a list in JSON."""
LISTS_AS_TEXTS: Final = (
    "a value that is itself the text of a list in JSON is not among the members of this list"
)
"""A change of conditions whose values are written as a list in JSON."""
EMPTY_SEARCHES: Final = (
    "a variable within a query that names what is not there is no error where the list that is "
    "searched is empty"
)
"""A change of conditions whose values are searched for."""
EVERY_KEY: Final = (
    "all labels or annotations whose names match a wildcard are compared, where a ClusterPolicy "
    "takes one of them, and chance which"
)
"""A change of patterns with wildcards in keys: Kyverno goes through a map of Go until one matches
(`pkg/engine/wildcards`)."""
NO_DATA: Final = "a ConfigMap without data is an error, where what is read of it was null"
"""A change of rules that read ConfigMaps."""
FETCHED_DEFAULTS: Final = (
    "a default is not taken where the objects or images that it is for cannot be fetched: that is "
    "an error"
)
"""A change of rules with context entries that have a default."""
SERVICE_ACCOUNTS: Final = (
    "a user that is no service account has no serviceAccountName, whatever colons its name has"
)
"""A change of rules that read the account's name: a ClusterPolicy takes what follows the 22nd
character of any user's name for `namespace:name`."""
KIND_IN_SCANS: Final = (
    "in background scans, request.requestKind is the object's own kind, where a ClusterPolicy has "
    "none"
)
"""A change of rules that read the kind that was asked for."""
LATEST_STANDARD: Final = (
    "the Pod Security Standards stay as today's Kyverno has them at latest: a newer one adds no "
    "check"
)
"""A change of `validate.podSecurity` rules without a version."""
JOB_ANNOTATIONS: Final = (
    "of a CronJob, the annotations of its Pods are judged, and not those of its Jobs"
)
"""A change of `validate.podSecurity` rules that are extended to CronJobs."""
VERIFIED_AGAIN: Final = (
    "images that an update leaves as they are are verified again, and no annotation records them"
)
"""A change of verifyImages rules."""
PULL_SECRETS: Final = (
    "registries are asked with the credentials of the policy alone, and not with the Secrets that "
    "pull the Pod's images"
)
"""A change of verifyImages rules."""
BUNDLES: Final = "of an image that has Sigstore bundles, these count, and no other signatures"
"""A change of verifyImages rules that are not about Notary."""
IMAGE_NAMES: Final = (
    "an image whose name is no reference is no error where the policy is not about it"
)
"""A change of verifyImages rules."""
ACTS_NOWHERE: Final = (
    "Kyverno refuses the policy that it is in, so that the rule acts nowhere; the new one does"
)
"""A change of sound rules of a policy that Kyverno refuses."""
PROPERTIES: Final = (
    "reportProperties are left out: results in reports have no properties of the rule's own; "
    "auditAnnotations of the new policy can give some"
)
"""A change of rules that name properties of their results."""
EVERYWHERE: Final = (
    "an API server asks it about every namespace: Kyverno's resourceFilters, and what its webhooks "
    "leave out, count no longer"
)
"""A change of policies that become Kubernetes' own."""
REPORTED: Final = (
    "background scans of Kyverno report on it where they report on policies of Kubernetes"
)
"""A change of policies without background scans that become Kubernetes' own."""
OWN_TEXTS: Final = (
    "a text that a variable gives is compared as it is: no wildcard, size or operator in it"
)
"""A change of patterns with variables."""
REMARKS: Final = frozenset(
    (
        *(ASCII_CASE, CEL_ERRORS, DECIMALS, DECODED, IMAGE_NAMES, IMAGE_PARTS, KIND_IN_SCANS),
        *(NEVER_REFUSES, NO_DATA, OWN_TEXTS, PARENT_FOLDERS, READ_TEXTS, REFUSES_ALL),
        *(SERVICE_ACCOUNTS, TIMES),
        *(LISTS_AS_TEXTS, LISTS_IN_TEXTS, NO_TARGET, PLAIN_TEXTS, UNUSED_VARIABLES),
    )
)
"""Sentences about values that hardly any object has, and about errors in place of failures: they
are shown, and make no change of a rule."""


_MAPS: Final = ("labels", "annotations")
WORDS: Final = {
    TEXT: "a string",
    "int": "a whole number",
    "double": "a number",
    "bool": "a boolean",
    "quantity": "a number or a quantity",
    ANY_LIST: "a list",
    ANY_MAP: "an object",
}
"""By type: the words for it."""


_STEP: Final = re.compile(r"\.|\[\]")


def described(assumed: Mapping[str, str]) -> str:
    """Return assumptions as a sentence, without what these imply of the fields above; empty for
    none."""
    if not assumed:
        return ""
    above = {path[: match.start()] for path in assumed for match in _STEP.finditer(path)}
    innermost = sorted(assumed.keys() - above)
    named = [f"{path} is {WORDS[assumed[path]]}" for path in innermost]
    return f"the schema is not known; it is assumed that {', '.join(named)}"


def meets(body: Body, assumed: Mapping[str, str]) -> bool:
    """Return whether every field of an object that is assumed to have a type has it, or is not
    there; labels and annotations are texts in any case."""
    metadata = body.get("metadata")
    maps = [metadata[key] for key in _MAPS if key in metadata] if metadata else []
    if not all(_is_text_map(each) for each in maps):
        return False
    return all(
        _is(value, type_) for path, type_ in assumed.items() for value in _values(body, path)
    )


def _is_text_map(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _values(value: Json, path: str) -> Iterator[Json]:
    """Yield the values at a path, in whose keys there may be dots."""
    steps = path.split(".")
    for at in range(1, len(steps) + 1) if isinstance(value, dict) else ():
        written, rest = ".".join(steps[:at]), ".".join(steps[at:])
        key = written.removesuffix("[]")
        found = value.values() if key == "*" else [value[key]] if key in value else []
        inside = found if written == key else [one for each in found for one in list_of(each)]
        for each in inside:
            yield from _values(each, rest) if rest else (each,)


def _is(value: Json, type_: str) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match type_:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return is_number and float(value).is_integer()
        case "double":
            return is_number
        case "quantity":
            return is_number or (isinstance(value, str) and quantity_or_none(value) is not None)
        case _:
            return isinstance(value, list if type_ == ANY_LIST else dict)
