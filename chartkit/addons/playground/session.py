"""The calls of the page: each takes a JSON object and answers with one, whatever is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from chartkit.errors import ChartkitError, contained

_MODULES: Final[Mapping[str, str]] = {
    "evaluate": "evaluation",
    "migrate": "migration",
    "expression": "expressions",
    "library": "library",
}
"""The modules of the calls, which are functions of their names, imported when first asked."""


def answer(call: str, text: str, step: Callable[[int], object] = lambda _: None) -> str:
    """Return the answer to a call, both as JSON; `error` in place of an answer. step: called by
    `evaluate` with the number of each object, before it is judged."""

    def answered() -> str:
        if call not in _MODULES:
            raise ChartkitError("there is no such call")
        called = getattr(import_module(f"{__package__}.{_MODULES[call]}"), call)
        given = json.loads(text)
        steps = (step,) if call == "evaluate" else ()
        return json.dumps(called(given if isinstance(given, dict) else {}, *steps))

    return contained(answered, _failed)


def _failed(error: Exception, message: str) -> str:
    if isinstance(error, json.JSONDecodeError):
        message = f"a call is JSON: {error}"
    elif isinstance(error, RecursionError | MemoryError):
        message = "this is nested too deeply, or too large, for the page"
    return json.dumps({"error": message})
