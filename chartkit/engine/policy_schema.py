"""The fields of ClusterPolicy and Policy (kyverno.io/v1, v2beta1) and of PolicyException, as their
custom resource definitions in Kyverno 1.19 have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chartkit.engine.attestor_schema import MANIFESTS
from chartkit.engine.schema import (
    Check,
    Problem,
    anything,
    boolean,
    integer,
    list_of,
    map_of,
    struct,
    text,
)
from chartkit.model import Json

_TEXT: Final = text()
_TEXTS: Final = list_of(_TEXT)
_TEXT_MAP: Final = map_of(_TEXT)

_SELECTOR: Final = struct(
    {
        "matchLabels": _TEXT_MAP,
        "matchExpressions": list_of(
            struct(
                {"key": _TEXT, "operator": _TEXT, "values": _TEXTS}, required=("key", "operator")
            )
        ),
    }
)

_RESOURCES: Final = struct(
    {
        "kinds": _TEXTS,
        "name": _TEXT,
        "names": _TEXTS,
        "namespaces": _TEXTS,
        "annotations": _TEXT_MAP,
        "selector": _SELECTOR,
        "namespaceSelector": _SELECTOR,
        "operations": list_of(text(among=("CREATE", "CONNECT", "UPDATE", "DELETE"))),
    },
    exclusive=("name", "names"),
)

_FILTER_FIELDS: Final[dict[str, Check]] = {
    "resources": _RESOURCES,
    "roles": _TEXTS,
    "clusterRoles": _TEXTS,
    "subjects": list_of(
        struct(
            {"apiGroup": _TEXT, "kind": _TEXT, "name": _TEXT, "namespace": _TEXT},
            required=("kind", "name"),
        )
    ),
}
_FILTERS: Final = list_of(struct(_FILTER_FIELDS))
_MATCH: Final = struct(
    {"any": _FILTERS, "all": _FILTERS, **_FILTER_FIELDS}, exclusive=("any", "all")
)

_CONDITION: Final = struct(
    {"key": anything, "operator": _TEXT, "value": anything, "message": _TEXT}, open_ended=True
)
_CONDITIONS: Final = struct(
    {"any": list_of(_CONDITION), "all": list_of(_CONDITION)}, open_ended=True
)


def _conditions(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
    """An any/all block, or the flat list of conditions that Kyverno still takes."""
    check = list_of(_CONDITION) if isinstance(value, list) else _CONDITIONS
    return check(value, path)


_CONTEXT_KINDS: Final = ("configMap", "apiCall", "imageRegistry", "variable", "globalReference")
_CONTEXT_ENTRY: Final = struct(
    {
        "name": _TEXT,
        "configMap": struct({"name": _TEXT, "namespace": _TEXT}, required=("name",)),
        "apiCall": struct(
            {
                "urlPath": _TEXT,
                "method": text(among=("GET", "POST")),
                "data": list_of(
                    struct({"key": _TEXT, "value": anything}, required=("key", "value"))
                ),
                "service": struct(
                    {
                        "url": _TEXT,
                        "caBundle": _TEXT,
                        "headers": list_of(
                            struct({"key": _TEXT, "value": _TEXT}, required=("key", "value"))
                        ),
                    },
                    required=("url",),
                ),
                "default": anything,
                "jmesPath": _TEXT,
            }
        ),
        "imageRegistry": struct(
            {"reference": _TEXT, "jmesPath": _TEXT, "imageRegistryCredentials": anything},
            required=("reference",),
        ),
        "variable": struct({"value": anything, "jmesPath": _TEXT, "default": anything}),
        "globalReference": struct({"name": _TEXT, "jmesPath": _TEXT}, required=("name",)),
    },
    required=("name",),
)


def _context_entry(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
    problems = _CONTEXT_ENTRY(value, path)
    if isinstance(value, dict):
        given = [kind for kind in _CONTEXT_KINDS if value.get(kind) is not None]
        if len(given) != 1:
            problems.append((path, f"must have exactly one of {', '.join(_CONTEXT_KINDS)}"))
    return problems


_CONTEXT: Final = list_of(_context_entry)

_ACTIONS: Final = ("audit", "enforce", "Audit", "Enforce")
_RULE_ACTIONS: Final = ("Audit", "Enforce")
_OVERRIDES: Final = list_of(
    struct({"action": text(among=_ACTIONS), "namespaces": _TEXTS, "namespaceSelector": _SELECTOR})
)

_POD_SECURITY_CONTROLS: Final = (
    "HostProcess",
    "Host Namespaces",
    "Privileged Containers",
    "Capabilities",
    "HostPath Volumes",
    "Host Ports",
    "AppArmor",
    "SELinux",
    "/proc Mount Type",
    "Seccomp",
    "Sysctls",
    "Volume Types",
    "Privilege Escalation",
    "Running as Non-root",
    "Running as Non-root user",
)
_POD_SECURITY_EXCLUDES: Final = list_of(
    struct(
        {
            "controlName": text(among=_POD_SECURITY_CONTROLS),
            "images": _TEXTS,
            "restrictedField": _TEXT,
            "values": _TEXTS,
        },
        required=("controlName",),
    )
)
_POD_SECURITY_VERSIONS: Final = (*(f"v1.{minor}" for minor in range(19, 33)), "latest")

_DENY: Final = struct({"conditions": _conditions})
_FOREACH_FIELDS: Final[dict[str, Check]] = {
    "list": _TEXT,
    "context": _CONTEXT,
    "preconditions": _CONDITIONS,
}


def _loops(own: Mapping[str, Check], nested: Mapping[str, Check] | None = None) -> Check:
    """A list of loops; nested: the own fields of loops inside them, where they differ.

    The definition leaves what stands inside open, but Kyverno loads no other types.
    """
    inside = {**_FOREACH_FIELDS, **(nested or own)}

    def deeper(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        return inner(value, path)

    inner = list_of(struct({**inside, "foreach": deeper}, open_ended=True))
    return list_of(struct({**_FOREACH_FIELDS, **own, "foreach": deeper}))


_VALIDATE: Final = struct(
    {
        "message": _TEXT,
        "pattern": anything,
        "anyPattern": anything,
        "deny": _DENY,
        "foreach": _loops(
            {
                "pattern": anything,
                "anyPattern": anything,
                "deny": _DENY,
                "elementScope": boolean,
            }
        ),
        "podSecurity": struct(
            {
                "level": text(among=("privileged", "baseline", "restricted")),
                "version": text(among=_POD_SECURITY_VERSIONS),
                "exclude": _POD_SECURITY_EXCLUDES,
            }
        ),
        "manifests": MANIFESTS,
        "assert": anything,
        "cel": struct({}, open_ended=True),
        "failureAction": text(among=_RULE_ACTIONS),
        "failureActionOverrides": _OVERRIDES,
        "allowExistingViolations": boolean,
    }
)

_PATCHES: Final[dict[str, Check]] = {
    "patchStrategicMerge": anything,
    "patchesJson6902": _TEXT,
}
_MUTATE: Final = struct(
    {
        **_PATCHES,
        "foreach": _loops(
            {**_PATCHES, "order": text(among=("Ascending", "Descending"))},
            {**_PATCHES, "order": _TEXT},
        ),
        "mutateExistingOnPolicyUpdate": boolean,
        "targets": list_of(
            struct(
                {
                    "apiVersion": _TEXT,
                    "kind": _TEXT,
                    "namespace": _TEXT,
                    "name": _TEXT,
                    "uid": _TEXT,
                    "selector": _SELECTOR,
                    "context": _CONTEXT,
                    "preconditions": _conditions,
                }
            )
        ),
    }
)

_GENERATE_FIELDS: Final[dict[str, Check]] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "namespace": _TEXT,
    "name": _TEXT,
    "uid": _TEXT,
    "data": anything,
    "clone": struct({"namespace": _TEXT, "name": _TEXT}),
    "cloneList": struct({"namespace": _TEXT, "kinds": _TEXTS, "selector": _SELECTOR}),
}
_GENERATE: Final = struct(
    {
        **_GENERATE_FIELDS,
        "foreach": list_of(
            struct(
                {
                    **_GENERATE_FIELDS,
                    "list": _TEXT,
                    "context": _CONTEXT,
                    "preconditions": _CONDITIONS,
                }
            )
        ),
        "generateExisting": boolean,
        "synchronize": boolean,
        "orphanDownstreamOnPolicyDelete": boolean,
    }
)

_EXPRESSIONS: Final = list_of(
    struct({"name": _TEXT, "expression": _TEXT}, required=("name", "expression"))
)
_RULE: Final = struct(
    {
        "name": text(longest=63),
        "match": _MATCH,
        "exclude": _MATCH,
        "context": _CONTEXT,
        "preconditions": _conditions,
        "celPreconditions": _EXPRESSIONS,
        "validate": _VALIDATE,
        "mutate": _MUTATE,
        "generate": _GENERATE,
        "verifyImages": list_of(struct({}, open_ended=True)),
        "imageExtractors": map_of(list_of(struct({}, open_ended=True))),
        "reportProperties": _TEXT_MAP,
        "skipBackgroundRequests": boolean,
    },
    required=("name", "match"),
)

_FAILURE_POLICY: Final = text(among=("Ignore", "Fail"))
_SPEC: Final = struct(
    {
        "rules": list_of(_RULE),
        "applyRules": text(among=("All", "One")),
        "failurePolicy": _FAILURE_POLICY,
        "validationFailureAction": text(among=_ACTIONS),
        "validationFailureActionOverrides": _OVERRIDES,
        "emitWarning": boolean,
        "admission": boolean,
        "background": boolean,
        "schemaValidation": boolean,
        "webhookTimeoutSeconds": integer,
        "mutateExistingOnPolicyUpdate": boolean,
        "generateExistingOnPolicyUpdate": boolean,
        "generateExisting": boolean,
        "useServerSideApply": boolean,
        "webhookConfiguration": struct(
            {
                "failurePolicy": _FAILURE_POLICY,
                "timeoutSeconds": integer,
                "matchConditions": _EXPRESSIONS,
            }
        ),
    }
)

_METADATA: Final = struct({"annotations": _TEXT_MAP, "labels": _TEXT_MAP}, open_ended=True)
_OBJECT: Final[dict[str, Check]] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": _METADATA,
    "status": anything,
}

POLICY: Final = struct({**_OBJECT, "spec": _SPEC}, required=("metadata", "spec"))
"""A ClusterPolicy or Policy."""

_BLOCKS: Final = struct({"any": _FILTERS, "all": _FILTERS}, exclusive=("any", "all"))

EXCEPTION: Final = struct(
    {
        **_OBJECT,
        "spec": struct(
            {
                "background": boolean,
                "match": _BLOCKS,
                "conditions": _CONDITIONS,
                "exceptions": list_of(
                    struct(
                        {"policyName": _TEXT, "ruleNames": _TEXTS},
                        required=("policyName", "ruleNames"),
                    )
                ),
                "podSecurity": _POD_SECURITY_EXCLUDES,
            },
            required=("match", "exceptions"),
        ),
    },
    required=("metadata", "spec"),
)
"""A PolicyException (kyverno.io/v2, v2beta1)."""

_OPERATORS: Final = (
    "Equals",
    "NotEquals",
    "AnyIn",
    "AllIn",
    "AnyNotIn",
    "AllNotIn",
    "GreaterThanOrEquals",
    "GreaterThan",
    "LessThanOrEquals",
    "LessThan",
    "DurationGreaterThanOrEquals",
    "DurationGreaterThan",
    "DurationLessThanOrEquals",
    "DurationLessThan",
)
_CLEANUP_CONDITIONS: Final = list_of(
    struct(
        {"key": anything, "operator": text(among=_OPERATORS), "value": anything, "message": _TEXT}
    )
)

CLEANUP_POLICY: Final = struct(
    {
        **_OBJECT,
        "spec": struct(
            {
                "schedule": _TEXT,
                "match": _BLOCKS,
                "exclude": _BLOCKS,
                "context": _CONTEXT,
                "conditions": struct({"any": _CLEANUP_CONDITIONS, "all": _CLEANUP_CONDITIONS}),
                "deletionPropagationPolicy": text(among=("Foreground", "Background", "Orphan")),
            },
            required=("schedule", "match"),
        ),
    },
    required=("metadata", "spec"),
)
"""A ClusterCleanupPolicy or CleanupPolicy (kyverno.io/v2, v2beta1)."""
