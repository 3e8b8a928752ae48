"""The context entry `variable`: a value, a JMESPath, a default, in every combination."""

from __future__ import annotations

from chartkit.engine.context.context import Context
from chartkit.engine.context.entries.loader import EntryLoader, Path, stored
from chartkit.engine.context.variables import SubstitutionError, Template, compile_template
from chartkit.engine.jmespath import JMESPathError
from chartkit.errors import EvaluationError
from chartkit.go.fmt import go_sprint
from chartkit.model import Json


class VariableLoader(EntryLoader):
    """Loads a variable. A default replaces a path that fails or finds null.

    Where a value is given as well, the path is applied to it, and null found there is an error.
    A default that cannot be substituted is an error even where it is not needed.
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
            output = self._search(path, value, default, context)
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
            found = context.query_text(path)
        except EvaluationError as error:
            if default is None:
                raise self._failed(path, error.message) from error
            return default
        return default if found is None else found

    def _search(self, path: str, value: Json, default: Json, context: Context) -> Json:
        try:
            expression = self._path.expression(path)
        except JMESPathError as error:
            if default is None:
                cause = f"failed to compile JMESPath: {path}, error: {error}"
                raise self._failed(path, cause) from error
            return default
        try:
            return expression.search(value, context.budget)
        except JMESPathError as error:
            if default is None:
                raise self._failed(path, str(error)) from error
            return default

    def _failed(self, path: str, cause: str) -> EvaluationError:
        return EvaluationError(f"failed to apply jmespath {path} to variable <nil>: {cause}")


def _template(value: Json) -> Template | None:
    return None if value is None else compile_template(value)
