"""Messages of go-yaml about a text that `chartkit.documents.reader` could not read.

The texts are libyaml's own; go-yaml adds a line to those that are not in the first one.
"""

from __future__ import annotations

from yaml import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    CSafeLoader,
    MarkedYAMLError,
    ScalarEvent,
    YAMLError,
    parse,
)
from yaml.reader import ReaderError
from yaml.scanner import ScannerError

from chartkit.documents.yaml_builder import MAX_DEPTH

_UNSUPPORTED = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "+Inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-Inf"),
}


def yaml_problem(text: str) -> str | None:
    """The message of go-yaml or of `encoding/json` for a text; None where neither is known."""
    anchors, unsupported, depth = set(), None, 0
    try:
        for event in parse(text.encode("utf-8", "surrogateescape"), Loader=CSafeLoader):
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if depth > MAX_DEPTH:
                # libyaml takes the square of the depth, and the text was refused for it already.
                return None
            if isinstance(event, AliasEvent) and event.anchor not in anchors:
                return f"yaml: unknown anchor '{event.anchor}' referenced"
            anchors.add(getattr(event, "anchor", None))
            if isinstance(event, ScalarEvent) and event.implicit[0]:
                unsupported = unsupported or _UNSUPPORTED.get(event.value)
    except ReaderError as error:
        return f"yaml: {error.reason}"
    except MarkedYAMLError as error:
        return f"yaml: {_place(error)}{error.problem}"
    except YAMLError:
        return None
    return f"json: unsupported value: {unsupported}" if unsupported else None


def _place(error: MarkedYAMLError) -> str:
    """go-yaml counts lines from 0, and from 1 where its scanner stopped."""
    problem, context = error.problem_mark, error.context_mark
    line = 0
    if problem is not None and problem.line:
        line = problem.line + isinstance(error, ScannerError)
    elif context is not None:
        line = context.line
    return f"line {line}: " if line else ""
