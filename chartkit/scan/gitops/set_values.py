"""Values by names such as `controller.args[0]`, as `helm --set` takes them.

Source: helm.sh/helm/v3/pkg/strvals.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from chartkit.model import Body, Json

_STEP: Final = re.compile(r"((?:[^.\\\[]|\\.)+)|\[(\d{1,5})\]|(\.)")
_ESCAPE: Final = re.compile(r"\\(.)")
_NUMBER: Final = re.compile(r"(?:0|-?[1-9][0-9]{0,17})")
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None, "": ""}
_MOST_ITEMS: Final = 65_536
"""List items up to the greatest index that Helm takes, here of all values together."""
_MOST_STEPS: Final = 30


class ValueNameError(ValueError):
    """A name that is not a path of values."""


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
    """Return the value of a text: true, false, null, a number, a list, or itself."""
    if text.startswith("{") and text.endswith("}"):
        return [_scalar(each) for each in text[1:-1].split(",")] if text != "{}" else []
    return _scalar(text)


def _scalar(text: str) -> Json:
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if _NUMBER.fullmatch(text) else text


class NamedValues:
    """Values that are set one after the other, by their names."""

    def __init__(self) -> None:
        self.values: Body = {}
        self._unset = 0

    def set(self, name: str, value: Json) -> None:
        """Set a value; raise ValueNameError for an invalid name."""
        steps = steps_of(name)
        holder: Json = self.values
        for step, following in pairwise(steps):
            if isinstance(step, int) and isinstance(holder, list):
                inner = holder[step] if step < len(holder) else None
            else:
                inner = holder.get(step) if isinstance(holder, dict) else None
            kind = list if isinstance(following, int) else dict
            if not isinstance(inner, kind):
                inner = kind()
                self._put(holder, step, inner)
            holder = inner
        self._put(holder, steps[-1], value)

    def _put(self, holder: Json, step: str | int, value: Json) -> None:
        if isinstance(step, int) and isinstance(holder, list):
            missing = step + 1 - len(holder)
            self._unset += max(missing, 0)
            if self._unset > _MOST_ITEMS:
                raise ValueNameError(str(step))
            holder += [None] * missing
        holder[step] = value
