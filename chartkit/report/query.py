"""JMESPath over JSON reports, in the standard's dialect, as the command line of AWS has it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError, ParseError

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.model import Json
from chartkit.report.formats import QUERIED
from chartkit.report.json_report import json_text


@dataclass(frozen=True, slots=True)
class Query:
    """An expression that chooses a part of a JSON report."""

    text: str
    compiled: Any

    @classmethod
    def parse(cls, text: str) -> Query:
        """Compile an expression; raise InputError with its column."""
        try:
            return cls(text, jmespath.compile(text))
        except ParseError as error:
            raise _wrong(text, f"column {error.lex_position + 1}: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            raise _wrong(text, str(error)) from None

    def written(self, report: Iterable[str], form: str) -> str:
        """Return the part of a JSON report in a format; raise InputError for an expression that
        does not fit the report."""
        try:
            value: Json = self.compiled.search(json.loads("".join(report)))
            json.dumps(value)
        except (JMESPathError, RecursionError, TypeError) as error:
            raise _wrong(self.text, str(error)) from None
        if form == "yaml":
            return dump_yaml(value)
        if form == "json":
            return f"{json_text(value)}\n"
        rows = value if isinstance(value, list) else [value]
        return "".join(f"{json_text(row, indent=None)}\n" for row in rows)


def queried(formats: Sequence[str], query: str | None) -> Query | None:
    """Return the compiled query; raise InputError for one that no format takes."""
    if query is None:
        return None
    if not set(formats) & set(QUERIED):
        hint = f"add -o {', -o '.join(QUERIED[:-1])} or -o {QUERIED[-1]}"
        raise InputError("--query chooses a part of a JSON report, and none is written", hint=hint)
    return Query.parse(query)


def _wrong(text: str, reason: str) -> InputError:
    message = f"--query '{text}' is not JMESPath that fits: {' '.join(reason.split())}"
    return InputError(message, hint="https://jmespath.org/specification.html has the language")
