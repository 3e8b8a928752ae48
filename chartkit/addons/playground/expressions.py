"""Expressions in JMESPath and CEL: their value, and the value of each part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from chartkit.addons.playground.inputs import Problems, documents_of, typed
from chartkit.engine.cel import CelCompileError, CelError, compile_expression
from chartkit.engine.cel.checker.checked import format_type
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.explain import Part, explain
from chartkit.engine.cel.notation import notation
from chartkit.engine.cel.values import type_of
from chartkit.engine.jmespath import JMESPathError
from chartkit.engine.jmespath import compile_expression as compile_jmespath
from chartkit.engine.jmespath.advice import advice
from chartkit.engine.jmespath.expression import ExpressionSyntaxError
from chartkit.engine.jmespath.parser import tokenize
from chartkit.errors import ChartkitError, EvaluationError, InputError
from chartkit.go.fmt import UnsupportedValueError, indented_json
from chartkit.model import Body, Json, Location
from chartkit.wording import shortened

_ENVIRONMENT: Final = "vpol"
_MOST_CHARACTERS: Final = 20_000
_MOST_PARTS: Final = 200
_SHORT: Final = 500
_TYPES: Final = {str: "string", bool: "boolean", list: "array", dict: "object", type(None): "null"}
_OPENING: Final = frozenset({"lparen", "lbracket", "lbrace", "filter"})
_CLOSING: Final = frozenset({"rparen", "rbracket", "rbrace"})
_OPERATORS: Final = frozenset({"and", "or", "eq", "ne", "lt", "gt", "lte", "gte"})


def expression(given: Body) -> Body:
    """Return the value of an expression for a document, with its type and parts."""
    problems = Problems("expression")
    answer: Body = {"value": None, "type": None, "parts": [], "problems": problems.found}
    text = typed(given, "expression", str)
    try:
        if len(text) > _MOST_CHARACTERS:
            raise InputError(f"has more than {_MOST_CHARACTERS:,} characters")
        documents = documents_of("data", typed(given, "data", str))
        data = documents[0].body if documents else None
        evaluated = _cel if typed(given, "language", str) == "cel" else _jmespath
        if text.strip():
            answer |= evaluated(text, data, problems)
    except ChartkitError as error:
        problems.add_error(error)
    return answer


def _cel(text: str, data: Json, problems: Problems) -> Body:
    try:
        program = compile_expression(text, ENVIRONMENTS[_ENVIRONMENT])
    except CelCompileError as error:
        for issue in error.issues:
            problems.add(issue.message, _location(text, issue.offset or 0))
        return {}
    explained = explain(program, {"object": data})
    parts = list(islice(_cel_rows(explained, text), _MOST_PARTS))
    try:
        value = program.evaluate({"object": data})
    except CelError as error:
        problems.add(str(error), _location(text, explained.offset))
        return {"parts": parts}
    kind = format_type(type_of(value))
    return {"value": notation(value, lines=True), "type": kind, "parts": parts}


def _cel_rows(part: Part, text: str) -> Iterator[Body]:
    # A part is written anew, of which the author's text may differ.
    size = len(part.text) if text.startswith(part.text, part.offset) else 1
    yield {
        "text": shortened(" ".join(part.text.split()), _SHORT),
        "start": part.offset,
        "end": part.offset + size,
        "value": None if part.error else shortened(notation(part.value), _SHORT),
        "error": str(part.error) if part.error else None,
    }
    for inner in part.parts:
        yield from _cel_rows(inner, text)


def _jmespath(text: str, data: Json, problems: Problems) -> Body:
    answer: Body = {}
    try:
        value = compile_jmespath(text).search(data)
        answer |= {"value": indented_json(value), "type": _TYPES.get(type(value), "number")}
    except ExpressionSyntaxError as error:
        problems.add(str(error), _location(text, error.offset), advice(str(error), text))
        return answer
    except (EvaluationError, UnsupportedValueError) as error:
        problems.add(str(error), _location(text, 0), advice(str(error), text))
    parts = _jmespath_rows(text, 0, len(text), data)
    return {**answer, "parts": list(islice(parts, _MOST_PARTS))}


def _jmespath_rows(text: str, start: int, end: int, data: Json) -> Iterator[Body]:
    """Yield the beginnings of an expression's operands that are expressions themselves, the
    arguments of its functions, and the whole; data: what stands before the expression."""
    tokens = tokenize(text[start:end])
    depth, stage, operand, argument = 0, start, start, start
    for token, following in pairwise(tokens):
        kind, at, stop = token["type"], start + token["start"], start + following["start"]
        is_call = following["type"] == "lparen" and kind == "unquoted_identifier"
        if kind == "lparen" and depth == 0:
            argument = stop
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if (kind == "comma" and depth == 1) or (kind == "rparen" and depth == 0):
            # What is not in a call, but between brackets, has no value of its own.
            if argument > stage and not text[argument:at].lstrip().startswith("&"):
                yield from _jmespath_rows(text, argument, at, data)
            argument = stop if depth else start
        if depth == 0 and kind == "pipe":
            data, stage, operand = _value(text[stage:at], data), stop, stop
            if isinstance(data, EvaluationError):
                return
        elif depth == 0 and kind in _OPERATORS:
            operand = stop
        elif depth == 0 and not is_call and (row := _row(text, operand, stop, data)) is not None:
            yield row
        if operand > stage and following["type"] in ("pipe", "eof") and depth == 0:
            yield from filter(None, [_row(text, stage, stop, data)])


def _row(text: str, start: int, end: int, here: Json) -> Body | None:
    """Return a part with its value; None for one that is not an expression by itself."""
    written = text[start:end]
    begin, written = start + len(written) - len(written.lstrip()), written.strip()
    value = _value(written, here)
    if isinstance(value, ExpressionSyntaxError):
        return None
    is_error = isinstance(value, EvaluationError)
    shown = None if is_error else shortened(json.dumps(value, ensure_ascii=False), _SHORT)
    return {
        "text": shortened(written, _SHORT),
        "start": begin,
        "end": begin + len(written),
        "value": shown,
        "error": str(value) if is_error else None,
    }


def _value(text: str, here: Json) -> Json:
    """Return the value of an expression, or its error."""
    try:
        return json.loads(indented_json(compile_jmespath(text).search(here)))
    except (JMESPathError, EvaluationError) as error:
        return error
    except UnsupportedValueError as error:
        return EvaluationError(str(error))


def _location(text: str, offset: int) -> Location:
    before = text[:offset]
    return Location("expression", before.count("\n") + 1, len(before) - before.rfind("\n"))
