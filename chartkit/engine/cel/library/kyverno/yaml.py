"""`kyverno.yaml`: YAML read as Kubernetes reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.kyverno.spellings import Context, context_variable
from chartkit.engine.cel.library.printing import doubles
from chartkit.engine.cel.values import Value
from chartkit.errors import InputError
from chartkit.go.yaml_errors import yaml_problem

_VARIABLES = context_variable("yaml", "yaml.Yaml")
_READING: Final = 64
_FAILED: Final = "error converting YAML to JSON: "


def _work(args: Sequence[Value], _result: Value) -> int:
    """Of every character that is read."""
    text = args[1]
    return _READING + len(text) * 3 // 2 if isinstance(text, str) else 0


@overload("parse_string_dyn: yaml.Yaml.parse(string) -> dyn", work=_work)
def parse(_yaml: Context, text: str) -> Value:
    from chartkit.documents.reader import parse_yaml

    try:
        return doubles(parse_yaml(text))
    except InputError as error:
        problem = yaml_problem(text) or f"yaml: {error.message}"
        raise CelError(_FAILED + problem) from None


LIBRARY = Library("kyverno.yaml", overloads=declared(globals()), variables=_VARIABLES)
