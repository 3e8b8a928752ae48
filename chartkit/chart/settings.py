"""Parameter values that people give: known, and fit for the parameter's schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from chartkit.chart import schema
from chartkit.chart.library import Library, LibraryPolicy, Parameter
from chartkit.documents import parse_yaml
from chartkit.errors import InputError
from chartkit.model import Json, Location


def check_for_policy(
    name: str, value: Json, policy: LibraryPolicy, location: Location | None
) -> None:
    """Raises InputError for a parameter that the policy does not have, or a value unfit for it."""
    found = policy.parameters.get(name)
    if found is None:
        hint = schema.suggestion(name, policy.parameters) or _known(policy.parameters)
        raise InputError(f"policy '{policy.name}' has no parameter '{name}'", location, hint)
    _check(found, value, location)


def check_for_all(name: str, value: Json, library: Library, location: Location | None) -> None:
    """Raises InputError for a parameter that no policy has, or a value unfit for one of them."""
    for parameter in _parameters(name, library, location):
        _check(parameter, value, location)


def parse_parameters(texts: Mapping[str, str], library: Library) -> dict[str, Json]:
    """Parameters as a command line gives them, each text read as its parameter's type.

    Raises InputError for an unknown parameter or a value that does not fit.
    """
    parsed: dict[str, Json] = {}
    for name, text in texts.items():
        parameters = _parameters(name, library, None)
        plain = any(parameter.type == "string" for parameter in parameters)
        parsed[name] = text if plain else parse_yaml(text)
        check_for_all(name, parsed[name], library, None)
    return parsed


def _parameters(name: str, library: Library, location: Location | None) -> Sequence[Parameter]:
    policies = library.policies.values()
    found = [policy.parameters[name] for policy in policies if name in policy.parameters]
    if not found:
        known = sorted({key for policy in policies for key in policy.parameters})
        hint = schema.suggestion(name, known) or _known(known)
        raise InputError(f"no policy has a parameter '{name}'", location, hint)
    return found


def _check(parameter: Parameter, value: Json, location: Location | None) -> None:
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(parameter.schema).iter_errors(value):
        hint = f"its default is {json.dumps(parameter.default, ensure_ascii=False)}"
        raise InputError(f"parameter '{parameter.name}': {error.message}", location, hint)


def _known(names: Iterable[str]) -> str:
    listed = ", ".join(sorted(names))
    return f"known are {listed}" if listed else "it has none"
