"""Values by names such as `controller.args[0]`, as `helm --set` takes them.

Source: helm.sh/helm/v3/pkg/strvals.
"""

from __future__ import annotations

import re
from typing import Final

from chartkit.model import Body, Json

_STEP: Final = re.compile(r"((?:[^.\\\[]|\\.)+)|\[(\d{1,5})\]|(\.)")
_ESCAPE: Final = re.compile(r"\\(.)")
_NUMBER: Final = re.compile(r"(?:0|-?[1-9][0-9]{0,17})")
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None, "": ""}
_MOST_INDEX: Final = 65536
_MOST_STEPS: Final = 30


class ValueNameError(ValueError):
    """A name that is no path of values."""


def steps_of(name: str) -> list[str | int]:
    """Return the keys and indices of a name; raise ValueNameError."""
    steps: list[str | int] = []
    at = 0
    while at < len(name):
        match = _STEP.match(name, at)
        if match is None or len(steps) > _MOST_STEPS:
            raise ValueNameError(name)
        key, index, dot = match.groups()
        if key is not None:
            steps.append(_ESCAPE.sub(r"\1", key))
        elif dot is None:
            steps.append(int(index))
        at = match.end()
    if not steps or isinstance(steps[0], int):
        raise ValueNameError(name)
    return steps


def typed(text: str) -> Json:
    """Return the value that a text stands for: true, false, null, a number, a list, or itself."""
    if text.startswith("{") and text.endswith("}"):
        return [typed(each) for each in text[1:-1].split(",")] if text != "{}" else []
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if _NUMBER.fullmatch(text) else text


def set_value(values: Body, name: str, value: Json) -> Body:
    """Return values with one more; raise ValueNameError for a name that is none."""
    made = _with(values, steps_of(name), value)
    assert isinstance(made, dict)
    return made


def _with(values: Json, steps: list[str | int], value: Json) -> Json:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        if step > _MOST_INDEX:
            raise ValueNameError(str(step))
        items = list(values) if isinstance(values, list) else []
        items += [None] * (step + 1 - len(items))
        items[step] = _with(items[step], rest, value)
        return items
    members = dict(values) if isinstance(values, dict) else {}
    members[step] = _with(members.get(step), rest, value)
    return members
