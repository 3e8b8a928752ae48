"""The functions of expressions in policies: JMESPath between `{{ }}`, and CEL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from chartkit.addons.lsp.cursor import Cursor

JMESPATH: Final = "jmespath"
_KYVERNO: Final = "kyverno.io/"
_CEL_KINDS: Final = {
    "ValidatingPolicy": "vpol",
    "MutatingPolicy": "mpol",
    "GeneratingPolicy": "gpol",
    "DeletingPolicy": "dpol",
    "ImageValidatingPolicy": "ivpol",
}
_CEL_KEYS: Final = frozenset(
    {"expression", "messageExpression", "valueExpression", "matchConditions", "variables"}
)
_VARIABLES: Final = (
    *("request.object", "request.oldObject", "request.operation", "request.namespace"),
    *("request.userInfo", "element", "elementIndex", "images", "serviceAccountName"),
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or macro of a language."""

    name: str
    signatures: tuple[str, ...]
    doc: str
    example: str


def language_at(cursor: Cursor) -> str | None:
    """Return the language that is written at a place: `JMESPATH`, or the name of a CEL
    environment; None for no expression."""
    version, kind = cursor.types
    if cursor.in_variable and version.startswith(_KYVERNO):
        return JMESPATH
    if not _CEL_KEYS.intersection(map(str, cursor.path)) and "cel" not in cursor.path:
        return None
    if version.startswith(_KYVERNO):
        return "k8s" if "cel" in cursor.path or "celPreconditions" in cursor.path else None
    if version.startswith("policies.kyverno.io/"):
        own = _CEL_KINDS.get(kind.removeprefix("Namespaced"))
        return f"n{own}" if own and kind.startswith("Namespaced") else own
    return "k8s" if version.startswith("admissionregistration.k8s.io/") else None


@cache
def functions(language: str) -> Mapping[str, Function]:
    """Return the functions of a language by their names."""
    if language == JMESPATH:
        from chartkit.engine.jmespath.functions import FUNCTIONS

        specs = FUNCTIONS.values()
        return {
            each.name: Function(each.name, (each.signature,), each.doc, each.example)
            for each in specs
        }
    from chartkit.engine.cel.environments import ENVIRONMENTS
    from chartkit.engine.cel.explain import sections

    found: dict[str, Function] = {}
    for section in sections(ENVIRONMENTS[language].libraries):
        for entry in section.entries:
            name = entry.name.rpartition(".")[2]
            if name.isidentifier() and name not in found:
                example = entry.examples[0].expression if entry.examples else ""
                found[name] = Function(name, entry.signatures, entry.doc, example)
    return found


def variables(language: str) -> tuple[str, ...]:
    """Return the names of the variables of a language."""
    if language == JMESPATH:
        return _VARIABLES
    from chartkit.engine.cel.environments import ENVIRONMENTS

    return tuple(ENVIRONMENTS[language].variables)


def documentation(function: Function) -> str:
    """Return what a function does, in Markdown."""
    signatures = "\n".join(function.signatures[:6])
    parts = [f"```\n{signatures}\n```", function.doc]
    if function.example:
        parts.append(f"Example: `{function.example}`")
    return "\n\n".join(filter(None, parts))
