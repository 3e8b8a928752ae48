"""Regular expressions (RE2 in both languages), wildcards and semantic versions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from semver import Version

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import TEXT
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction
from chartkit.addons.migrate.expressions.wildcards import fits, fits_any_value
from chartkit.addons.migrate.jmespath.environment import Names
from chartkit.addons.migrate.jmespath.functions.declaration import (
    constant_text,
    declare,
    text,
    text_or_field,
)
from chartkit.addons.migrate.jmespath.terms import Constant, Term, Value, computed
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.scalars.semver_range import SemverError, parse_range, read_range
from chartkit.go.regexp import RegexError, compile_regex

_GROUP: Final = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")
_MOST_GROUPS: Final = 9


@declare
def regex_match(_names: Names, args: Sequence[Term]) -> Term:
    """Return whether a text matches a regular expression of RE2, which CEL has, too."""
    expression, searched = args
    if isinstance(searched, Value) and searched.place.type != TEXT:
        raise NotConvertible("a regular expression on a value that may be no text")
    return computed(cel.method(text(searched), "matches", text(expression)), "bool")


@declare
def regex_replace_all(_names: Names, args: Sequence[Term]) -> Term:
    """A text with the matches of a regular expression replaced, groups by their numbers."""
    expression, searched, replacement = args
    groups = _groups(expression)
    written = _replacement(constant_text(replacement, "a replacement"), groups)
    return _replaced(searched, expression, cel.literal(written))


@declare
def regex_replace_all_literal(_names: Names, args: Sequence[Term]) -> Term:
    """A text with the matches of a regular expression replaced by another as it is."""
    expression, searched, replacement = args
    _groups(expression)
    match replacement:
        case Constant(str() as value):
            written = cel.literal(value.replace("\\", "\\\\"))
        case _:
            written = cel.method(text_or_field(replacement), "replace", "\\", "\\\\")
    return _replaced(searched, expression, written)


def _replaced(searched: Term, expression: Term, replacement: Expr) -> Term:
    arguments = (text_or_field(searched), text(expression), replacement)
    return computed(cel.call("regex.replace", *arguments), TEXT)


def _groups(expression: Term) -> int:
    """Return how many groups a regular expression has, which must be written out."""
    written = constant_text(expression, "a regular expression")
    try:
        return compile_regex(written).groups
    except RegexError as error:
        raise NotConvertible(f"the regular expression {written} is malformed: {error}") from None


def _replacement(template: str, groups: int) -> str:
    """Return a replacement of Go (`$1`) as one of CEL (`\\1`)."""

    def reference(found: re.Match[str]) -> str:
        if found[1]:
            return "$"
        group = found[2] or found[3]
        if not group.isdecimal() or int(group) > _MOST_GROUPS:
            raise NotConvertible(f"the replacement {template} names a group that is no number")
        # A group that the expression does not have is empty.
        return f"\\{int(group)}" if int(group) <= groups else ""

    return _GROUP.sub(reference, template.replace("\\", "\\\\"))


@declare
def pattern_match(_names: Names, args: Sequence[Term]) -> Term:
    """Return whether a text fits a pattern with wildcards."""
    pattern, searched = args
    if isinstance(pattern, Constant):
        return computed(fits(text(searched), constant_text(pattern, "a pattern")), "bool")
    return computed(fits_any_value(text(searched), text(pattern)), "bool")


@declare
def semver_compare(_names: Names, args: Sequence[Term]) -> Term:
    """Return whether a version is in a range; a text that is no version counts as 0.0.0."""
    version, range_ = args
    written = constant_text(range_, "a range of versions")
    try:
        alternatives = read_range(written)
        is_default = parse_range(written)(Version(0, 0, 0))
    except SemverError as error:
        raise NotConvertible(f"the range {written} is malformed: {error}") from None
    found = text_or_field(version)
    read = cel.call("semver", found)
    inside = disjunction(
        *(
            conjunction(*(_ordered(read, sign, str(other)) for sign, other in each))
            for each in alternatives
        )
    )
    is_version = cel.call("isSemver", found)
    if is_default:
        return computed(disjunction(cel.negate(is_version), inside), "bool")
    return computed(conjunction(is_version, inside), "bool")


def _ordered(version: Expr, sign: str, other: str) -> Expr:
    compared = cel.method(version, "compareTo", cel.call("semver", other))
    return cel.compare(_SIGNS.get(sign, sign), compared, 0)


_SIGNS: Final = {"": "==", "=": "==", "!": "!="}
