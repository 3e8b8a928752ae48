"""The calls of the page: each takes a JSON object and answers with one, whatever is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from chartkit.errors import ChartkitError, bug_message
from chartkit.model import Body

Call = Callable[[Body], Body]
_MODULES: Final[Mapping[str, str]] = {
    "evaluate": "evaluation",
    "migrate": "migration",
    "expression": "expressions",
    "library": "library",
}


def answer(call: str, text: str) -> str:
    """Return the answer to a call, both as JSON; `error` where there is none."""
    try:
        called: Call = globals()[call] if call in _MODULES else _unknown
        given = json.loads(text)
        return json.dumps(called(given if isinstance(given, dict) else {}))
    except json.JSONDecodeError as error:
        return json.dumps({"error": f"a call is JSON: {error}"})
    except ChartkitError as error:
        return json.dumps({"error": str(error)})
    except (RecursionError, MemoryError):
        return json.dumps({"error": "this is nested too deeply, or too large, for the page"})
    except Exception as error:  # noqa: BLE001 - the boundary of the page
        return json.dumps({"error": bug_message(error)})


def evaluate(given: Body) -> Body:
    """Return the results of policies for objects."""
    return _of("evaluate")(given)


def migrate(given: Body) -> Body:
    """Return what replaces a policy of kyverno.io, with the proof that both do the same."""
    return _of("migrate")(given)


def expression(given: Body) -> Body:
    """Return the value of an expression, and of its parts."""
    return _of("expression")(given)


def library(given: Body) -> Body:
    """Return policies to start from."""
    return _of("library")(given)


def _of(call: str) -> Call:
    # A call's module is imported when it is first asked.
    called: Call = getattr(import_module(f"{__package__}.{_MODULES[call]}"), call)
    return called


def _unknown(_given: Body) -> Body:
    raise ChartkitError("there is no such call")
