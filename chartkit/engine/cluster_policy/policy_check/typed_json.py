"""A policy's parts as Go's JSON encoder prints Kyverno's types; error texts quote them so."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from chartkit.engine.cluster_policy.policy_check.image_defaults import with_defaults
from chartkit.go.fmt import go_json
from chartkit.model import Body, Json

Print = Callable[[Json], str]


def rule_json(body: Body, api_version: str = "kyverno.io/v1") -> str:
    """A rule with the defaults of its custom resource definition, fields in Go's order."""
    full = {"skipBackgroundRequests": True, **body}
    full["match"] = _with_resources(body.get("match") or {})
    if body.get("exclude") is not None:
        full["exclude"] = _with_resources(body["exclude"])
    if body.get("validate") is not None:
        full["validate"] = _validation(body["validate"], api_version)
    return _print_object(full, _RULE)


def _validation(body: Body, api_version: str) -> Body:
    """Return a `validate` with its defaults; v2beta1 knows no allowExistingViolations."""
    allows = {} if api_version.endswith("/v2beta1") else {"allowExistingViolations": True}
    full: Body = {**allows, **body}
    if isinstance(full.get("cel"), dict):
        full["cel"] = {"generate": False, **full["cel"]}
    return full


def selector_json(body: Body) -> str:
    """A label selector."""
    return _print_object(body, _SELECTOR)


def attestor_json(struct: str, body: Body) -> str:
    """A part of verifyImages: `ImageVerification`, `AttestorSet`, `Attestor`, or how an attestor
    signs (`keys`, `certificates`, `keyless`)."""
    parts = []
    for entry, kind in _ATTESTORS[struct].items():
        name = entry.rstrip("!")
        value = body.get(name)
        is_empty = value in _ZEROES or (value == {} and kind == "map")
        if not is_empty:
            parts.append(f'"{name}":{_attestor_part(kind, value)}')
        elif entry != name:
            parts.append(f'"{name}":{_ALWAYS.get(kind) or go_json(value or "")}')
    return "{" + ",".join(parts) + "}"


def _attestor_part(kind: str, value: Json) -> str:
    if kind.startswith("[]"):
        shown = (attestor_json(kind.removeprefix("[]"), one) for one in value)
        return "[" + ",".join(shown) + "]"
    return attestor_json(kind, value) if kind in _ATTESTORS else go_json(value)


def _with_resources(block: Body) -> Body:
    return {"resources": {}, **block}


def _print_object(body: Mapping[str, Json], fields: Mapping[str, Print]) -> str:
    parts = [
        f"{json.dumps(name)}:{show(body[name])}"
        for name, show in fields.items()
        if not _is_empty(body.get(name), name)
    ]
    return "{" + ",".join(parts) + "}"


def _is_empty(value: Json, name: str) -> bool:
    """Return whether `omitempty` omits a value; a struct that is not a pointer is always
    printed."""
    if name == "resources":
        return value is None
    if value is None or name in _RAW:
        return value is None
    return value == "" or value == [] or (value == {} and name in _MAPS)


_RAW: Final = ("pattern", "anyPattern", "patchStrategicMerge", "value", "default", "urlPath")
"""Fields that are printed where they are there: values of any type, and what is required."""
_MAPS: Final = ("annotations", "matchLabels", "reportProperties", "imageExtractors")


def _preconditions(value: Json) -> str:
    """A flat list, or blocks of which empty ones are left out."""
    if isinstance(value, list):
        return _condition_list(value)
    blocks = [(name, value.get(name)) for name in ("any", "all")]
    return "{" + ",".join(f'"{name}":{_condition_list(one)}' for name, one in blocks if one) + "}"


def _condition_list(conditions: Json) -> str:
    return "[" + ",".join(map(_condition, conditions)) + "]"


def _condition(body: Mapping[str, Json]) -> str:
    """Keys and values are left out where there are none, texts also where they are empty."""
    parts = [
        f'"{name}":{go_json(body[name])}'
        for name in ("key", "operator", "value", "message")
        if body.get(name) is not None and (body[name] != "" or name in ("key", "value"))
    ]
    return "{" + ",".join(parts) + "}"


def _object(fields: Mapping[str, Print]) -> Print:
    return lambda value: _print_object(value, fields)


def _objects(fields: Mapping[str, Print]) -> Print:
    return lambda value: "[" + ",".join(_print_object(one, fields) for one in value) + "]"


