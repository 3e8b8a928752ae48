"""Context entries: Kyverno's checks of them, their names, the moment of loading, the stored values;
and all kinds of them but `apiCall`."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Callable
from typing import Final

from chartkit.engine.context.context import NOTHING, Context, Loader
from chartkit.engine.context.variables import (
    SubstitutionError,
    Template,
    compile_template,
    has_variable,
)
from chartkit.engine.jmespath import Expression, JMESPathError, compile_expression
from chartkit.engine.ports.signatures import read_credentials
from chartkit.errors import EvaluationError, LookupFailed, NoSource, Reraise
from chartkit.go.fmt import go_sprint, go_type
from chartkit.go.regexp import RegexError, compile_regex
from chartkit.go.types import GoTypes
from chartkit.model import Body, Json, text_of

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class EntryNameError(ValueError):
    """An entry's name that Kyverno cannot look for in an expression."""


class EntryLoader(Loader):
    """A compiled context entry that has a body."""

    def __init__(self, name: str, body: Body, namespace: str) -> None:
        """namespace: of a namespaced policy; empty for a cluster-wide one. Raises
        `EntryNameError`."""
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
        """Return a text of the entry's body; empty if it is missing."""
        return text_of(self.body.get(key))

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
        """The result of the resolved query in data; raises `EvaluationError`, failure first."""
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
    """Return Go's words for a value in place of the expected text."""
    return f"interface conversion: interface {{}} is {held_type(value)}, not string"


def held_type(value: Json) -> str:
    """Return the Go type of a value in a context, where every number is a float64."""
    return go_type(value).replace("int64", "float64")


_TYPES: Final = GoTypes(
    {"kyverno/v1.GlobalContextEntryReference": {"name": "string", "jmesPath": "string"}}
)


class ConfigMapLoader(EntryLoader):
    """Loads a ConfigMap's `data` and `metadata`."""

    def compile(self) -> None:
        self._name = self.template("name")
        self._namespace = self.template("namespace")

    def fetch(self, context: Context) -> Json:
        try:
            value = self._configmap(context)
        except NoSource:
            return NOTHING
        except (EvaluationError, LookupFailed) as error:
            raise EvaluationError(
                f"failed to retrieve config map for context entry {self.name}: {error.message}"
            ) from error
        return stored(value, context, f"failed to add config map for context entry {self.name}")

    def _configmap(self, context: Context) -> Body:
        name = self._text(self._name, "name", context)
        namespace = self._text(self._namespace, "namespace", context)
        namespace = namespace or self.namespace or "default"
        if self.namespace and namespace != self.namespace:
            raise EvaluationError(
                f'context entry {self.name}: configMap namespace "{namespace}" is different from '
                f'policy namespace "{self.namespace}"'
            )
        try:
            body = context.world.api.configmap(namespace, name)
        except NoSource:
            raise
        except LookupFailed as error:
            raise EvaluationError(
                f"failed to get configmap {namespace}/{name} : {error.message}"
            ) from error
        return {"data": body.get("data"), "metadata": body.get("metadata", {})}

    def _text(self, template: Template, key: str, context: Context) -> str:
        prefix = (
            f"failed to substitute variables in context {self.name} configMap.{key} "
            f"{template.value}: "
        )
        with Reraise(prefix, SubstitutionError):
            value = template.resolve(context)
        if not isinstance(value, str):
            raise EvaluationError(f"{prefix}expected string, got {held_type(value)}")
        return value


NO_GLOBALS: Final = "globalReference is not allowed in namespaced policies"


class GlobalReferenceLoader(EntryLoader):
    """Loads the data of a GlobalContextEntry; a dot in the name leads to a projection."""

    def compile(self) -> None:
        self._path = Path(self.text("jmesPath"))
        self._reference = compile_template({"name": self.text("name"), "jmesPath": self._path.text})

    def fetch(self, context: Context) -> Json:
        if self.namespace:
            raise EvaluationError(f"context entry {self.name}: {NO_GLOBALS}")
        failure = f"failed to marshal APICall data for context entry {self.name}"
        try:
            resolved = self._reference.resolve(context)
            reference = _TYPES.decode("kyverno/v1.GlobalContextEntryReference", resolved)
            path = reference.get("jmesPath", "")
            first, _, rest = reference.get("name", "").partition(".")
            data = context.world.global_context.data(first, rest.partition(".")[0])
            if not path:
                value: Json = data
            else:
                prefix = f"failed to apply JMESPath {path} for context entry {self.name}: "
                value = self._path.search(path, data, prefix, context)
        except NoSource:
            return NOTHING
        except (EvaluationError, LookupFailed) as error:
            raise EvaluationError(f"{failure}: {error.message}") from error
        return stored(value, context, failure)


class ImageRegistryLoader(EntryLoader):
    """Loads a registry's data about an image."""

    def compile(self) -> None:
        self._reference = self.template("reference")
        self._path = Path(self.text("jmesPath"))
        self._credentials = read_credentials(self.body.get("imageRegistryCredentials"))

    def fetch(self, context: Context) -> Json:
        # The missing letter is Kyverno's.
        reference = self._resolve(self._reference, self.text("reference"), "ailed", context)
        if not isinstance(reference, str):
            raise EvaluationError(
                f"invalid image reference {go_sprint(reference)}, image reference must be a string"
            )
        path = self._resolve(self._path.template, self._path.text, "failed", context)
        if not isinstance(path, str):
            raise EvaluationError(no_text(path))
        try:
            data: Json = context.world.images.image(reference, self._credentials)
        except NoSource:
            return NOTHING
        except LookupFailed as error:
            raise EvaluationError(error.message) from error
        if path:
            data = self._path.search(
                path,
                data,
                f"failed to apply JMESPath ({self._path.text}) results to context entry "
                f"{self.name}, error: ",
                context,
            )
        return stored(data, context, f"failed to add resource data to context: {self.name}")

    def _resolve(self, template: Template, written: str, failed: str, context: Context) -> Json:
        prefix = f"{failed} to substitute variables in context entry {self.name} {written}: "
        with Reraise(prefix, SubstitutionError):
            return template.resolve(context)


