"""Fields of policies whose values mean more than their text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from chartkit.helm.syntax import Call, Literal, Term
from chartkit.model import Json

_ENFORCE: Final = ("Enforce", "Audit")
SETTINGS: Final[Mapping[str, tuple[str, str]]] = {
    "validationFailureAction": _ENFORCE,
    "failureAction": _ENFORCE,
    "failurePolicy": ("Ignore", "Fail"),
    "level": ("restricted", "baseline"),
    **dict.fromkeys(
        (
            "admission",
            "allowExistingViolations",
            "background",
            "emitWarning",
            "generateExisting",
            "mutateDigest",
            "orphanDownstreamOnPolicyDelete",
            "required",
            "skipBackgroundRequests",
            "synchronize",
            "verifyDigest",
        ),
        ("true", "false"),
    ),
}
"""The fields that have one of two values, of which a condition that holds gives the first."""
REFERENCES: Final = frozenset({"imageReferences", "skipImageReferences"})
TEXT_LISTS: Final = REFERENCES | {
    *("value", "values", "namespaces", "names", "kinds", "operations")
}
IDENTITY: Final = ("subject", "issuer")
TEXT_MAPS: Final = frozenset({"labels", "annotations", "nodeSelector", "matchLabels"})


def opposite(operator: str) -> str:
    """Return the operator of a condition that asks for the opposite, empty for none.

    Of `GreaterThan` it is `LessThan`, and the other way round.
    """
    for word, other in (("Greater", "Less"), ("Less", "Greater"), ("Not", "")):
        if word in operator:
            return operator.replace(word, other)
    return re.sub("(?=In$|Equals?$)", "Not", operator)


def condition(term: Term, setting: tuple[str, str]) -> Term:
    """Return the condition for the first value of a setting."""
    match term:
        case Call("ternary", (Literal(first, True), Literal(second, True), decides)):
            texts = [text.lower() for text in (first, second)]
            wanted = [text == setting[0].lower() for text in texts]
            if wanted[0] != wanted[1]:
                return decides if wanted[0] else Call("not", (decides,))
    if isinstance(term, Call) and term.name in ("toYaml", "quote") and len(term.arguments) == 1:
        term = term.arguments[0]
    if setting[0] == "true":
        return term
    if setting == _ENFORCE:
        return Call("eq", (Call("lower", (term,)), Literal("enforce", True)))
    return Call("eq", (term, Literal(setting[0], True)))


def has_null(value: Json, is_pattern: bool = False) -> bool:
    """Report whether a pattern in the rules of a policy has null in place of a value."""
    if isinstance(value, dict):
        return any(
            has_null(item, is_pattern or key in ("pattern", "anyPattern"))
            for key, item in value.items()
        )
    if isinstance(value, list):
        return any(has_null(item, is_pattern) for item in value)
    return is_pattern and value is None
