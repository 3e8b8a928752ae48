"""The JSON Schema of chartkit.yaml with the names that there are, for editors: policies, their
parameters and profiles."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from chartkit import bundled
from chartkit.library.policy import LibraryPolicy
from chartkit.model import Body
from chartkit.project.project import SCHEMA
from chartkit.schemas import json_schema


def project_schema(policies: Iterable[LibraryPolicy]) -> Body:
    """Return the schema, in which `policies`, `parameters` and `profiles` name what there is.

    Names of other policies and files are still right: a project may have libraries of its own.
    """
    schema: Body = copy.deepcopy(json_schema.load(SCHEMA))
    definitions: Body = schema["$defs"]
    known = {each.name: each for each in sorted(policies, key=lambda each: each.name)}
    named = {name: {"$ref": f"#/$defs/policy-{name}"} for name in known}
    for holder in (schema, definitions["environment"]):
        holder["properties"]["policies"]["properties"] = named
    for name, policy in known.items():
        definitions[f"policy-{name}"] = _policy(definitions["policy"], policy)
    definitions["environment"]["properties"]["parameters"]["properties"] = {
        parameter.name: dict(parameter.schema)
        for policy in known.values()
        for parameter in policy.parameters.values()
    }
    built_in = sorted(path.stem for path in bundled.profiles_dir().glob("*.yaml"))
    names = {"anyOf": [{"enum": built_in}, {"type": "string", "minLength": 1}]}
    definitions["profiles"]["items"] = names
    return schema


def _policy(general: Body, policy: LibraryPolicy) -> Body:
    """Return the schema of the settings of one policy."""
    parameters = {name: dict(parameter.schema) for name, parameter in policy.parameters.items()}
    own: Body = copy.deepcopy(general)
    own["description"] = policy.title or policy.name
    own["properties"]["parameters"] = {
        "description": "The policy's parameters.",
        "type": "object",
        "properties": parameters,
        "additionalProperties": False,
    }
    return own
