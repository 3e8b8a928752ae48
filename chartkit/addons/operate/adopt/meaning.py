"""The policies of other libraries that mean the same as a policy in use.

A name or title leads to a candidate; the engine decides, by the requests of a proof and the
candidate's own examples.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.proof import Aspect, Difference, Proof, ProofOptions, prove
from chartkit.addons.operate.adopt.actions import without_actions
from chartkit.addons.operate.adopt.model import Outcome, Row
from chartkit.addons.operate.adopt.policies import AdoptedPolicy
from chartkit.documents.reader import read_file, resources
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.errors import ChartkitError, InputError
from chartkit.library.policies import FolderPolicy, Library, LibraryPolicy
from chartkit.library.rendered import RenderedPolicy, read_templates
from chartkit.model import Body, Resource, Track, mapping_at, untracked
from chartkit.wording import counted

BUDGET: Final = 2_500
"""The steps of the proof of one candidate, about a second of processor time; time itself would
decide otherwise on a busy machine."""
_TOTAL: Final = 12_500
"""The steps of the proofs of all candidates, which share them."""
_MOST: Final = 100
"""The most candidates that are compared."""
_PASSED_OVER: Final = frozenset((Aspect.MESSAGE, Aspect.ADMISSION, Aspect.WARNING, Aspect.REPORT))
"""A policy means the same whatever its messages and actions are."""
_VALIDATING: Final = "ValidatingPolicy"
_TITLE: Final = "policies.kyverno.io/title"


def compare_meanings(
    policies: Sequence[AdoptedPolicy], library: Library, track: Track = untracked
) -> Iterator[Row]:
    """Note the policies that mean the same, with a row for each candidate that was compared;
    library: of others, built-in and vendored; track: shows how many were."""
    found = [
        (policy, candidate)
        for policy in policies
        if not policy.replaced_by
        if is_legacy(policy.piece.resource) or policy.piece.resource.kind == _VALIDATING
        for candidate in candidates(policy.piece.resource, library)
    ]
    rendered = {each.policy.qualified: each for each in _templates(found[:_MOST])}
    compared, step = found[:_MOST], count().__next__
    for done, (policy, candidate) in enumerate(track(compared)):
        template = rendered.get(candidate.qualified)
        if template is not None and template.bodies:
            budget = max(0, min(BUDGET, (_TOTAL - step()) // (len(compared) - done)))
            yield from _compared(policy, template, budget, step)
    for policy, candidate in found[_MOST:]:
        message = (
            f"has the name of {candidate.qualified}, and was not compared: {_MOST} others were"
        )
        yield Row(Outcome.NOTE, policy.piece.subject, message, policy.piece.resource.location)


def _templates(found: Sequence[tuple[AdoptedPolicy, LibraryPolicy]]) -> list[RenderedPolicy]:
    by_name = {candidate.qualified: candidate for _, candidate in found}
    try:
        return read_templates(list(by_name.values()))
    except ChartkitError:
        return []  # One of a vendored library that cannot be rendered is none to compare with.


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
    policy: Resource, template: RenderedPolicy, examples: Sequence[Resource] = ()
) -> bool:
    """Report whether a proof shows no difference from a policy of a library, and missed nothing;
    examples: besides those of the library's policy."""
    proof = _proof(policy, template, examples)
    return proof is not None and _is_proof(proof)


def _is_proof(proof: Proof) -> bool:
    return proof.equal and proof.coverage.reached == proof.coverage.total


def _compared(
    policy: AdoptedPolicy, template: RenderedPolicy, budget: int, step: Callable[[], int]
) -> Iterator[Row]:
    resource, name = policy.piece.resource, template.policy.qualified
    forms = (*template.bodies[:1], *template.cel_bodies[:1])
    equal = any(_says_the_same(resource.body, each) for each in forms)
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
    if proof.faults:
        shown = _difference(proof.faults[0], is_legacy(resource))
        message = f"has the name of {name} but means something else: {shown}"
    elif proof.equal:
        missing = proof.coverage.total - proof.coverage.reached
        message = (
            f"has the name of {name}: {counted(proof.requests, 'request shows', 'requests show')} "
            "no difference, and "
            f"{missing} of {proof.coverage.total} outcomes of conditions were not reached"
        )
    else:
        message = f"has the name of {name}; whether it means the same was not shown"
    yield policy.piece.row(Outcome.NOTE, message)


def _says_the_same(body: Body, other: Body) -> bool:
    """Report whether two policies of one kind have the same spec, actions aside."""
    kinds = [(each.get("apiVersion"), each.get("kind")) for each in (body, other)]
    return kinds[0] == kinds[1] and without_actions(body) == without_actions(other)


def _proof(
    resource: Resource,
    template: RenderedPolicy,
    examples: Sequence[Resource] = (),
    budget: int = BUDGET,
    step: Callable[[], int] | None = None,
) -> Proof | None:
    """Return the comparison of a policy with another one, a ClusterPolicy before one in CEL; None
    for one that has another kind of answer. budget: the most steps; step: counts them."""
    clock = step or count().__next__
    options = ProofOptions(budget=budget, clock=clock, passed_over=_PASSED_OVER, stops_early=True)
    own, other = (_alike(each) for each in (resource.body, template.bodies[0]))
    legacy, new = (own, other) if is_legacy(own) else (other, own)
    if not is_legacy(legacy):
        return None
    try:
        return prove(legacy, [new], [*examples_of(template.policy), *examples], options=options)
    except ChartkitError:
        return None


def _alike(body: Body) -> Resource:
    """Return a policy without its actions, by which Kyverno lets some violations pass."""
    return Resource({**body, "spec": without_actions(body)})


def examples_of(policy: LibraryPolicy) -> Iterator[Resource]:
    """Yield the objects of a policy's own examples."""
    if isinstance(policy, FolderPolicy):
        files: Iterable[Path | None] = [
            file for examples in policy.examples[:1] for file in (examples.good, examples.bad)
        ]
        for file in files:
            if file is not None:
                yield from resources(read_file(file))


def _difference(found: Difference, is_first: bool) -> str:
    """Return a difference in words; is_first: whether the policy in use is the first of both."""
    own, other = (found.legacy, found.new) if is_first else (found.new, found.legacy)
    kind = mapping_at(found.case.document, "object").get("kind") or "object"
    if own.result == other.result:
        return f"for some {kind} the results are the same, and the {found.aspect} differs"
    return f"for some {kind} the result here is '{own.result}', there '{other.result}'"
