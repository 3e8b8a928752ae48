"""`kyverno.random`: texts made at random."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cel.declarations import Library, declared
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import prefixed
from chartkit.engine.cel.values import Value
from chartkit.errors import Reraise
from chartkit.go.random_text import RandomTextError, generate
from chartkit.go.regexp import RegexError

_DEFAULT = "[0-9a-z]{8}"
_CHARACTER = 8


def _work(_args: Sequence[Value], result: Value) -> int:
    """Of every character that is made: chance takes long."""
    return _CHARACTER * len(result) if isinstance(result, str) else 0


def _generate(host: Host, pattern: str) -> str:
    with Reraise("", (RegexError, RandomTextError), CelError):
        return generate(pattern, host.random_below)


random_text = prefixed("random_string: random.random(string) -> string", hosted=True, work=_work)(
    _generate
)


@prefixed("random_string_default_expr: random.random() -> string", hosted=True, work=_work)
def random_name(host: Host) -> str:
    return _generate(host, _DEFAULT)


LIBRARY = Library("kyverno.random", overloads=declared(globals()))
