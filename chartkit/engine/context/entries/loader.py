"""The common part of context entries: the name, the moment of loading, and the stored value."""

from __future__ import annotations

import json
import re
from abc import abstractmethod

from chartkit.engine.context.context import Context, Loader
from chartkit.engine.context.variables import Template, compile_template
from chartkit.engine.jmespath import Expression, JMESPathError, compile_expression
from chartkit.errors import EvaluationError, Reraise
from chartkit.go.fmt import go_type
from chartkit.go.regexp import RegexError, compile_regex
from chartkit.model import Body, Json, text_of

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class EntryNameError(ValueError):
    """An entry's name that Kyverno cannot look for in an expression."""


class EntryLoader(Loader):
    """A compiled context entry that has a body."""

    def __init__(self, name: str, body: Body, namespace: str) -> None:
        """namespace: that of a namespaced policy, else empty. Raises `EntryNameError`."""
        self.name = name
        self.body = body
        self.namespace = namespace
        self._is_plain = bool(_PLAIN_NAME.fullmatch(name))
        try:
            # Kyverno's own test: `x` is named by `x.y` and `f(x)`, but not by `y.x`.
            pattern = rf"(?:\A|\z|\s|[^.0-9A-Za-z]){name}\b"
            self._named = compile_regex(pattern)
        except RegexError as error:
            raise EntryNameError(name) from error
        self.compile()

    @abstractmethod
    def compile(self) -> None:
        """Compile the parts of the body."""

    def matches(self, query: str, /) -> bool:
        if self._is_plain and self.name not in query:
            return False
        return self._named.matches(query)

    def text(self, key: str) -> str:
        """A text of the entry's body; empty where it is missing."""
        value = self.body.get(key)
        return text_of(value)

    def template(self, key: str) -> Template:
        """The template of a text of the entry's body."""
        return compile_template(self.text(key))


class Path:
    """An entry's `jmesPath`: compiled once, unless variables in it make it another each time."""

    __slots__ = ("_expression", "template", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.template = compile_template(text)
        self._expression: Expression | None = None
        if self.template.is_constant and text:
            try:
                self._expression = compile_expression(self.template.value)
            except JMESPathError:
                self._expression = None

    def expression(self, resolved: str) -> Expression:
        """The expression of the resolved text; raises `JMESPathError`."""
        return self._expression or compile_expression(resolved)

    def search(self, resolved: str, data: Json, failure: str, context: Context) -> Json:
        """Return what the resolved text finds in data; raises `EvaluationError`, failure first."""
        with Reraise(failure, JMESPathError):
            return self.expression(resolved).search(data, context.budget)


def stored(value: Json, context: Context, failure: str) -> Json:
    """Return a value as a context holds it: passed through JSON, its size counted.

    failure: the text before the cause where it cannot be kept (`EvaluationError`). Raises
    `BudgetError` for one that no text could hold.
    """
    context.budget.weigh(value, "a context entry")
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"{failure}: json: unsupported value") from error
    context.count(len(text) if text.isascii() else len(text.encode("utf-8", "replace")))
    return json.loads(text)


def no_text(value: Json) -> str:
    """Return Go's words for a value where a text is taken for granted."""
    return f"interface conversion: interface {{}} is {held_type(value)}, not string"


def held_type(value: Json) -> str:
    """Return the Go type of a value in a context, where every number is a float64."""
    return go_type(value).replace("int64", "float64")