_SELECTOR: Final[dict[str, Print]] = {
    "matchLabels": go_json,
    "matchExpressions": _objects({"key": go_json, "operator": go_json, "values": go_json}),
}
_RESOURCES: Final[dict[str, Print]] = {
    **dict.fromkeys(("kinds", "name", "names", "namespaces", "annotations"), go_json),
    "selector": _object(_SELECTOR),
    "namespaceSelector": _object(_SELECTOR),
    "operations": go_json,
}
_USERS: Final[dict[str, Print]] = {
    **dict.fromkeys(("roles", "clusterRoles"), go_json),
    "subjects": _objects(dict.fromkeys(("kind", "apiGroup", "name", "namespace"), go_json)),
}


def _filters(value: Json) -> str:
    fields = {**_USERS, "resources": _object(_RESOURCES)}
    return "[" + ",".join(_print_object(_with_resources(one), fields) for one in value) + "]"


_MATCH: Final[dict[str, Print]] = {
    "any": _filters,
    "all": _filters,
    **_USERS,
    "resources": _object(_RESOURCES),
}
_PATHS: Final[dict[str, Print]] = dict.fromkeys(("name", "namespace", "jmesPath"), go_json)
_CALL: Final[dict[str, Print]] = {
    **dict.fromkeys(("urlPath", "method"), go_json),
    "data": _objects({"key": go_json, "value": go_json}),
    "service": _object(
        {
            "url": go_json,
            "headers": _objects({"key": go_json, "value": go_json}),
            "caBundle": go_json,
        }
    ),
    **dict.fromkeys(("default", "jmesPath"), go_json),
}


def _call(value: Body) -> str:
    return _print_object({"method": "GET", **value}, _CALL)


def _context(call: Print) -> Print:
    return _objects(
        {
            "name": go_json,
            "configMap": _object(_PATHS),
            "apiCall": call,
            "imageRegistry": _object(
                dict.fromkeys(("reference", "jmesPath", "imageRegistryCredentials"), go_json)
            ),
            "variable": _object(dict.fromkeys(("value", "jmesPath", "default"), go_json)),
            "globalReference": _object(_PATHS),
        }
    )


_CONTEXT: Final = _context(_call)
_INNER_CONTEXT: Final = _context(_object(_CALL))
"""The context of a foreach in another: the definition has no schema for it, and so no defaults."""


def _validate_each(value: Json, context: Print = _CONTEXT) -> str:
    return _objects(
        {
            **dict.fromkeys(("list", "elementScope"), go_json),
            "context": context,
            "preconditions": _preconditions,
            **dict.fromkeys(("pattern", "anyPattern"), go_json),
            "deny": _object({"conditions": _preconditions}),
            "foreach": partial(_validate_each, context=_INNER_CONTEXT),
        }
    )(value)


def _mutate_each(value: Json, context: Print = _CONTEXT) -> str:
    return _objects(
        {
            **dict.fromkeys(("list", "order"), go_json),
            "context": context,
            "preconditions": _preconditions,
            **dict.fromkeys(("patchStrategicMerge", "patchesJson6902"), go_json),
            "foreach": partial(_mutate_each, context=_INNER_CONTEXT),
        }
    )(value)


_POD_SECURITY: Final[dict[str, Print]] = {
    **dict.fromkeys(("level", "version"), go_json),
    "exclude": _objects(
        dict.fromkeys(("controlName", "images", "restrictedField", "values"), go_json)
    ),
}
_CEL: Final[dict[str, Print]] = {
    "generate": go_json,
    "expressions": _objects(
        dict.fromkeys(("expression", "message", "reason", "messageExpression"), go_json)
    ),
    "paramKind": _object(dict.fromkeys(("apiVersion", "kind"), go_json)),
    "paramRef": _object(
        {
            **dict.fromkeys(("name", "namespace"), go_json),
            "selector": _object(_SELECTOR),
            "parameterNotFoundAction": go_json,
        }
    ),
    "auditAnnotations": _objects(dict.fromkeys(("key", "valueExpression"), go_json)),
    "variables": _objects(dict.fromkeys(("name", "expression"), go_json)),
}
_VALIDATE: Final[dict[str, Print]] = {
    **dict.fromkeys(
        ("failureAction", "failureActionOverrides", "allowExistingViolations", "message"), go_json
    ),
    "manifests": go_json,
    "foreach": _validate_each,
    **dict.fromkeys(("pattern", "anyPattern"), go_json),
    "deny": _object({"conditions": _preconditions}),
    "podSecurity": _object(_POD_SECURITY),
    "cel": _object(_CEL),
    "assert": go_json,
}
_TARGET: Final[dict[str, Print]] = {
    **dict.fromkeys(("apiVersion", "kind", "namespace", "name", "uid"), go_json),
    "selector": _object(_SELECTOR),
    "context": _CONTEXT,
    "preconditions": _preconditions,
}
_MUTATE: Final[dict[str, Print]] = {
    "mutateExistingOnPolicyUpdate": go_json,
    "targets": _objects(_TARGET),
    **dict.fromkeys(("patchStrategicMerge", "patchesJson6902"), go_json),
    "foreach": _mutate_each,
}
_PATTERN: Final[dict[str, Print]] = {
    **dict.fromkeys(("apiVersion", "kind", "namespace", "name", "uid", "data"), go_json),
    "clone": _object({"namespace": go_json, "name": go_json}),
    "cloneList": _object({"namespace": go_json, "kinds": go_json, "selector": _object(_SELECTOR)}),
}


