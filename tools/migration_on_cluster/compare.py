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

_KYVERNO: Final = ("It violates PodSecurity", "failed to verify image", "failed to substitute")
"""Parts of messages that Kyverno words, and not the policy."""
_VIOLATIONS: Final = frozenset(("warn", "fail", "error"))
_NEW_MESSAGE: Final = re.compile(r"[Pp]olicy \S+ (?:failed|error): (?P<text>.*)", re.DOTALL)


def differences(cases: Sequence[Case], old: Round, new: Round) -> Iterator[str]:
    """Yield what the second round has otherwise than the first, but what cases know of."""
    known = {f"{case.name}/{at}": text for case in cases for at, text in case.known.items()}
    for text in _differences(cases, old, new):
        at, _, rest = text.partition(": ")
        if known.get(at, "\0") not in rest:
            yield text


def _differences(cases: Sequence[Case], old: Round, new: Round) -> Iterator[str]:
    for key, reply in old.said.items():
        if key not in new.said:
            continue
        for text in _answers(reply, old.name, new.said[key], new.name):
            yield f"{key}: {text}"
    for key, body in old.seen.items():
        if key in new.seen and new.seen[key] != body:
            yield f"{key}: {_short(body)} is now {_short(new.seen[key])}"
    if new.reports or old.reports:
        for case in cases:
            found = new.reports.get(case.name, {})
            for text in _reported(old.reports.get(case.name, {}), found):
                yield f"{case.name}: {text}"


def _answers(old: Reply, old_name: str, new: Reply, new_name: str) -> Iterator[str]:
    if old.is_good is not new.is_good:
        was, now = (one.message or "admitted" for one in (old, new))
        yield f"{was} -> {now}"
    elif not old.is_good:
        message = _NEW_MESSAGE.search(new.message)
        text = (message["text"] if message else new.message).replace("''", "'")
        known = old.message.replace("''", "'")
        if text not in known and not any(words in known for words in _KYVERNO):
            yield f"message: {old.message} -> {new.message}"
        return
    before, after = stored(old, old_name), stored(new, new_name)
    if before != after:
        yield f"stored: {_short(before)} -> {_short(after)}"


def _reported(old: Reports, new: Reports) -> Iterator[str]:
    for place in sorted({*old, *new}):
        was, now = old.get(place, {}), new.get(place, {})
        for policy in sorted({*was, *now}):
            one, other = was.get(policy, "none"), now.get(policy, "none")
            if one != other and {one, other} & _VIOLATIONS:
                yield f"{place}: {policy} reported {one}, now {other}"


def _short(value: Json) -> str:
    return json.dumps(value, sort_keys=True)
