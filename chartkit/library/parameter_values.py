"""Parameter values that people give: known, and fit for the parameter's schema."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from chartkit.errors import InputError
from chartkit.library.policies import Library
from chartkit.library.policy import LibraryPolicy, Parameter
from chartkit.model import Body, Json, Location
from chartkit.schemas import json_schema
from chartkit.suggestions import suggestion

_ASK: Final = "`chartkit policies show NAME` says which parameters a policy has"


def check_for_policy(
    name: str, value: Json, policy: LibraryPolicy, location: Location | None
) -> None:
    """Raises InputError for a parameter that the policy does not have, or a value unfit for it."""
    found = policy.parameters.get(name)
    if found is None:
        hint = suggestion(name, policy.parameters) or _known(policy.parameters)
        raise InputError(f"policy '{policy.name}' has no parameter '{name}'", location, hint)
    _check(found, value, location)


def check_for_all(name: str, value: Json, library: Library, location: Location | None) -> None:
    """Raises InputError for a parameter that no policy has, or a value unfit for all of them.

    Policies that have a parameter of one name may want other things of it; what a policy in the
    chart cannot use, the chart's schema refuses.
    """
    errors = []
    policies = library.policies.values()
    found = [policy.parameters[name] for policy in policies if name in policy.parameters]
    if not found:
        known = sorted({key for policy in policies for key in policy.parameters})
        hint = suggestion(name, known) or _ASK
        raise InputError(f"no policy has a parameter '{name}'", location, hint)
    for parameter in found:
        try:
            return _check(parameter, value, location)
        except InputError as error:
            errors.append(error)
    raise errors[0]


def _check(parameter: Parameter, value: Json, location: Location | None) -> None:
    given = _Given({parameter.name: value}, location or Location(""))
    for error in json_schema.violations(given, {"properties": {parameter.name: parameter.schema}}):
        hint = f"its default is {json.dumps(parameter.default, ensure_ascii=False)}"
        if "pattern" in parameter.schema and isinstance(value, str):
            hint += f"; {parameter.schema['description'].rstrip('.')}"
        raise InputError(f"parameter {error.message}", location, hint)


@dataclass(frozen=True, slots=True)
class _Given:
    """A value that stands in one place, all of it."""

    body: Body
    place: Location

    def locate(self, *_: str | int) -> Location:
        return self.place


def _known(names: Iterable[str]) -> str:
    listed = ", ".join(sorted(names))
    return f"known are {listed}" if listed else "it has none"
