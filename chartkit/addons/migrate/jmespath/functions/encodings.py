"""Texts encoded and decoded: Base64, digests, JSON and YAML."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.addons.migrate.differences import DECODED, READ_TEXTS
from chartkit.addons.migrate.expressions.place import TEXT
from chartkit.addons.migrate.jmespath.environment import Names
from chartkit.addons.migrate.jmespath.functions.declaration import FUNCTIONS, declare, text_or_field
from chartkit.addons.migrate.jmespath.terms import Term, computed
from chartkit.engine.cel.syntax import build as cel


@declare
def base64_encode(_names: Names, args: Sequence[Term]) -> Term:
    """A text in Base64."""
    data = cel.call("bytes", text_or_field(args[0]))
    return computed(cel.call("base64.encode", data), TEXT)


@declare
def base64_decode(names: Names, args: Sequence[Term]) -> Term:
    """The text that Base64 stands for."""
    names.note(DECODED)
    data = cel.call("base64.decode", text_or_field(args[0]))
    return computed(cel.call("string", data), TEXT)


@declare
def parse_json(names: Names, args: Sequence[Term]) -> Term:
    """The value of a JSON text."""
    names.note(READ_TEXTS)
    return computed(cel.method(cel.ident("json"), "unmarshal", text_or_field(args[0])))


@declare
def parse_yaml(names: Names, args: Sequence[Term]) -> Term:
    """The value of a YAML text."""
    names.note(READ_TEXTS)
    return computed(cel.method(cel.ident("yaml"), "parse", text_or_field(args[0])))


def _digests(*names: str) -> None:
    for name in names:

        def digest(_names: Names, args: Sequence[Term], function: str = f"hash.{name}") -> Term:
            return computed(cel.call(function, text_or_field(args[0])), TEXT)

        FUNCTIONS[name] = digest


_digests("sha1", "sha256", "md5")
