"""What the ids of findings mean, from `explanations.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.suggestions import suggestion

_FILE: Final = Path(__file__).parent / "explanations.yaml"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One id: what the mistake is, why it matters, what to do; fix: what a fix changes, empty
    where there is none that is safe."""

    rule_id: str
    what: str
    why: str
    do: str
    fix: str = ""


@cache
def explanations() -> Mapping[str, Explanation]:
    """Every id, in order."""
    body = read_file(_FILE)[0].body
    return MappingProxyType({name: Explanation(name, **each) for name, each in body.items()})


def explanation(rule_id: str) -> Explanation:
    """What an id means; raises InputError for one that is not known."""
    found = explanations().get(rule_id.upper())
    if found is None:
        hint = suggestion(rule_id, explanations()) or "`chartkit explain` lists them"
        raise InputError(f"there is no finding '{rule_id}'", None, hint)
    return found


def as_text(found: Explanation) -> str:
    """One id for a terminal."""
    lines = [f"{found.rule_id}: {found.what}", "", f"Why: {found.why}", f"Do:  {found.do}"]
    if found.fix:
        lines.append(f"Fix: {found.fix} (chartkit values lint --fix)")
    return "\n".join(lines) + "\n"


def as_list() -> str:
    """Every id with its mistake, a line each."""
    return "".join(f"{each.rule_id}  {each.what}\n" for each in explanations().values())
