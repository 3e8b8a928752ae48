"""The policies of libraries that mean the same as a policy in use, also with values for parameters
where environments differ.

A name or title leads to a candidate; the engine decides, by the requests of a proof and the
candidate's own examples.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice, permutations, product
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.proof import Aspect, Proof, ProofOptions, prove
from chartkit.addons.operate.adopt.model import Outcome, Piece, Row, Substitute
from chartkit.addons.operate.adopt.policies import (
    AdoptedPolicy,
    action_settings,
    excluded_by_all,
    without_actions,
    without_settings,
)
from chartkit.documents.reader import parse_yaml, read_file, resources
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.errors import ChartkitError, InputError
from chartkit.go.fmt import go_json
from chartkit.library.parameters import check_for_policy
from chartkit.library.policies import Examples, FolderPolicy, Library, LibraryPolicy, Parameter
from chartkit.library.rendered import RenderedPolicy, read_templates
from chartkit.model import Body, Json, Resource, Track, mapping_at
from chartkit.wording import counted

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
_Frozen = str | int | float | bool | None | tuple["_Frozen", ...]
BUDGET: Final = 2_500
"""The steps of the proof of one candidate, about a second of processor time; time itself would
decide otherwise on a busy machine."""
_TOTAL: Final = 12_500
"""The steps of the proofs of all candidates, which share them."""
_CANDIDATES: Final = 100
"""The most candidates that are compared."""
_PASSED_OVER: Final = frozenset((Aspect.MESSAGE, Aspect.ADMISSION, Aspect.WARNING, Aspect.REPORT))
"""A policy means the same whatever its messages and actions are."""
_VALIDATING: Final = "ValidatingPolicy"
_TITLE: Final = "policies.kyverno.io/title"


def substitute(variants: Mapping[str, Piece], library: Library) -> Substitute | None:
    """Return the policy of a library that means the same as each environment's variant, with values
    for its parameters; None where no policy does."""
    bodies = {name: piece.resource.body for name, piece in variants.items()}
    settings = {name: _settings(body) for name, body in bodies.items()}
    specs = [without_settings(body) for body in bodies.values()]
    differing = list(dict.fromkeys(_differing(specs)))
    if not 0 < len(differing) <= _VALUES or None in settings.values():
        return None
    first = next(iter(variants.values())).resource
    for candidate in candidates(first, library):
        if isinstance(candidate, FolderPolicy) and candidate.name == first.name:
            for values in islice(_assignments(candidate, differing), _MOST):
                given = dict(zip(bodies, values, strict=True))
                equal = _equal(candidate, given, variants)
                if equal:
                    with_values = {
                        name: {**(settings[name] or {}), "parameters": given[name]}
                        for name in given
                    }
                    return Substitute(candidate.qualified, with_values, equal)
    return None


def _settings(body: Body) -> Body | None:
    actions, excluded = action_settings(body), excluded_by_all(body)
    if actions is None or excluded is None:
        return None
    return actions | ({"exclude": excluded} if excluded else {})


def _differing(values: Sequence[Json]) -> Iterator[tuple[_Frozen, ...]]:
    """Yield the values of several bodies where they differ; a single None, which no parameter
    takes, where their shapes differ."""
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
        for combination in product(*options):
            given = [
                {parameter.name: value for parameter, value in zip(chosen, row, strict=True)}
                for row in zip(*combination, strict=True)
            ]
            yield given
            for parameter in policy.parameters.values():
                if parameter.type == "boolean" and parameter not in chosen:
                    yield [{**values, parameter.name: not parameter.default} for values in given]


def _readings(
    parameter: Parameter, values: tuple[_Frozen, ...], policy: FolderPolicy
) -> Iterator[list[Json]]:
    """Yield the ways in which a parameter can have these values."""
    seen: list[list[Json]] = []
    for read in _READERS.get(parameter.type, ()):
        items = [read(value) for value in values]
        if None not in items and items not in seen and _all_fit(parameter, items, policy):
            seen.append(items)
            yield items


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
    return [part.strip() for part in value.split("|")] if isinstance(value, str) else None


def _hosts(value: _Frozen) -> list[Json] | None:
    hosts = _items(value)
    return hosts and [str(host).removesuffix("/*") for host in hosts]


def _integer(value: _Frozen) -> Json:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    digits = _NUMBER.findall(value) if isinstance(value, str) else []
    return int(digits[0]) if len(digits) == 1 and len(digits[0]) <= _DIGITS else None


def _included(value: _Frozen) -> Json:
    """Return the nearest number that `>N` or `<N` lets pass."""
    match, number = _BOUND.fullmatch(str(value)), _integer(value)
    return number + (1 if match[1] == ">" else -1) if match and number is not None else None


_READERS: Final[Mapping[str, tuple[Callable[[_Frozen], Json], ...]]] = {
    "array": (_items, _hosts),
    "integer": (_integer, _included),
    "string": (lambda value: value if isinstance(value, str) else None,),
    "boolean": (lambda value: value if isinstance(value, bool) else None,),
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
    bodies = dict(zip(given, rendered.bodies, strict=True))
    for name, body in bodies.items():
        own = variants[name].resource
        alike = Resource({**own.body, "spec": without_settings(own.body)}, own.location)
        objects = []
        for example in examples_of(policy):
            text = go_json(example.body)
            for example_name, value in given[name].items():
                usual = policy.parameters[example_name].default
                if isinstance(value, list) and isinstance(usual, list) and value:
                    for item in filter(str, usual):
                        text = text.replace(str(item), _WILDCARD.sub("a", str(value[0])))
            objects.append(Resource(parse_yaml(text)))
        if not means_the_same(alike, RenderedPolicy(policy, rendered.text, (body,)), objects):
            return None
    return bodies


def compare_meanings(
    policies: Sequence[AdoptedPolicy], library: Library, track: Track
) -> Iterator[Row]:
    """Note the policies that mean the same, with a row for each candidate that was compared;
    library: of others, built-in and vendored; track: shows how many were."""
    pairs = [
        (policy, candidate)
        for policy in policies
        if not policy.replaced_by
        if is_legacy(policy.piece.resource) or policy.piece.resource.kind == _VALIDATING
        for candidate in candidates(policy.piece.resource, library)
    ]
    compared, step = pairs[:_CANDIDATES], count().__next__
    by_name = {candidate.qualified: candidate for _, candidate in compared}
    try:
        templates: list[RenderedPolicy] = read_templates(list(by_name.values()))
    except ChartkitError:
        templates = []  # A vendored policy that cannot be rendered cannot be compared.
    rendered = {template.policy.qualified: template for template in templates}
    for done, (policy, candidate) in enumerate(track(compared)):
        template = rendered.get(candidate.qualified)
        if template is not None and template.bodies:
            budget = max(0, min(BUDGET, (_TOTAL - step()) // (len(compared) - done)))
            yield from _compared(policy, template, budget, step)
    for policy, candidate in pairs[_CANDIDATES:]:
        message = f"{_alike(policy, candidate)}, and was not compared: {_CANDIDATES} others were"
        yield Row(Outcome.NOTE, policy.piece.subject, message, policy.piece.resource.location)


def candidates(policy: Resource, library: Library) -> Iterator[LibraryPolicy]:
    """Yield the policies that have the name or the title of a policy."""
    title = str(mapping_at(policy.body, "metadata", "annotations").get(_TITLE) or "")
    same_title = [
        folder_policy.qualified
        for folder_policy in library.policies.values()
        if title and folder_policy.title.casefold() == title.casefold()
    ]
    seen: set[str] = set()
    # `find` looks for similar names where there is none.
    for reference in filter(library.has, (policy.name, *same_title)):
        with contextlib.suppress(InputError):
            library_policy = library.find(reference)
            if library_policy.qualified not in seen:
                seen.add(library_policy.qualified)
                yield library_policy


def means_the_same(
    policy: Resource, template: RenderedPolicy, examples: Sequence[Resource]
) -> bool:
    """Report whether a proof shows no difference from a policy of a library, and missed nothing;
    examples: objects to try besides the examples of the library's policy."""
    proof = _proof(policy, template, examples)
    return proof is not None and _is_proof(proof)


