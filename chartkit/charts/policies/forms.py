"""Values that a form of the policies (`policyType`) cannot hold, for the chart's schema.

A schema has no place for a reason. Where nothing is allowed, `const` holds the reason: Helm and
other programs that check the schema report "value must be 'REASON'". The chart's templates refuse
the same values, also where the Kyverno version decides `policyType`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from chartkit.errors import InputError
from chartkit.model import Body
from chartkit.project.settings import NamespaceAction

CLUSTER_POLICY = "ClusterPolicy"
VALIDATING_POLICY = "ValidatingPolicy"
ADMISSION_POLICY = "ValidatingAdmissionPolicy"
BOTH = "both"

PRECONDITIONS = (
    "preconditions are written in JMESPath, which a policy in CEL cannot hold; give "
    "policyMatchConditions or policyType: ClusterPolicy"
)
ROLES = (
    "what roles a user has cannot be asked in CEL; name users and groups under subjects, or give "
    "policyType: ClusterPolicy"
)
BACKGROUND = (
    "a ValidatingAdmissionPolicy looks at requests alone: it has no background scan to switch off"
)
OF_CEL = (
    "this is for policies in CEL, policyType ValidatingPolicy or ValidatingAdmissionPolicy; "
    "ClusterPolicy cannot hold it"
)


def rulings(
    rules: Mapping[str, Sequence[str]],
    cel: Mapping[str, str],
    only_cel: Sequence[str],
) -> list[Body]:
    """Return what each form refuses, as conditions of the schema.

    rules: the names of the rules, by policy; cel: the kind of the form in CEL, by policy that has
    one: the others are ClusterPolicies whatever policyType is, and keep what only those can hold;
    only_cel: those that are in CEL whatever policyType is.
    """
    found = [_when([CLUSTER_POLICY, BOTH], _of_cluster_policy(only_cel))]
    if cel:
        others = [name for name in rules if name not in cel]
        found += [
            _when([VALIDATING_POLICY, ADMISSION_POLICY], _of_cel(rules, cel)),
            _when([ADMISSION_POLICY], _of_admission(others)),
        ]
    doubled = [name for name, kind in cel.items() if kind == VALIDATING_POLICY]
    return [*found, _when([BOTH], _of_cel(rules, doubled))] if doubled else found


def _when(types: Sequence[str], properties: Body) -> Body:
    asked = {"properties": {"policyType": {"enum": list(types)}}, "required": ["policyType"]}
    return {"if": asked, "then": {"properties": properties}}


def _refused(reason: str) -> Body:
    return {"const": reason}


def _of_cluster_policy(only_cel: Sequence[str]) -> Body:
    refused = {"additionalProperties": _refused(OF_CEL)}
    lists = {
        key: {"items": _refused(OF_CEL)} for key in ("excludeResourceRules", "matchConditions")
    }
    of_all = {"auditAnnotations": refused, "vpolExclude": {"properties": lists}}
    conditions = {"items": _refused(OF_CEL)}
    own = {"properties": {"matchConditions": conditions, "auditAnnotations": refused}}
    return {
        **({} if only_cel else of_all),
        "auditAnnotationsByPolicy": _but(only_cel, refused),
        "policyMatchConditions": _but(only_cel, conditions),
        "vpolExcludeByPolicy": _but(only_cel, {"properties": lists}),
        "policies": _but(only_cel, own),
    }


def _but(names: Sequence[str], body: Body) -> Body:
    """Every key's value by a schema, those of some names aside."""
    aside: Body = {"properties": {name: {} for name in names}} if names else {}
    return {**aside, "additionalProperties": body}


def _of_cel(rules: Mapping[str, Sequence[str]], cel: Collection[str]) -> Body:
    """Return what policies refuse that are in CEL; cel: their names."""
    others = [name for name in rules if name not in cel]
    named = {*cel, *(rule for name in cel for rule in rules[name])}
    keys = sorted({*others, *(rule for name in others for rule in rules[name])} - named)
    conditions = {"additionalProperties": _refused(PRECONDITIONS)}
    filters = {"$ref": "#/definitions/filtersOfCel"}
    own = {"properties": {"preconditions": conditions, "exclude": filters}}
    return {
        "exclude": filters,
        "policyExclude": _but(keys, filters),
        "policyPreconditions": _but(keys, conditions),
        "policies": _but(others, own),
    }


def _of_admission(others: Sequence[str]) -> Body:
    on = {"enum": [True, None, BACKGROUND]}
    return {"background": on, "policies": _but(others, {"properties": {"background": on}})}


def filters_of_cel() -> Body:
    """Return the definition of exclude blocks that CEL can express."""
    users: Body = {"roles": {"items": _refused(ROLES)}, "clusterRoles": {"items": _refused(ROLES)}}
    each = {"items": {"properties": users}}
    return {
        "description": "An exclude block without roles, which CEL cannot check.",
        "properties": {**users, "any": each, "all": each},
    }


_WILDCARDS = frozenset("*?")


def overrides(actions: Sequence[NamespaceAction]) -> list[Body]:
    """Return the overrides for actions of namespaces, of which the last that fits counts.

    A name that an earlier override decides is left out: Kyverno refuses a ClusterPolicy with two
    actions for one namespace.
    """
    found: list[Body] = []
    decided: list[str] = []
    for each in reversed(actions):
        where: Body = {}
        if each.namespaces:
            names = [name for name in each.namespaces if not _is_decided(name, decided)]
            if not names:
                continue
            where["namespaces"] = names
        if each.selector is not None:
            where["namespaceSelector"] = each.selector
        elif each.namespaces:
            decided += each.namespaces
        found.append({"action": each.action.value, **where})
    return found


def require_no_overlap(actions: Sequence[NamespaceAction], policy: str) -> None:
    """Raise InputError where a ClusterPolicy cannot hold actions: a namespace with one, in a
    pattern with another."""
    for later, name, earlier, pattern in _overlaps(actions):
        if _is_decided(pattern, later.namespaces):
            continue
        message = (
            f"'{name}' ({later.action}) is within '{pattern}' ({earlier.action}), and Kyverno "
            f"refuses a ClusterPolicy such as {policy} with both"
        )
        hint = "name the namespaces without a wildcard, or say policyType: ValidatingPolicy"
        raise InputError(message, later.location, hint)


def _overlaps(
    actions: Sequence[NamespaceAction],
) -> Iterator[tuple[NamespaceAction, str, NamespaceAction, str]]:
    for index, later in enumerate(actions):
        for earlier in actions[:index]:
            if later.action is earlier.action:
                continue
            for name in later.namespaces:
                for pattern in earlier.namespaces:
                    if _WILDCARDS & set(pattern) and name != pattern and fnmatchcase(name, pattern):
                        yield later, name, earlier, pattern


def _is_decided(name: str, decided: Sequence[str]) -> bool:
    """Return whether patterns before cover a name, or a pattern as a whole."""
    return any(name == each or fnmatchcase(name, each) for each in decided)
