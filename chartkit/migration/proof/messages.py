"""The message of a failure as its rule has it, without what Kyverno puts around it."""

from __future__ import annotations

from typing import Final

from chartkit.model import RuleResult

_LOOP: Final = "validation failure: "
_ERROR: Final = "validation error: "
_WORDED: Final = ("Validation rule '", "failed to verify image", "unverified image", "image")
_INDEXED: Final = "CEL expression validation failed at index "
"""The beginnings of messages that Kyverno words itself."""


def own_message(result: RuleResult) -> str:
    """Return the message of a rule or validation; empty where Kyverno words it.

    A pattern's failure is `validation error: MESSAGE. rule NAME failed at path …`, that of a
    foreach has `validation failure: ` before it.
    """
    text = result.message
    while text.startswith(_LOOP):
        text = text.removeprefix(_LOOP)
    if text.startswith(_ERROR):
        text = text.removeprefix(_ERROR)
        if text.startswith(f"rule {result.rule}"):
            return ""
        text = text.partition(f" rule {result.rule}")[0]
    elif text.startswith(_INDEXED if result.kind else _WORDED):
        return ""
    return " ".join(text.split()).rstrip(".")