def _with_clones(body: Body) -> Body:
    """Return a `generate` with both ways to clone, and without a switch that is off."""
    on = {key: value for key, value in body.items() if value is not False or key in _SAID}
    return {"clone": {}, "cloneList": {}, **on}


_SAID: Final = ("generateExisting", "data")


def _generate_each(value: Json) -> str:
    return "[" + ",".join(_print_object(_with_clones(one), _EACH) for one in value) + "]"


_EACH: Final[dict[str, Print]] = {
    "list": go_json,
    "context": _CONTEXT,
    "preconditions": _preconditions,
    **_PATTERN,
}
_GENERATE: Final[dict[str, Print]] = {
    **dict.fromkeys(("generateExisting", "synchronize", "orphanDownstreamOnPolicyDelete"), go_json),
    **_PATTERN,
    "foreach": _generate_each,
}


def _images(value: Json) -> str:
    shown = (attestor_json("ImageVerification", with_defaults(one)) for one in value)
    return "[" + ",".join(shown) + "]"


_RULE: Final[dict[str, Print]] = {
    "name": go_json,
    "context": _CONTEXT,
    "reportProperties": go_json,
    "match": _object(_MATCH),
    "exclude": _object(_MATCH),
    "imageExtractors": go_json,
    "preconditions": _preconditions,
    "celPreconditions": _objects(dict.fromkeys(("name", "expression"), go_json)),
    "mutate": _object(_MUTATE),
    "validate": _object(_VALIDATE),
    "generate": lambda value: _print_object(_with_clones(value), _GENERATE),
    "verifyImages": _images,
    "skipBackgroundRequests": go_json,
}


_ZEROES: Final[tuple[Json, ...]] = (None, "", False, [])
_ALWAYS: Final = {"bool": "false", "[]AttestorSet": "null", "Validation": "{}"}
"""The values of empty fields that `omitempty` does not omit."""
_TEXT: Final = "text"


def _texts(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, _TEXT)


_LOGS: Final = {"rekor": "Rekor", "ctlog": "CTLog"}
_ATTESTORS: Final[Mapping[str, Mapping[str, str]]] = {
    "ImageVerification": {
        **_texts("failureAction", "type", "image", "imageReferences", "skipImageReferences"),
        **_texts("key", "roots", "subject", "issuer"),
        "additionalExtensions": "map",
        "attestors": "[]AttestorSet",
        "attestations": "[]Attestation",
        "annotations": "map",
        "repository": _TEXT,
        "cosignOCI11": "bool",
        "mutateDigest!": "bool",
        "verifyDigest!": "bool",
        "validate!": "Validation",
        "required!": "bool",
        "imageRegistryCredentials": "Credentials",
        "useCache!": "bool",
    },
    "AttestorSet": {"count": "number", "entries": "[]Attestor"},
    "Attestor": {
        **{name: name for name in ("keys", "certificates", "keyless")},
        "attestor": "raw",
        "annotations": "map",
        **_texts("repository", "signatureAlgorithm"),
    },
    "keys": {**_texts("publicKeys", "signatureAlgorithm", "kms"), "secret": "Secret", **_LOGS},
    "certificates": {**_texts("cert", "certChain"), **_LOGS},
    "keyless": {
        **_LOGS,
        **_texts("issuer", "issuerRegExp", "subject", "subjectRegExp", "roots"),
        "additionalExtensions": "map",
    },
    "Secret": _texts("name!", "namespace!"),
    "Rekor": {"url!": _TEXT, "pubkey": _TEXT, "ignoreTlog": "bool"},
    "CTLog": {"ignoreSCT": "bool", "pubkey": _TEXT, "tsaCertChain": _TEXT},
    "Attestation": {
        **_texts("name", "predicateType!", "type!"),
        "attestors!": "[]AttestorSet",
        "conditions": "raw",
    },
    "Validation": {"message": _TEXT, "deny": "raw"},
    "Credentials": {"allowInsecureRegistry": "bool", "providers": _TEXT, "secrets": _TEXT},
}
"""Fields in Go's order; `!` behind those that are always there."""
