"""Policies that differ between environments in values, and mean the same as a policy of a library
with a parameter for these: that one takes their place, with a value for each environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, permutations, product
from typing import Final

from chartkit.addons.operate.adopt.actions import action_settings
from chartkit.addons.operate.adopt.meaning import candidates, examples_of, means_the_same
from chartkit.addons.operate.adopt.model import Piece, Substitute
from chartkit.addons.operate.adopt.policies import excluded_by_all, without_settings
from chartkit.documents.reader import parse_yaml
from chartkit.errors import ChartkitError, InputError
from chartkit.go.fmt import go_json
from chartkit.library.parameters import check_for_policy
from chartkit.library.policies import Examples, FolderPolicy, Library, Parameter
from chartkit.library.rendered import RenderedPolicy, read_templates
from chartkit.model import Body, Json, Resource

_MOST: Final = 12
"""The most assignments of values to parameters that are tried for one policy."""
_VALUES: Final = 3
"""The most values in which environments may differ."""
_NUMBER: Final = re.compile(r"\d+", re.ASCII)
_BOUND: Final = re.compile(r"\s*([<>])\s*\d+\s*", re.ASCII)
_DIGITS: Final = 18
"""The most digits of a number; a longer one is not a parameter's value."""
_WILDCARD: Final = re.compile(r"[*?]")
_WORDS: Final = frozenset(("message",))
"""Keys of rules whose values are for people alone."""


def substitute(variants: Mapping[str, Piece], library: Library) -> Substitute | None:
    """Return the policy of a library that means the same as each environment's variant, with values
    for its parameters; None where there is none."""
    bodies = {name: piece.resource.body for name, piece in variants.items()}
    settings = {name: _settings(each) for name, each in bodies.items()}
    specs = [without_settings(body) for body in bodies.values()]
    differing = list(dict.fromkeys(_differing(specs)))
    if not 0 < len(differing) <= _VALUES or None in settings.values():
        return None
    first = next(iter(variants.values())).resource
    for candidate in candidates(first, library):
        if isinstance(candidate, FolderPolicy) and candidate.name == first.name:
            for values in islice(_assignments(candidate, differing), _MOST):
                given = dict(zip(bodies, values, strict=True))
                found = _equal(candidate, given, variants)
                if found:
                    with_values = {
                        name: {**(settings[name] or {}), "parameters": given[name]}
                        for name in given
                    }
                    return Substitute(candidate.qualified, with_values, found)
    return None


def _settings(body: Body) -> Body | None:
    actions, excluded = action_settings(body), excluded_by_all(body)
    if actions is None or excluded is None:
        return None
    return actions | ({"exclude": excluded} if excluded else {})


_Frozen = str | int | float | bool | None | tuple["_Frozen", ...]


def _differing(values: Sequence[Json]) -> Iterator[tuple[_Frozen, ...]]:
    """Yield the values that several bodies have at places where they differ; one None, which no
    parameter takes, where they are of different shapes."""
    first = values[0]
    if all(value == first for value in values):
        return
    if all(isinstance(value, dict) and value.keys() == first.keys() for value in values):
        for key in first:
            if key not in _WORDS:
                yield from _differing([value[key] for value in values])
    elif all(isinstance(value, list) for value in values):
        is_flat = all(isinstance(item, str | int) for value in values for item in value)
        if is_flat:
            yield tuple(tuple(value) for value in values)
        elif all(len(value) == len(first) for value in values):
            for items in zip(*values, strict=True):
                yield from _differing(items)
        else:
            yield (None,)
    else:
        is_plain = all(isinstance(value, str | int | float) for value in values)
        yield tuple(values) if is_plain else (None,)


def _assignments(
    policy: FolderPolicy, differing: Sequence[tuple[_Frozen, ...]]
) -> Iterator[list[Body]]:
    """Yield the values of parameters that environments may have, a mapping for each."""
    for chosen in permutations(policy.parameters.values(), len(differing)):
        options = [
            list(_readings(parameter, values, policy))
            for parameter, values in zip(chosen, differing, strict=True)
        ]
        for each in product(*options):
            given = [
                {one.name: value for one, value in zip(chosen, row, strict=True)}
                for row in zip(*each, strict=True)
            ]
            yield given
            for one in policy.parameters.values():
                if one.type == "boolean" and one not in chosen:
                    yield [{**values, one.name: not one.default} for values in given]


def _readings(
    parameter: Parameter, values: tuple[_Frozen, ...], policy: FolderPolicy
) -> Iterator[list[Json]]:
    """Yield the ways in which values can be those of a parameter."""
    seen: list[list[Json]] = []
    for read in _READERS.get(parameter.type, ()):
        found = [read(value) for value in values]
        if None not in found and found not in seen and _all_fit(parameter, found, policy):
            seen.append(found)
            yield found


def _all_fit(parameter: Parameter, values: Sequence[Json], policy: FolderPolicy) -> bool:
    try:
        for value in values:
            check_for_policy(parameter.name, value, policy, None)
    except InputError:
        return False
    return True


def _items(value: _Frozen) -> list[Json] | None:
    if isinstance(value, tuple):
        return list(value)
    return [each.strip() for each in value.split("|")] if isinstance(value, str) else None


def _hosts(value: _Frozen) -> list[Json] | None:
    found = _items(value)
    return found and [str(each).removesuffix("/*") for each in found]


def _integer(value: _Frozen) -> Json:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    digits = _NUMBER.findall(value) if isinstance(value, str) else []
    return int(digits[0]) if len(digits) == 1 and len(digits[0]) <= _DIGITS else None


def _text(value: _Frozen) -> Json:
    return value if isinstance(value, str) else None


def _flag(value: _Frozen) -> Json:
    return value if isinstance(value, bool) else None


def _included(value: _Frozen) -> Json:
    """Return the nearest number that `>N` or `<N` lets pass."""
    match, number = _BOUND.fullmatch(str(value)), _integer(value)
    return number + (1 if match[1] == ">" else -1) if match and number is not None else None


def _examples(policy: FolderPolicy, given: Body) -> list[Resource]:
    """Return a policy's examples with values that it is given where they have those by default."""
    resources = []
    for example in examples_of(policy):
        text = go_json(example.body)
        for name, value in given.items():
            usual = policy.parameters[name].default
            if isinstance(value, list) and isinstance(usual, list) and value:
                for each in filter(str, usual):
                    text = text.replace(str(each), _WILDCARD.sub("a", str(value[0])))
        resources.append(Resource(parse_yaml(text)))
    return resources


_READERS: Final[Mapping[str, tuple[Callable[[_Frozen], Json], ...]]] = {
    "array": (_items, _hosts),
    "integer": (_integer, _included),
    "string": (_text,),
    "boolean": (_flag,),
}


def _equal(
    policy: FolderPolicy, given: Mapping[str, Body], variants: Mapping[str, Piece]
) -> Mapping[str, Body] | None:
    """Return a policy's body for each environment, if it means the same as each variant."""
    examples = tuple(Examples(name, values, None, None) for name, values in given.items())
    try:
        [rendered] = read_templates([replace(policy, examples=examples)])
    except ChartkitError:
        return None
    if len(rendered.bodies) != len(given):
        return None
    found = dict(zip(given, rendered.bodies, strict=True))
    for name, body in found.items():
        own = variants[name].resource
        alike = Resource({**own.body, "spec": without_settings(own.body)}, own.location)
        objects = _examples(policy, given[name])
        if not means_the_same(alike, RenderedPolicy(policy, rendered.text, (body,)), objects):
            return None
    return found
