"""Answers about a position: completions of keys, values and functions, and hovers with problems,
fields and functions; also in expressions: JMESPath between `{{ }}`, and CEL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

from lsprotocol import types

from chartkit.addons.lsp.cursor import Cursor
from chartkit.addons.lsp.judging import Problem, Violation
from chartkit.addons.lsp.session import Shape, known_types
from chartkit.catalog.standards import guidance
from chartkit.cli.explain import known_explanations
from chartkit.engine import explain
from chartkit.engine.kubernetes.kinds import (
    CEL_ENVIRONMENTS,
    CEL_GROUP,
    KYVERNO_GROUP,
    parse_api_version,
)
from chartkit.report.model import field_places
from chartkit.scan.why.report import rule_lines

Root = Callable[[Cursor], Shape | None]
"""Gives the shape of the document that a place is in."""
_MOST: Final = 3
JMESPATH: Final = "jmespath"
_CEL_KEYS: Final = {"cel", "celPreconditions", "matchConditions", "variables"} | {
    "expression", "messageExpression", "valueExpression",
}  # fmt: skip
_VARIABLES: Final = (
    *("request.object", "request.oldObject", "request.operation", "request.namespace"),
    *("request.userInfo", "element", "elementIndex", "images", "serviceAccountName"),
)


def completions(cursor: Cursor, root: Root) -> Iterator[types.CompletionItem]:
    language = language_at(cursor)
    if language is not None:
        kind = types.CompletionItemKind.Function
        for name, function in functions(language).items():
            signature, doc = function.signatures[0], _markdown(function.documentation)
            yield types.CompletionItem(name, kind=kind, detail=signature, documentation=doc)
        for name in variables(language):
            yield types.CompletionItem(name, kind=types.CompletionItemKind.Variable)
    elif cursor.in_value and cursor.path in (("apiVersion",), ("kind",)):
        own, other = (1, 0) if cursor.key == "kind" else (0, 1)
        wanted = cursor.types[other]
        for name in sorted({pair[own] for pair in known_types() if wanted in ("", pair[other])}):
            yield types.CompletionItem(name, kind=types.CompletionItemKind.Class)
    elif (shape := root(cursor)) is not None:
        inner = shape.at(cursor.path if cursor.in_value else cursor.above)
        if inner is not None:
            yield from _keys(inner, cursor) if not cursor.in_value else ()
            for text in inner.values():
                yield types.CompletionItem(text, kind=types.CompletionItemKind.EnumMember)


def _keys(shape: Shape, cursor: Cursor) -> Iterator[types.CompletionItem]:
    kind = types.CompletionItemKind.Field
    for name, field in shape.fields().items():
        if name not in cursor.siblings:
            text, doc = f"{name}:" if field.holds_more else f"{name}: ", _markdown(field.doc)
            yield types.CompletionItem(
                name, kind=kind, detail=field.name, documentation=doc, insert_text=text
            )


def _markdown(text: str) -> types.MarkupContent | None:
    return types.MarkupContent(types.MarkupKind.Markdown, text) if text else None


def of_place(cursor: Cursor, root: Root) -> str:
    """Return the documentation of the function, or of the field, at a place; empty for none."""
    language = language_at(cursor)
    if language is not None:
        function = functions(language).get(cursor.word.rpartition(".")[2])
        return function.documentation if function is not None else ""
    shape = root(cursor) if cursor.key else None
    field = shape.at(cursor.path) if shape is not None else None
    if field is None:
        return ""
    values = ", ".join(f"`{value}`" for value in field.values()[:20])
    parts = [f"**{cursor.key}**: {field.name}", field.doc, f"One of {values}." if values else ""]
    return "\n\n".join(filter(None, parts))


def of_problems(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield the explanations of problems in Markdown."""
    by_code = {problem.code: problem for problem in reversed(list(problems))}
    for code, problem in islice(reversed(by_code.items()), _MOST):
        if problem.violation is not None:
            yield "\n\n".join(filter(None, _violation(code, problem.violation)))
        elif (meaning := known_explanations().get(code)) is not None:
            yield f"**{code}**: {meaning.what}\n\n{meaning.why}\n\n{meaning.do}"


def _violation(code: str, violation: Violation) -> Iterator[str]:
    """Yield the explanation of a violation, with the checks that decided."""
    resource, result = violation.resource, violation.result
    facts = violation.requests.facts()[result.policy_id]
    guide = guidance([result.policy]).get(result.policy)
    kind = ", ".join(filter(None, (facts.action(result.rule, resource.namespace), facts.severity)))
    yield f"**{code}** ({kind})" + (f": {facts.title}" if facts.title else "")
    yield facts.description
    if guide is not None and guide.remediation:
        yield f"What to do: {guide.remediation}"
    for shown in field_places(resource, result, 1):
        if shown.value is not None and shown.value.line:
            yield f"`{shown.field}` shows the value at {shown.value}."
    why: list[str] = []
    result, context = violation.result, violation.policies.context(violation.requests)
    running = violation.requests.policies.policies
    own = [policy for policy in running if policy.policy.id == result.policy_id]
    request = context.request(violation.resource, context.admissions(own))
    for rule in explain(own, request, context.world)[0]:
        if rule.is_about(result):
            why.extend(rule_lines(rule.decision, request.resource))
            break
    if lines := "\n".join(why):
        yield f"Why:\n\n```\n{lines}\n```"
    if guide is not None and guide.url:
        yield f"[{guide.url}]({guide.url})"


class Function(NamedTuple):
    """A function or macro of a language."""

    signatures: tuple[str, ...]
    doc: str
    example: str

    @property
    def documentation(self) -> str:
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
        return {spec.name: Function((spec.signature,), spec.doc, spec.example) for spec in specs}
    from chartkit.engine.cel.environments import ENVIRONMENTS
    from chartkit.engine.cel.explain import sections

    table: dict[str, Function] = {}
    for section in sections(ENVIRONMENTS[language].libraries):
        for entry in section.entries:
            name = entry.name.rpartition(".")[2]
            example = entry.examples[0].expression if entry.examples else ""
            if name.isidentifier():
                table.setdefault(name, Function(entry.signatures, entry.doc, example))
    return table


def variables(language: str) -> tuple[str, ...]:
    from chartkit.engine.cel.environments import ENVIRONMENTS

    return _VARIABLES if language == JMESPATH else tuple(ENVIRONMENTS[language].variables)
