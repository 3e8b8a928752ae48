"""The PolicyExceptions in use, as files of the project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addons.operate.adopt.model import Estate, Outcome, Piece, Row, text_of
from chartkit.engine import read_exceptions
from chartkit.engine.kubernetes.kinds import group_of
from chartkit.errors import CompileError
from chartkit.library.upstream import is_policy_name
from chartkit.model import Json, Resource, mapping_at, mappings_at

FOLDER: Final = "exceptions"


@dataclass(frozen=True, slots=True)
class ExceptionFiles:
    """The exceptions of an environment; texts: by path in the project; taken: those of them."""

    texts: dict[str, str]
    rows: tuple[Row, ...]
    taken: tuple[Piece, ...]


def take_exceptions(estate: Estate, policies: Sequence[Resource]) -> ExceptionFiles:
    """Return the exceptions of an environment, with a row for each that Kyverno refuses, and for
    each that names a policy or a rule that is not there."""
    texts: dict[str, str] = {}
    rows: list[Row] = []
    taken: list[Piece] = []
    for piece in estate.exceptions:
        resource = piece.resource
        try:
            read_exceptions([resource])
        except CompileError as error:
            message = f"Kyverno refuses it: {error.message}"
            rows.append(_row(Outcome.LEFT, piece, message, error.hint or "", estate))
            continue
        name = _file(estate.file_name, resource)
        if name is None:
            message, hint = "no file can have its name", "name it as Kubernetes names objects"
            rows.append(_row(Outcome.LEFT, piece, message, hint, estate))
            continue
        if name in texts:
            rows.append(_row(Outcome.LEFT, piece, "another exception has this name", "", estate))
            continue
        texts[name] = text_of(piece)
        taken.append(piece)
        rows.append(_row(Outcome.TAKEN, piece, f"→ {name}", "", estate))
        unknown = _unknown(resource, policies)
        if unknown:
            message = f"names what is not there: {', '.join(unknown)}"
            rows.append(_row(Outcome.NOTE, piece, message, "take it out, or correct it", estate))
    return ExceptionFiles(texts, tuple(rows), tuple(taken))


def _row(outcome: Outcome, piece: Piece, message: str, hint: str, estate: Estate) -> Row:
    place = piece.resource.location
    return Row(outcome, piece.subject, message, place, hint, estate.name)


def _file(environment: str, resource: Resource) -> str | None:
    """Return the path of an exception, which differs for each namespace, name and generation; None
    for a name that Kubernetes would not take."""
    group = group_of(resource).partition(".")[0]
    parts = (resource.namespace or "default", resource.name, group)
    if not all(map(is_policy_name, parts)):
        return None
    return f"{FOLDER}/{environment}/{'.'.join(parts)}.yaml"


def _unknown(resource: Resource, policies: Sequence[Resource]) -> list[str]:
    """Return the policies and rules that an exception names and that are not there."""
    spec = mapping_at(resource.body, "spec")
    named = [str(each.get("name")) for each in mappings_at(spec, "policyRefs")]
    there = {_key(each): set(_rules(each)) for each in policies}
    found = [each for each in named if each not in there]
    for each in mappings_at(spec, "exceptions"):
        policy = str(each.get("policyName"))
        if policy not in there:
            found.append(policy)
            continue
        rules = [str(rule) for rule in each.get("ruleNames") or ()]
        found += [f"{policy}/{rule}" for rule in rules if not _has(there[policy], rule)]
    return list(dict.fromkeys(found))


def _has(rules: set[str], name: str) -> bool:
    from chartkit.scan.gate.violation import written_rule

    return "*" in name or written_rule(name) in rules


def _key(policy: Resource) -> str:
    return f"{policy.namespace}/{policy.name}" if policy.namespace else policy.name


def _rules(policy: Resource) -> list[str]:
    names: list[Json] = [each.get("name") for each in mappings_at(policy.body, "spec", "rules")]
    return [str(each) for each in names]
