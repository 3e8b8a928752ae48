"""Command line arguments: a list of flags becomes the values that say the same."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.values.context import Context, Outcome, items
from chartkit.kyverno.releases import current
from chartkit.model import Json
from chartkit.output.yaml_tree import Entry, Path, data_of
from chartkit.values.moved import Argument, Row, arguments

_TRUTHS: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_FLAG: Final = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
_LOGGING: Final = ("v", "loggingFormat")
_INIT: Final = ("clientRateLimitQPS", "clientRateLimitBurst")
_EXCEPTIONS: Final = "enablePolicyException"
_CLEANUP: Final = "cleanupController"


@dataclass(frozen=True, slots=True)
class _Flag:
    """One argument as it is written: its name, its value (empty where it has none), its item."""

    name: str
    value: str
    item: Entry


def move_arguments(context: Context, row: Row) -> None:
    """Puts each argument where its table says."""
    entry = context.tree.find(row.key)
    if entry is None or isinstance(data_of(entry.value), dict):
        if entry is not None and row.key != row.targets[0]:
            context.move(row)
        return
    written = items(entry)
    if not written and data_of(entry.value):
        context.remove(row.key, "A list stood there.", "Say what is meant.", Outcome.ASKED)
        return
    if not written:
        context.remove(row.key, "It is empty, and says nothing.")
        return
    context.tree.drop(row.key)
    if written[0].lead or entry.lead:
        written[0].lead = [*entry.lead, *written[0].lead]
    flags = list(_flags(written))
    names = {flag.name for flag in flags}
    for flag in flags:
        _place(context, row, flag, names)


def _flags(written: Sequence[Entry]) -> Iterator[_Flag]:
    waiting = deque(written)
    while waiting:
        item = waiting.popleft()
        text = str(data_of(item.value))
        match = _FLAG.fullmatch(text)
        if match is None:
            yield _Flag("", text, item)
            continue
        value = match[2]
        following = str(data_of(waiting[0].value)) if waiting else "-"
        if value is None and not following.startswith("-"):
            value = following
            waiting.popleft()
        yield _Flag(match[1], value or "", item)


def _place(context: Context, row: Row, flag: _Flag, names: set[str]) -> None:
    argument = arguments().get(flag.name)
    if argument is None:
        why = f"Kyverno {current().version} does not start with an argument that it does not know."
        do = f"Put it into {'.'.join(row.targets[0])} where it is still needed."
        _say(context, row, flag, Outcome.ASKED, (), why, do)
    elif not argument.targets:
        _say(context, row, flag, Outcome.REMOVED, (), argument.why, argument.do)
    elif "{{" in flag.value:
        if argument.flag == "exceptionNamespace" and _EXCEPTIONS not in names:
            why = f"It has no effect without {_EXCEPTIONS}."
            _say(context, row, flag, Outcome.REMOVED, (), why)
        else:
            why = "Templates are not run in arguments."
            name = ".".join(_full(argument.targets[0], argument, ""))
            do = f"Write the value that is meant to {name}."
            _say(context, row, flag, Outcome.ASKED, (), why, do)
    else:
        _set(context, row, flag, argument)


def _set(context: Context, row: Row, flag: _Flag, argument: Argument) -> None:
    value = _value(argument.kind, flag.value)
    if value is None:
        why = f"'{flag.value}' is not a value for it."
        _say(context, row, flag, Outcome.ASKED, (), why, "Say what is meant.")
        return
    targets = _targets(row, argument)
    if not targets:
        why = "The init container has no such argument."
        _say(context, row, flag, Outcome.REMOVED, (), why)
        return
    places = [_full(target, argument, value) for target in targets]
    refused = [
        place
        for index, place in enumerate(places)
        if not context.set(place, value, flag.item if index == 0 else None)
    ]
    done = [place for place in places if place not in refused]
    if done:
        _say(context, row, flag, Outcome.MOVED, done, argument.why, argument.do)
    if refused:
        why = "It is given there too, otherwise: what stood there is kept."
        _say(context, row, flag, Outcome.ASKED, refused, why, f"The other value is {flag.value}.")


def _targets(row: Row, argument: Argument) -> Sequence[Path]:
    """Return the new places of an argument: those of the cleanup controller or the init
    container stay with it, except for logs, which all containers write alike."""
    own = row.targets[0]
    if own[0] == _CLEANUP:
        return [own]
    if own[1] == "initContainer":
        if argument.flag in _LOGGING:
            return argument.targets
        return [own] if argument.flag in _INIT else []
    return argument.targets


def _full(target: Path, argument: Argument, value: Json) -> Path:
    if target[-1] == "extraArgs":
        return (*target, argument.flag)
    if argument.kind == "scan":
        return (*target, "enabled" if isinstance(value, bool) else "backgroundScanInterval")
    return target


def _value(kind: str, text: str) -> Json:
    """Return the value of an argument; None if it cannot be read."""
    if kind == "truth":
        return _TRUTHS.get(text.lower() or "true")
    if kind == "number":
        return int(text) if text.isdecimal() else None
    if kind == "list":
        return [part.strip() for part in text.split(",") if part.strip()] or None
    if kind == "scan":
        # How often to scan, until Kyverno 1.7; whether to, later.
        return _TRUTHS.get(text.lower() or "true", text)
    return text or None


def _say(
    context: Context,
    row: Row,
    flag: _Flag,
    outcome: Outcome,
    targets: Sequence[Path],
    why: str,
    do: str = "",
) -> None:
    shown = f"--{flag.name}" if flag.name else flag.value
    context.say(outcome, row.key, flag.item, targets, why, do, shown)
