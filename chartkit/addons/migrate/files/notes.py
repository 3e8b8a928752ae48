"""Notes that a migration leaves in files: comment lines that the next run finds and replaces."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from chartkit.addons.migrate.conversion import RuleOutcome
from chartkit.addons.migrate.files.comments import comments_in
from chartkit.addons.migrate.proof import Difference, Proof
from chartkit.addons.migrate.proof.model import Answer, Result
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.safe_text import shown, shown_lines

_MARK: Final = "# chartkit migrate:"
_WIDTH: Final = 98


def note(text: str, *lines: str) -> list[str]:
    """Return a sentence as comment lines; lines: what stands below it, such as an expression."""
    wrapped = textwrap.wrap(
        shown(text),
        _WIDTH - len(_MARK) - 1,
        break_long_words=False,
        break_on_hyphens=False,
    )
    below = [f"  {shown(line)}" for line in lines]
    return [f"{_MARK} {line}".rstrip() for line in (*wrapped, *below)]


def reason_note(outcome: RuleOutcome) -> list[str]:
    """Return why a rule is left as it is, with the nearest CEL if there is one."""
    written = note(f"not converted: {outcome.reason}")
    if outcome.nearest:
        written += note("the nearest in CEL:", *shown_lines(outcome.nearest))
    return written


def without_notes(text: str) -> str:
    """Return a text without the notes of an earlier run."""
    if _MARK not in text:
        return text
    gone = {
        each.line for each in comments_in(text) if each.is_alone and each.text.startswith(_MARK)
    }
    lines = text.splitlines(keepends=True)
    return "".join(line for number, line in enumerate(lines) if number not in gone)


def is_note(text: str) -> bool:
    """Return whether a comment is a note of a migration."""
    return text.startswith(_MARK)


def indented(lines: Iterable[str], column: int) -> list[str]:
    """Return comment lines at a column, each with its line end."""
    return [f"{' ' * column}{line}\n" for line in lines]


def faults(proof: Proof) -> list[Difference]:
    """Return the differences that an API server's requests make."""
    return [each for each in proof.differences if each.stored]


def difference_notes(proof: Proof, allowed: str) -> list[str]:
    """Return the differences of a proof with the smallest request of each; allowed: why they are
    taken, empty where they are not."""
    found = "both forms differ" if faults(proof) else "no request made either form decide"
    start = f"{found}, which is allowed: {allowed}" if allowed else f"not converted: {found}"
    written = note(start)
    for each in faults(proof):
        written += note(f"{difference_sentence(each)}, for", *shown_lines(smallest(each)))
    return written


def difference_sentence(difference: Difference) -> str:
    """Return what differs: the aspect and both answers."""
    legacy, new = answer_text(difference.legacy), answer_text(difference.new)
    seen = "" if difference.typed else ", with types that the policies do not expect"
    return f"{difference.aspect}{seen}: {legacy}, now {new}"


def smallest(difference: Difference) -> str:
    """Return the smallest request that makes a difference, as YAML."""
    return dump_yaml(difference.case.document)


def answer_text(answer: Answer) -> str:
    """Return an answer in one line."""
    return "; ".join(_parts(answer)) or "no result"


def _parts(answer: Answer) -> Iterator[str]:
    if answer.result is not Result.NONE:
        yield str(answer.result)
    yield from (text for text in answer.messages if text)
    yield from answer.errors
    yield from (f"error: {text}" for text in answer.failed)
    if answer.denied:
        yield "denied"
    if answer.warned:
        yield "warned"
    if answer.patched is not None:
        yield f"mutated to {_compact(answer.patched)}"
    yield from (f"mutates {_compact(body)}" for body in answer.targets)
    yield from (f"generates {_compact(body)}" for body in answer.generated)
    if answer.deletes:
        yield f"deletes at {answer.deletes}"


def _compact(body: object) -> str:
    return json.dumps(body, ensure_ascii=False)