class VariableLoader(EntryLoader):
    """Loads a variable. A default replaces a path that fails or finds null.

    Where a value is given as well, the path is applied to it, and null found there is an error. A
    default that cannot be substituted is an error even if it is not needed.
    """

    replaces = True
    cached = False

    def compile(self) -> None:
        self._path = Path(self.text("jmesPath"))
        self._value = _template(self.body.get("value"))
        self._default = _template(self.body.get("default"))

    def fetch(self, context: Context) -> Json:
        path = self._resolve(self._path.template, context, self._path.text)
        if not isinstance(path, str):
            raise EvaluationError(
                f"jmespath value must be a string {self.name} {self._path.text}: <nil>"
            )
        default = self._resolve(self._default, context)
        value = self._resolve(self._value, context)
        if self._value is None:
            output = self._query(path, default, context) if path else default
        elif path:
            try:
                expression = self._path.expression(path)
            except JMESPathError as error:
                if default is None:
                    cause = f"failed to compile JMESPath: {path}, error: {error}"
                    raise self._failed(path, cause) from error
                output = default
            else:
                try:
                    output = expression.search(value, context.budget)
                except JMESPathError as error:
                    if default is None:
                        raise self._failed(path, str(error)) from error
                    output = default
        else:
            output = value
        if output is None:
            raise EvaluationError(
                f"failed to add context entry for variable {self.name} since it evaluated to nil"
            )
        return stored(output, context, f"failed to add context entry for variable {self.name}")

    def _resolve(
        self, template: Template | None, context: Context, written: str | None = None
    ) -> Json:
        if template is None:
            return None
        try:
            return template.resolve(context)
        except SubstitutionError as error:
            shown = go_sprint(template.value) if written is None else written
            raise EvaluationError(
                f"failed to substitute variables in context entry {self.name} {shown}: "
                f"{error.message}"
            ) from error

    def _query(self, path: str, default: Json, context: Context) -> Json:
        try:
            value = context.query_text(path)
        except EvaluationError as error:
            if default is None:
                raise self._failed(path, error.message) from error
            return default
        return default if value is None else value

    def _failed(self, path: str, cause: str) -> EvaluationError:
        return EvaluationError(f"failed to apply jmespath {path} to variable <nil>: {cause}")


def _template(value: Json) -> Template | None:
    return None if value is None else compile_template(value)


_PREDEFINED = (
    "images",
    "request",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
)


def entry_fault(entry: Body, namespaced: bool) -> str | None:
    """Return the fault of an entry, in Kyverno's words; namespaced: whether it is a Policy's."""
    name = entry.get("name") or ""
    if not name:
        return "a name is required for context entries"
    for reserved in _PREDEFINED:
        if name == reserved or name.startswith(f"{reserved}."):
            return (
                f"entry name {name} is invalid as it conflicts with a pre-defined variable "
                f"{reserved}"
            )
    kinds = [kind for kind in _KINDS if entry.get(kind) is not None]
    if len(kinds) != 1:
        return (
            "exactly one of configMap or apiCall or imageRegistry or variable is required for "
            "context entries"
        )
    if namespaced and kinds == ["globalReference"]:
        return NO_GLOBALS
    (kind,) = kinds
    for key in _REQUIRED.get(kind, ()):
        if not entry[kind].get(key):
            return f"a {key} is required for {kind} context entry"
    return _KINDS[kind](entry[kind])


def _variable_fault(body: Body) -> str | None:
    if fault := _path_fault(body):
        return fault
    path = body.get("jmesPath")
    if body.get("value") is None and not path:
        return "a variable must define a value or a jmesPath expression"
    if body.get("default") is not None and not path:
        return "a variable must define a default value only when a jmesPath expression is defined"
    return None


def _api_call_fault(body: Body) -> str | None:
    if body.get("urlPath") and body.get("service") is not None:
        return "a URLPath cannot be used for service API calls"
    return _path_fault(body)


def _image_fault(body: Body) -> str | None:
    reference = body.get("reference") or ""
    if not reference:
        return "a ref is required for imageRegistry context entry"
    if not has_variable(reference):
        from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image

        try:
            parse_image(reference)
        except ImageReferenceError as error:
            cause = str(error).rpartition(": ")[2]
            return f"bad image: {reference}: {cause}"
    return _path_fault(body)


def _path_fault(body: Body) -> str | None:
    path = body.get("jmesPath") or ""
    if not path or has_variable(path):
        return None
    try:
        compile_expression(path)
    except JMESPathError as error:
        return f"failed to parse JMESPath {path}: {error}"
    return None


_KINDS: dict[str, Callable[[Body], str | None]] = {
    "configMap": lambda _body: None,
    "apiCall": _api_call_fault,
    "globalReference": _path_fault,
    "imageRegistry": _image_fault,
    "variable": _variable_fault,
}
"""The check of each kind of entry, once it has its required fields."""
_REQUIRED = {"configMap": ("name", "namespace"), "globalReference": ("name",)}
