"""`kyverno.random`: texts made at random."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cel.declarations import Example, Library, declared
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import prefixed
from chartkit.engine.cel.types import STRING
from chartkit.engine.cel.values import Value
from chartkit.go.random_text import RandomTextError, generate
from chartkit.go.regexp import RegexError

_DEFAULT = "[0-9a-z]{8}"
_CHARACTER = 8


def _work(_args: Sequence[Value], result: Value) -> int:
    """Of every character that is made: chance takes long."""
    return _CHARACTER * len(result) if isinstance(result, str) else 0


def _generate(host: Host, pattern: str) -> str:
    try:
        return generate(pattern, host.random_below)
    except (RegexError, RandomTextError) as error:
        raise CelError(str(error)) from None


@prefixed(
    "random",
    "random",
    "random_string",
    STRING,
    returns=STRING,
    hosted=True,
    work=_work,
    doc="A text made at random that matches a regular expression of the POSIX kind: "
    "`\\d` and its like are refused.",
    examples=(
        Example("random.random('[a-c]{4}').matches('^[a-c]{4}$')", "true"),
        Example(
            r"random.random('\\d')",
            r"error parsing regexp: invalid escape sequence: `\d`",
            error=True,
        ),
    ),
)
def random_text(host: Host, pattern: str) -> str:
    return _generate(host, pattern)


@prefixed(
    "random",
    "random",
    "random_string_default_expr",
    returns=STRING,
    hosted=True,
    work=_work,
    doc="Eight digits and small letters at random.",
    examples=(Example("size(random.random())", "8"),),
)
def random_name(host: Host) -> str:
    return _generate(host, _DEFAULT)


LIBRARY = Library("kyverno.random", overloads=declared(globals()), doc="Texts made at random.")