def _is_proof(proof: Proof) -> bool:
    return proof.equal and proof.coverage.reached == proof.coverage.total


def _alike(policy: AdoptedPolicy, candidate: LibraryPolicy) -> str:
    what = "name" if policy.piece.resource.name == candidate.name else "title"
    return f"has the {what} of {candidate.qualified}"


def _compared(
    policy: AdoptedPolicy, template: RenderedPolicy, budget: int, step: Callable[[], int]
) -> Iterator[Row]:
    resource, name = policy.piece.resource, template.policy.qualified
    forms = (*template.bodies[:1], *template.cel_bodies[:1])
    equal = any(_says_the_same(resource.body, form) for form in forms)
    proof = None if equal else _proof(resource, template, (), budget, step)
    if proof is None and not equal:
        return
    if proof is None or _is_proof(proof):
        policy.same_as = (*policy.same_as, name)
        why = "its spec is equal" if equal else "no request was found that shows a difference"
        message = f"means the same as {name}: {why}"
        hint = f"name {name} in the profile in its place to have its tests and both its forms"
        yield policy.piece.row(Outcome.NOTE, message, hint)
        return
    alike = _alike(policy, template.policy)
    if proof.faults:
        # A difference in words; is_first: whether the policy in use is the first of both.
        gap = proof.faults[0]
        is_first = is_legacy(resource)
        own, other = (gap.legacy, gap.new) if is_first else (gap.new, gap.legacy)
        kind = mapping_at(gap.case.document, "object").get("kind") or "object"
        if own.result == other.result:
            shown = f"for some {kind} the results are the same, and the {gap.aspect} differs"
        else:
            shown = f"for some {kind} the result here is '{own.result}', there '{other.result}'"
        message = f"{alike} but means something else: {shown}"
    elif proof.equal:
        missing = proof.coverage.total - proof.coverage.reached
        message = (
            f"{alike}: {counted(proof.requests, 'request shows', 'requests show')} no difference, "
            f"and {missing} of {proof.coverage.total} outcomes of conditions were not reached"
        )
    else:
        message = f"{alike}; whether it means the same was not shown"
    yield policy.piece.row(Outcome.NOTE, message)


