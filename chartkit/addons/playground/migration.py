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
    """Return what replaces the policies of a text, and the outcome of the proof."""
    problems = Problems("policy")
    answer: Body = {
        "text": "",
        "verdict": {"state": "none", "text": "there is no policy of kyverno.io", "requests": 0},
        "counterexamples": [],
        "notes": [],
        "problems": problems.found,
    }
    try:
        found, text, refused = _migrated(typed(given, "policy", str))
    except ChartkitError as error:
        problems.add_error(error)
        return answer
    problems.add_all(refused)
    if found:
        answer["text"] = text
        answer["verdict"] = _verdict(found)
        answer["counterexamples"] = [row for each in found for row in _counterexamples(each)]
        answer["notes"] = [row for each in found for row in _notes(each)]
    return answer


@lru_cache(maxsize=_KEPT)
def _migrated(text: str) -> tuple[tuple[MigratedObject, ...], str, tuple[Any, ...]]:
    inventory = inventory_of(objects_of("policy", text))
    count = len(inventory.objects)
    if count > _MOST_POLICIES:
        hint = "chartkit migrate policies takes any number"
        raise InputError(f"has more than {_MOST_POLICIES} policies of kyverno.io", None, hint)
    found = converted(inventory, seconds=_SECONDS / count if count > 1 else None)
    # The new form is shown where the proof does not hold as well: with what tells both apart.
    shown = [replace(each, allowed="shown with its proof") for each in found]
    text = Migration(inventory, shown).text
    return tuple(found), text, tuple(inventory.findings)


def _verdict(found: tuple[MigratedObject, ...]) -> Body:
    proofs = [each.proof for each in found if each.proof is not None]
    requests = sum(proof.requests for proof in proofs)
    if not any(each.conversion and each.conversion.documents for each in found):
        text = "no rule has a form that says the same"
        return {"state": "none", "text": text, "requests": requests}
    state = verdict(proofs)
    differing = counted(sum(len(proof.faults) for proof in proofs), "request")
    text = _TEXTS.get(state, f"both forms differ in {differing}")
    left = sum(bool(outcome.reason) for each in found for outcome in each.outcomes)
    if state is Verdict.EQUAL and left:
        text += f"; {counted(left, 'rule')} left as before"
    return {"state": state, "text": text, "requests": requests}


def _counterexamples(each: MigratedObject) -> Iterator[Body]:
    found = () if each.proof is None else each.proof.faults
    for difference, shown in zip(found, each.counterexamples, strict=True):
        yield {
            "text": shown.difference,
            "request": dump_yaml(shown.request),
            "old": answer_text(difference.legacy),
            "new": answer_text(difference.new),
        }


def _notes(each: MigratedObject) -> Iterator[Body]:
    outcomes = each.outcomes if each.conversion is None else each.conversion.outcomes
    for outcome in outcomes:
        reason = (f"stays as it is: {outcome.reason}",) if outcome.reason else ()
        for text in (*reason, *outcome.changes, *outcome.remarks):
            yield {"rule": outcome.rule or each.legacy.resource.name, "text": text}
    for text in each.needs:
        yield {"rule": "", "text": text}
