"""Policies of kyverno.io: what replaces them, and whether both forms answer alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from chartkit.addons.migrate.documents import converted
from chartkit.addons.migrate.files.printed import answer_text
from chartkit.addons.migrate.files.run import Migration
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.plan.inventory import inventory_of
from chartkit.addons.migrate.proof.model import verdict
from chartkit.addons.playground.inputs import Problems, objects_of, typed
from chartkit.api import Verdict
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import ChartkitError, InputError
from chartkit.model import Body
from chartkit.wording import counted

_SECONDS: Final = 10.0
"""The processor time of all proofs of a call; a single one has that and the requests of the command
line."""
_MOST_POLICIES: Final = 20
_KEPT: Final = 8
_TEXTS: Final = {
    Verdict.EQUAL: "both forms gave the same answer to every request",
    Verdict.UNDECIDED: "no request made either form decide",
    Verdict.UNPROVED: "nothing was proved",
}


def migrate(given: Body) -> Body:
    """Return the replacement of the policies of a text, and the outcome of the proof."""
    problems = Problems("policy")
    answer: Body = {
        "text": "",
        "verdict": {"state": "none", "text": "there is no policy of kyverno.io", "requests": 0},
        "counterexamples": [],
        "notes": [],
        "problems": problems.found,
    }
    try:
        objects, text, refused = _migrated(typed(given, "policy", str))
    except ChartkitError as error:
        problems.add_error(error)
        return answer
    problems.add_all(refused)
    if objects:
        answer["text"] = text
        answer["verdict"] = _verdict(objects)
        answer["counterexamples"] = [row for piece in objects for row in _counterexamples(piece)]
        answer["notes"] = [row for piece in objects for row in _notes(piece)]
    return answer


@lru_cache(maxsize=_KEPT)
def _migrated(text: str) -> tuple[tuple[MigratedObject, ...], str, tuple[Any, ...]]:
    inventory = inventory_of(objects_of("policy", text))
    count = len(inventory.objects)
    if count > _MOST_POLICIES:
        hint = "chartkit migrate policies takes any number"
        raise InputError(f"has more than {_MOST_POLICIES} policies of kyverno.io", None, hint)
    objects = converted(inventory, seconds=_SECONDS / count if count > 1 else None)
    # The new form is shown where the proof does not hold as well: with what tells both apart.
    shown = [replace(old, allowed="shown with its proof") for old in objects]
    text = Migration(inventory, shown).text
    return tuple(objects), text, tuple(inventory.findings)


def _verdict(objects: tuple[MigratedObject, ...]) -> Body:
    proofs = [old.proof for old in objects if old.proof is not None]
    requests = sum(proof.requests for proof in proofs)
    if not any(old.conversion and old.conversion.documents for old in objects):
        text = "no rule has a form that says the same"
        return {"state": "none", "text": text, "requests": requests}
    state = verdict(proofs)
    differing = counted(sum(len(proof.faults) for proof in proofs), "request")
    text = _TEXTS.get(state, f"both forms differ in {differing}")
    left = sum(bool(outcome.reason) for old in objects for outcome in old.outcomes)
    if state is Verdict.EQUAL and left:
        text += f"; {counted(left, 'rule')} left as before"
    return {"state": state, "text": text, "requests": requests}


def _counterexamples(migrated: MigratedObject) -> Iterator[Body]:
    faults = () if migrated.proof is None else migrated.proof.faults
    for difference, shown in zip(faults, migrated.counterexamples, strict=True):
        yield {
            "text": shown.difference,
            "request": dump_yaml(shown.request),
            "old": answer_text(difference.legacy),
            "new": answer_text(difference.new),
        }


def _notes(migrated: MigratedObject) -> Iterator[Body]:
    outcomes = migrated.outcomes if migrated.conversion is None else migrated.conversion.outcomes
    for outcome in outcomes:
        reason = (f"stays as it is: {outcome.reason}",) if outcome.reason else ()
        for text in (*reason, *outcome.changes, *outcome.remarks):
            yield {"rule": outcome.rule or migrated.legacy.resource.name, "text": text}
    for text in migrated.needs:
        yield {"rule": "", "text": text}
