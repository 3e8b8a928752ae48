"""A proof as text: what was asked, what differs, what was reached and what was left out."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.documents.yaml_dump import dump_documents
from chartkit.migration.proof.model import Answer, Coverage, Difference, Proof, Result
from chartkit.safe_text import shown


def to_text(proof: Proof) -> str:
    """Return a proof as text, for a terminal or next to the policy."""
    return "\n".join(lines_of(proof)) + "\n"


def lines_of(proof: Proof) -> Iterator[str]:
    """Yield the lines of a proof as text."""
    yield summary(proof)
    for found in proof.differences:
        yield from _difference(found)
    for name, number in proof.named.items():
        yield f"known difference: {shown(name)} ({number} requests)"
    yield from _coverage(proof.coverage)
    for reason, count in proof.left_out.items():
        yield f"left out: {shown(reason)} ({count})"


def summary(proof: Proof) -> str:
    """Return a proof in one line."""
    covered = f"{proof.coverage.reached} of {proof.coverage.total} states reached"
    requests = f"{proof.requests} requests, {proof.decided} decided, {covered}"
    if not proof.decided:
        return f"nothing is proved: neither form decides any of {proof.requests} requests"
    if not proof.differences:
        return f"no difference found in {requests}"
    count = len(proof.differences)
    return f"{count} {'difference' if count == 1 else 'differences'} found in {requests}"


def _difference(found: Difference) -> Iterator[str]:
    seen = "" if found.stored else ", in files only: an API server fills in defaults"
    if not found.typed:
        seen += ", with types that the policies do not expect"
    yield f"{found.aspect}: {found.count} requests{seen}; the smallest:"
    for line in dump_documents([found.case.document]).removeprefix("---\n").splitlines():
        yield f"  {shown(line)}"
    yield f"  legacy: {shown(answer_text(found.legacy))}"
    yield f"  new: {shown(answer_text(found.new))}"


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
    import json

    return json.dumps(body, ensure_ascii=False)


def _coverage(coverage: Coverage) -> Iterator[str]:
    for place in coverage.places:
        states = ", ".join(f"{state} {count}" for state, count in place.states.items())
        missing = f"; never {', '.join(place.missing)}" if place.missing else ""
        yield f"{place.form}: {shown(place.name)}: {states or 'not reached'}{missing}"
