"""What was verified in this run: many objects have the same image, and one answer serves all."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from typing import Generic, TypeVar

from chartkit.engine.ports.signatures import Question
from chartkit.errors import LookupFailed
from chartkit.model import Body

Answer = TypeVar("Answer")


class Memory(Generic[Answer]):
    """The last answers, verdicts among them; the oldest is forgotten first."""

    __slots__ = ("_known", "_most")

    def __init__(self, most: int) -> None:
        """most: how many are kept."""
        self._known: OrderedDict[Hashable, Answer | LookupFailed] = OrderedDict()
        self._most = most

    def once(self, key: Hashable, find: Callable[[], Answer]) -> Answer:
        """What was answered before, or what is found now; raises LookupFailed as `find` did."""
        if key not in self._known:
            self._known[key] = _outcome(find)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        found = self._known[key]
        if isinstance(found, LookupFailed):
            raise found.with_traceback(None)
        return found


def question_key(question: Question) -> Hashable:
    """What tells a question from any other."""
    values = (getattr(question, each.name) for each in fields(question))
    return tuple(
        tuple(sorted(value.items())) if isinstance(value, Mapping) else value for value in values
    )


def body_key(*bodies: Body) -> Hashable:
    """What tells bodies of a policy from any others."""
    return json.dumps(bodies, sort_keys=True, default=str)


def _outcome(find: Callable[[], Answer]) -> Answer | LookupFailed:
    try:
        return find()
    except LookupFailed as error:
        return error
