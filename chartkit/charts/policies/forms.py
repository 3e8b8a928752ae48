"""What the form of the policies (`policyType`) rules out in the values, for the chart's schema.

A schema has no place for a reason. Where nothing is allowed, `const` holds the reason: programs
that check the schema, Helm among them, say "value must be 'REASON'". The chart's templates refuse
the same, also where `policyType` is left to the Kyverno version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from chartkit.model import Body

CLUSTER_POLICY = "ClusterPolicy"
VALIDATING_POLICY = "ValidatingPolicy"
ADMISSION_POLICY = "ValidatingAdmissionPolicy"

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


def rulings(cel: Mapping[str, Sequence[str]], only_cel: Sequence[str]) -> list[Body]:
    """What each form refuses, as conditions of the schema.

    cel: the rules by policy, of those that have a form in CEL; the others come as ClusterPolicy
    whatever policyType says, and keep what only that can hold; only_cel: those that are in CEL
    whatever it says.
    """
    return [
        _when([CLUSTER_POLICY], _of_cluster_policy(only_cel)),
        *([_when([VALIDATING_POLICY, ADMISSION_POLICY], _of_cel(cel))] if cel else []),
        *([_when([ADMISSION_POLICY], _of_admission(cel))] if cel else []),
    ]


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
    own = {"properties": {"matchConditions": {"items": _refused(OF_CEL)}}}
    return {
        **({} if only_cel else of_all),
        "auditAnnotationsByPolicy": _but(only_cel, refused),
        "policyMatchConditions": _but(only_cel, {"items": _refused(OF_CEL)}),
        "vpolExcludeByPolicy": _but(only_cel, {"properties": lists}),
        "policies": _but(only_cel, own),
    }


def _but(names: Sequence[str], body: Body) -> Body:
    """Every key's value by a schema, those of some names aside."""
    aside: Body = {"properties": {name: {} for name in names}} if names else {}
    return {**aside, "additionalProperties": body}


def _of_cel(cel: Mapping[str, Sequence[str]]) -> Body:
    conditions = {"additionalProperties": _refused(PRECONDITIONS)}
    named = sorted({*cel, *(rule for rules in cel.values() for rule in rules)})
    filters = {"$ref": "#/definitions/filtersOfCel"}
    return {
        "exclude": filters,
        "policyExclude": {"properties": _each(named, filters)},
        "policyPreconditions": {"properties": _each(named, conditions)},
        "policies": {
            "properties": _each(
                cel, {"properties": {"preconditions": conditions, "exclude": filters}}
            )
        },
    }


def _of_admission(cel: Mapping[str, Sequence[str]]) -> Body:
    on = {"enum": [True, None, BACKGROUND]}
    return {
        "background": on,
        "policies": {"properties": _each(cel, {"properties": {"background": on}})},
    }


def _each(names: Iterable[str], body: Body) -> Body:
    return dict.fromkeys(names, body)


def filters_of_cel() -> Body:
    """The definition of exclude blocks that can be said in CEL."""
    users: Body = {"roles": {"items": _refused(ROLES)}, "clusterRoles": {"items": _refused(ROLES)}}
    each = {"items": {"properties": users}}
    return {
        "description": "An exclude block without roles, which cannot be asked in CEL.",
        "properties": {**users, "any": each, "all": each},
    }
