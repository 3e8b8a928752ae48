"""The report of witnesses: YAML with the rule that wants each line, or what is in the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chartkit.addons.satisfy.conflicts.findings import CONFLICT
from chartkit.addons.satisfy.formula import value_at
from chartkit.addons.satisfy.witness.run import Found
from chartkit.addons.satisfy.witness.search import Reason, Witness
from chartkit.documents.reader import read_text
from chartkit.documents.yaml_dump import dump_documents
from chartkit.engine.cluster_policy.autogen import written_name
from chartkit.model import Body, Diagnostic, FieldPath, RuleResult, Severity, pointer_of
from chartkit.report.command_report import Block, Code, CommandReport
from chartkit.report.finding import Finding, diagnostic_finding
from chartkit.safe_text import shown
from chartkit.wording import counted

_UNDECIDED = "witness"
_COLUMN = 40
"""The column at which comments begin, where the line leaves room."""


def report(found: Sequence[Found]) -> CommandReport:
    """Return the ends of searches for every format; its findings are what is in the way."""
    return CommandReport(
        text=lambda _width: _text(found),
        value=lambda: {"witnesses": [_entry(each) for each in found]},
        rows="witnesses",
        findings=lambda: _findings(found),
    )


def _text(found: Sequence[Found]) -> Iterator[Block]:
    for each in found:
        if each.witness is not None:
            yield Code(["---", *_commented(each.witness)])
        else:
            yield Code([f"# {line}" for line in _obstacles(each)])
        if each.unasked:
            rules = ", ".join(dict.fromkeys(map(_rule, each.unasked)))
            yield Code([f"# not checked, because they look up other objects: {shown(rules)}"])


def _commented(witness: Witness) -> Iterator[str]:
    """Yield the lines of a witness, those that a rule wants with its name."""
    text = dump_documents([witness.body])
    (document,) = read_text(text)
    comments: dict[int, list[Reason]] = {}
    for path, reasons in _closest(witness.reasons).items():
        if value_at(witness.body, path) is not None:
            comments.setdefault(document.locate(*path).line, []).extend(reasons)
    for number, line in enumerate(text.splitlines(), 1):
        if line == "---":
            continue
        names = dict.fromkeys(map(_name, comments.get(number, ())))
        yield f"{line:{_COLUMN}}  # {shown(', '.join(names))}" if names else line


def _closest(reasons: Mapping[FieldPath, tuple[Reason, ...]]) -> dict[FieldPath, list[Reason]]:
    """Return the reasons of each field that are not those of a field below it."""
    found: dict[FieldPath, list[Reason]] = {}
    for path, given in reasons.items():
        below = {
            _name(reason)
            for other, others in reasons.items()
            if other[: len(path)] == path != other
            for reason in others
        }
        found[path] = [reason for reason in given if _name(reason) not in below]
    return found


def _name(reason: Reason) -> str:
    name = reason.policy.rpartition("/")[2]
    is_alone = reason.rule in ("", name)
    return name if is_alone else f"{reason.policy}/{written_name(reason.rule)}"


def _rule(result: RuleResult) -> str:
    return f"{result.policy}/{result.rule}" if result.rule else result.policy


def _obstacles(found: Found) -> Iterator[str]:
    kind = shown(found.start.kind)
    for conflict in found.conflicts:
        yield f"no {conflict.kind} passes all of these rules:"
        for want in conflict.wants:
            yield f"  {shown(want.policy)}/{shown(want.rule)}  {want.location}"
    if not found.conflicts:
        yield f"{kind}: no object was found, but none is ruled out: not decided"
        for result in found.left:
            message = shown(" ".join(result.message.split()))
            yield f"  {shown(_rule(result))}: {message}"


def _entry(found: Found) -> Body:
    witness = found.witness
    reasons = _closest(witness.reasons) if witness is not None else {}
    return {
        "kind": found.start.kind,
        "object": None if witness is None else witness.body,
        "wants": [
            {
                "pointer": pointer_of(*path),
                "rules": [_reason(each) for each in given],
            }
            for path, given in reasons.items()
            if given
        ],
        "conflicts": [
            {
                "kind": conflict.kind,
                "rules": [
                    {"policy": want.policy, "rule": want.rule, "location": str(want.location)}
                    for want in conflict.wants
                ],
            }
            for conflict in found.conflicts
        ],
        "notDecided": [_left(result) for result in found.left],
        "notAsked": [_left(result) for result in found.unasked],
    }


def _reason(reason: Reason) -> Body:
    return {"policy": reason.policy, "rule": reason.rule, "location": str(reason.location)}


def _left(result: RuleResult) -> Body:
    return {"policy": result.policy, "rule": result.rule, "message": result.message}


def _findings(found: Sequence[Found]) -> Iterator[Finding]:
    for each in found:
        if each.witness is not None:
            continue
        for conflict in each.conflicts:
            rules = ", ".join(f"{want.policy}/{want.rule}" for want in conflict.wants)
            message = f"no {conflict.kind} passes all of {counted(len(conflict.wants), 'rule')}"
            location = conflict.wants[0].location
            text = f"{message}: {rules}"
            yield diagnostic_finding(Diagnostic(CONFLICT, Severity.ERROR, text, location))
        if not each.conflicts:
            text = f"{each.start.kind}: no object was found, but none is ruled out: not decided"
            finding = Diagnostic(_UNDECIDED, Severity.WARNING, text, each.start.location)
            yield diagnostic_finding(finding)
