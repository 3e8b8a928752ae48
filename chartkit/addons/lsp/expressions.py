"""The functions of expressions in policies: JMESPath between `{{ }}`, and CEL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from chartkit.addons.lsp.cursor import Cursor
from chartkit.engine.kubernetes.kinds import (
    CEL_ENVIRONMENTS,
    CEL_GROUP,
    KYVERNO_GROUP,
    parse_api_version,
)

JMESPATH: Final = "jmespath"
_CEL_KEYS: Final = {"cel", "celPreconditions", "matchConditions", "variables"} | {
    "expression", "messageExpression", "valueExpression",
}  # fmt: skip
_VARIABLES: Final = (
    *("request.object", "request.oldObject", "request.operation", "request.namespace"),
    *("request.userInfo", "element", "elementIndex", "images", "serviceAccountName"),
)


class Function(NamedTuple):
    """A function or macro of a language."""

    signatures: tuple[str, ...]
    doc: str
    example: str

    @property
    def documentation(self) -> str:
        """The documentation of the function, in Markdown."""
        signatures = "\n".join(self.signatures[:6])
        example = f"Example: `{self.example}`" if self.example else ""
        return "\n\n".join(filter(None, (f"```\n{signatures}\n```", self.doc, example)))


def language_at(cursor: Cursor) -> str | None:
    """Return the language that is written at a place: `JMESPATH`, or the name of a CEL
    environment; None for no expression."""
    group, _ = parse_api_version(cursor.types[0])
    kind = cursor.types[1]
    if group == KYVERNO_GROUP and cursor.in_variable:
        return JMESPATH
    keys = _CEL_KEYS.intersection(map(str, cursor.path))
    if group == CEL_GROUP and keys:
        own = CEL_ENVIRONMENTS.get(kind.removeprefix("Namespaced"))
        return f"n{own}" if own and kind.startswith("Namespaced") else own
    is_kubernetes = group == "admissionregistration.k8s.io" and bool(keys)
    return "k8s" if is_kubernetes or keys & {"cel", "celPreconditions"} else None


@cache
def functions(language: str) -> Mapping[str, Function]:
    """Return the functions of a language by their names."""
    if language == JMESPATH:
        from chartkit.engine.jmespath.functions import FUNCTIONS

        specs = FUNCTIONS.values()
        return {each.name: Function((each.signature,), each.doc, each.example) for each in specs}
    from chartkit.engine.cel.environments import ENVIRONMENTS
    from chartkit.engine.cel.explain import sections

    found: dict[str, Function] = {}
    for section in sections(ENVIRONMENTS[language].libraries):
        for entry in section.entries:
            name = entry.name.rpartition(".")[2]
            example = entry.examples[0].expression if entry.examples else ""
            if name.isidentifier():
                found.setdefault(name, Function(entry.signatures, entry.doc, example))
    return found


def variables(language: str) -> tuple[str, ...]:
    """Return the names of the variables of a language."""
    from chartkit.engine.cel.environments import ENVIRONMENTS

    return _VARIABLES if language == JMESPATH else tuple(ENVIRONMENTS[language].variables)
