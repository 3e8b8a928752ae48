"""What differs between two rounds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.model import Json
from tools.migration_on_cluster.cases import Case
from tools.migration_on_cluster.cluster import Reply
from tools.migration_on_cluster.rounds import Reports, Round, stored

_VIOLATIONS: Final = frozenset(("warn", "fail", "error"))
_NEW_MESSAGE: Final = re.compile(r"[Pp]olicy \S+ (?:failed|error): (?P<text>.*)", re.DOTALL)


def differences(cases: Sequence[Case], old: Round, new: Round) -> Iterator[str]:
    """Yield what the second round has otherwise than the first."""
    for key, reply in old.said.items():
        for text in _answers(reply, new.said[key]) if key in new.said else ():
            yield f"{key}: {text}"
    for key, body in old.seen.items():
        if key in new.seen and new.seen[key] != body:
            yield f"{key}: {_short(body)} is now {_short(new.seen[key])}"
    if new.reports or old.reports:
        for case in cases:
            found = new.reports.get(case.name, {})
            for text in _reported(old.reports.get(case.name, {}), found):
                yield f"{case.name}: {text}"


def _answers(old: Reply, new: Reply) -> Iterator[str]:
    if old.is_good is not new.is_good:
        was, now = (one.message or "admitted" for one in (old, new))
        yield f"{was} -> {now}"
    elif not old.is_good:
        message = _NEW_MESSAGE.search(new.message)
        text = message["text"] if message else new.message
        if text not in old.message and new.message != old.message:
            yield f"message: {old.message} -> {new.message}"
    elif stored(old) != stored(new):
        yield f"stored: {_short(stored(old))} -> {_short(stored(new))}"


def _reported(old: Reports, new: Reports) -> Iterator[str]:
    for place in sorted({*old, *new}):
        was, now = old.get(place, {}), new.get(place, {})
        for policy in sorted({*was, *now}):
            one, other = was.get(policy, "none"), now.get(policy, "none")
            if one != other and {one, other} & _VIOLATIONS:
                yield f"{place}: {policy} reported {one}, now {other}"


def _short(value: Json) -> str:
    return json.dumps(value, sort_keys=True)