def _says_the_same(body: Body, other: Body) -> bool:
    """Report whether two policies of one kind have the same spec, actions aside."""
    kinds = [(policy.get("apiVersion"), policy.get("kind")) for policy in (body, other)]
    return kinds[0] == kinds[1] and without_actions(body) == without_actions(other)


def _proof(
    resource: Resource,
    template: RenderedPolicy,
    examples: Sequence[Resource] = (),
    budget: int = BUDGET,
    step: Callable[[], int] | None = None,
) -> Proof | None:
    """Return the comparison of a policy with another one, a ClusterPolicy before one in CEL; None
    where the kinds of answers differ. budget: the most steps; step: counts them."""
    clock = step or count().__next__
    options = ProofOptions(budget=budget, clock=clock, passed_over=_PASSED_OVER, stops_early=True)
    own, other = (
        Resource({**body, "spec": without_actions(body)})
        for body in (resource.body, template.bodies[0])
    )
    legacy, new = (own, other) if is_legacy(own) else (other, own)
    if not is_legacy(legacy):
        return None
    try:
        return prove(legacy, [new], [*examples_of(template.policy), *examples], options=options)
    except ChartkitError:
        return None


def examples_of(policy: LibraryPolicy) -> Iterator[Resource]:
    """Yield the objects of a policy's own examples."""
    if isinstance(policy, FolderPolicy):
        files: Iterable[Path | None] = [
            file for examples in policy.examples[:1] for file in (examples.good, examples.bad)
        ]
        for file in files:
            if file is not None:
                yield from resources(read_file(file))
