"""Functions of texts: their parts, encodings and patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace as replaced
from typing import Final

from semver import Version

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import (
    ASCII_CASE,
    DECODED,
    IMAGE_PARTS,
    PARENT_FOLDERS,
    READ_TEXTS,
)
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import (
    CERTIFICATE,
    IMAGE_REFERENCE,
    QUANTITY,
    SIZE,
    TEXT,
    UNKNOWN,
    Place,
)
from chartkit.addons.migrate.expressions.presence import fits, fits_any_value, path_of
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction
from chartkit.addons.migrate.jmespath.functions.declaration import (
    constant_number,
    constant_text,
    declare,
    declare_as,
    of_field,
    of_text,
    text,
    text_or_field,
    there,
)
from chartkit.addons.migrate.jmespath.lists import NORMALIZED, part_of
from chartkit.addons.migrate.jmespath.terms import Constant, Names, Stream, Term, Value, computed
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import ListLiteral
from chartkit.engine.scalars.semver_range import SemverError, parse_range, read_range
from chartkit.go.regexp import RegexError, compile_regex, quote_meta

_PRINTED: Final = ("int", "bool", QUANTITY, "int-or-string")
_CLEANED: Final = """
(text.startsWith('/') ? '/' : '') +
text.findAll('[^/]+').filter(part, part != '.').join('/')
"""
"""A path without empty parts and dots."""
_BOOLEAN: Final = "{'true': true, 'false': false}[text.lowerAscii()]"
"""The boolean that a text spells, in any case of letters; any other text is an error."""
declare_as("base64_decode", "string(base64.decode(text))", TEXT, change=DECODED, text=of_field)
declare_as("base64_encode", "base64.encode(bytes(text))", TEXT, text=of_field)
declare_as("ends_with", "text.endsWith(part)", "bool", text=of_field, part=of_text)
declare_as("md5", "hash.md5(text)", TEXT, text=of_field)
declare_as("parse_json", "json.unmarshal(text)", UNKNOWN, change=READ_TEXTS, text=of_field)
declare_as("parse_yaml", "yaml.parse(text)", UNKNOWN, change=READ_TEXTS, text=of_field)
declare_as("path_canonicalize", _CLEANED, TEXT, change=PARENT_FOLDERS, text=of_field)
declare_as("sha1", "hash.sha1(text)", TEXT, text=of_field)
declare_as("sha256", "hash.sha256(text)", TEXT, text=of_field)
declare_as("starts_with", "text.startsWith(part)", "bool", text=of_field, part=of_text)
declare_as("to_boolean", _BOOLEAN, "bool", text=of_text)
declare_as("to_lower", "text.lowerAscii()", TEXT, change=ASCII_CASE, text=of_text)
declare_as("x509_decode", "x509.decode(text)", CERTIFICATE, text=of_field)
declare_as("to_upper", "text.upperAscii()", TEXT, change=ASCII_CASE, text=of_text)


@declare
def image_normalize(names: Names, args: Sequence[Term]) -> Term:
    """The full name of an image, with its registry and its digest or tag."""
    names.note(IMAGE_PARTS)
    image = Place(text(args[0]), (), IMAGE_REFERENCE)
    return Value(part_of(image, NORMALIZED))


@declare
def join(_names: Names, args: Sequence[Term]) -> Term:
    """Texts with a separator between them."""
    separator, parts = args
    match parts:
        case Value(Place(ListLiteral(elements))) if elements:
            glued = [
                part for element in elements for part in (text(separator), cel.undyned(element))
            ]
            return computed(cel.concat(*glued[1:]), TEXT)
        case Stream() if parts.item.type == TEXT:
            return computed(cel.method(parts.required().list(), "join", text(separator)), TEXT)
        case Value(place) if place.type == "[]string":
            return computed(cel.method(there(parts).value, "join", text(separator)), TEXT)
    raise NotConvertible("join of values that might not be strings")


@declare
def replace(_names: Names, args: Sequence[Term]) -> Term:
    """A text with so many occurrences of another replaced, all of them for less than none."""
    whole, old, new, most = args
    count = max(-1, constant_number(most, "a number of replacements"))
    arguments = (text(old), text(new), *((count,) if count >= 0 else ()))
    return computed(cel.method(text(whole), "replace", *arguments), TEXT)


@declare
def trim(_names: Names, args: Sequence[Term]) -> Term:
    """A text without characters at both ends."""
    whole, characters = args
    written = constant_text(characters, "the characters that are trimmed")
    if not written:
        return computed(text(whole), TEXT)
    ends = "|".join(map(quote_meta, dict.fromkeys(written)))
    return computed(cel.call("regex.replace", text(whole), f"^({ends})+|({ends})+$", ""), TEXT)


@declare
def trim_prefix(_names: Names, args: Sequence[Term]) -> Term:
    """A text without another at its start, where it has it."""
    whole, prefix = args
    written = constant_text(prefix, "a prefix")
    start = f"^{quote_meta(written)}"
    return computed(cel.call("regex.replace", text(whole), start, ""), TEXT)


@declare
def truncate(_names: Names, args: Sequence[Term]) -> Term:
    """The first characters of a text."""
    whole, length = args
    most = max(0, constant_number(length, "a length"))
    cut = "text.size() > most ? text.substring(0, most) : text"
    return computed(cel.filled(cut, text=text(whole), most=most), TEXT)


@declare
def equal_fold(_names: Names, args: Sequence[Term]) -> Term:
    """Report whether two texts are equal but for the case of letters; one must be written out."""
    first, second = args
    constant, other = (first, second) if isinstance(first, Constant) else (second, first)
    written = quote_meta(constant_text(constant, "the other text of equal_fold"))
    return computed(cel.method(text(other), "matches", f"(?is)^{written}$"), "bool")


@declare
def to_string(_names: Names, args: Sequence[Term]) -> Term:
    """A text as it is, another value as JSON."""
    (term,) = args
    if isinstance(term, Stream):
        written = cel.call("json.marshal", term.list())
        is_there = term.presence
        return computed(
            written if is_there == cel.TRUE else cel.conditional(is_there, written, _NULL), TEXT
        )
    if not isinstance(term, Value):
        raise NotConvertible("to_string of a value that is computed")
    place = term.place
    # What is not there is null, whose text this is, too.
    is_null = place.is_optional
    if place.type == "double":
        # Read as a size, every way of writing a number is the same.
        return replaced(term, place=replaced(place, type=QUANTITY))
    if place.type == TEXT:
        return computed(place.or_value(_NULL) if is_null else place.value, TEXT)
    if place.type == SIZE:
        return term
    is_holder = place.is_list or place.is_map
    if not place.is_known and place.assumed is not None:
        raise NotConvertible("to_string of a value whose type is not known")
    if not place.is_known or (is_holder and is_null):
        return computed(_printed(place.or_value(_NULL) if is_null else place.value), TEXT)
    if is_holder:
        return computed(cel.call("json.marshal", place.value), TEXT)
    if place.type not in _PRINTED:
        raise NotConvertible("to_string of a value of this type")
    written = cel.call("string", place.value)
    return computed(
        cel.conditional(place.is_present(), written, _NULL) if is_null else written, TEXT
    )


_NULL: Final = "null"


def _printed(value: Expr) -> Expr:
    """Return a text as it is, and another value as JSON."""
    if path_of(value) is None:
        return cel.bind("value", value, _printed(cel.ident("value")))
    is_text = cel.equal(cel.call("type", value), cel.ident("string"))
    return cel.conditional(is_text, value, cel.call("json.marshal", value))


_GROUP: Final = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")
_MOST_GROUPS: Final = 9


@declare
def regex_match(_names: Names, args: Sequence[Term]) -> Term:
    """Report whether a text matches a regular expression of RE2, which CEL has, too."""
    expression, searched = args
    if isinstance(searched, Value) and searched.place.type not in (TEXT, UNKNOWN):
        raise NotConvertible("a regular expression on a value that might not be a string")
    return computed(cel.method(text(searched), "matches", text(expression)), "bool")


@declare
def regex_replace_all(_names: Names, args: Sequence[Term]) -> Term:
    """A text with the matches of a regular expression replaced, groups by their numbers."""
    expression, searched, replacement = args
    groups = _groups(expression)
    template = constant_text(replacement, "a replacement")

    def reference(match: re.Match[str]) -> str:
        if match[1]:
            return "$"
        group = match[2] or match[3]
        if not group.isdecimal() or int(group) > _MOST_GROUPS:
            raise NotConvertible(f"the replacement {template} names a group that is not a number")
        # A group that the expression does not have is empty.
        return f"\\{int(group)}" if int(group) <= groups else ""

    written = _GROUP.sub(reference, template.replace("\\", "\\\\"))
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


@declare
def pattern_match(_names: Names, args: Sequence[Term]) -> Term:
    """Report whether a text fits a pattern with wildcards."""
    pattern, searched = args
    if isinstance(pattern, Constant):
        whole = text(searched)
        test = fits(whole, constant_text(pattern, "a pattern"))
        # What is not there is an error for every pattern.
        is_text = cel.compare(">=", cel.method(whole, "size"), 0)
        return computed(is_text if test == cel.TRUE else test, "bool")
    return computed(fits_any_value(text(searched), text(pattern)), "bool")


@declare
def random(_names: Names, args: Sequence[Term]) -> Term:
    """A text made at random; without a pattern, JMESPath's function fails and CEL's does not."""
    written = constant_text(args[0], "a pattern of random texts")
    if not written:
        raise NotConvertible("the function random fails without a pattern")
    return computed(cel.call("random.random", written), TEXT)


@declare
def semver_compare(_names: Names, args: Sequence[Term]) -> Term:
    """Report whether a version is in a range; a text that is not a version counts as 0.0.0."""
    version, range_ = args
    written = constant_text(range_, "a range of versions")
    try:
        alternatives = read_range(written)
        is_default = parse_range(written)(Version(0, 0, 0))
    except SemverError as error:
        raise NotConvertible(f"the range {written} is malformed: {error}") from None
    value = text_or_field(version)
    read = cel.call("semver", value)
    inside = disjunction(
        *(
            conjunction(*(_ordered(read, sign, str(other)) for sign, other in alternative))
            for alternative in alternatives
        )
    )
    is_version = cel.call("isSemver", value)
    if is_default:
        return computed(disjunction(cel.negate(is_version), inside), "bool")
    return computed(conjunction(is_version, inside), "bool")


def _ordered(version: Expr, sign: str, other: str) -> Expr:
    compared = cel.method(version, "compareTo", cel.call("semver", other))
    return cel.compare(_SIGNS.get(sign, sign), compared, 0)


_SIGNS: Final = {"": "==", "=": "==", "!": "!="}
