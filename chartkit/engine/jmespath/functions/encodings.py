"""Functions of texts and times: encodings (Base64, digests, JSON, YAML, certificates), names of
versions, images and hosts, and times and durations."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from collections.abc import Callable
from typing import Any, Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import function, functions, to_json
from chartkit.engine.jmespath.expression import FunctionError
from chartkit.engine.jmespath.nodes import current_sources
from chartkit.errors import InputError, Reraise
from chartkit.go.duration import SECOND, format_duration, parse_duration
from chartkit.go.fmt import go_json
from chartkit.go.json_decoder import parse_json, yaml_problem
from chartkit.go.strconv import NumberError, parse_int
from chartkit.go.time_layout import RFC3339, Moment, parse_time
from chartkit.go.types import decode_base64
from chartkit.model import Body, Json

_YAML: Final = 4
"""Steps of a character of YAML, which is read slowly."""


def _bytes(text: str) -> bytes:
    """The bytes of a text; what `base64_decode` could not read as text is as it was."""
    return text.encode("utf-8", "surrogateescape")


def _unsafe(digest: Callable[..., Any], text: str) -> str:
    """A digest that is not for security, in hexadecimal."""
    made: str = digest(_bytes(text), usedforsecurity=False).hexdigest()
    return made


@function("parse_yaml(string) any")
def parse_yaml(budget: Budget, text: str) -> Json:
    from chartkit.documents.reader import parse_yaml as read_yaml

    budget.spend(_YAML * len(text), "parse_yaml()")
    try:
        return read_yaml(text)
    except InputError as error:
        raise FunctionError(yaml_problem(text) or f"yaml: {error.message}") from error


@function("to_string(any) string")
def to_string(budget: Budget, value: Json) -> str:
    if isinstance(value, str):
        return value
    budget.weigh(value, "to_string()")
    return go_json(to_json(value))


@function("x509_decode(string) object")
def x509_decode(text: str) -> Body:
    from chartkit.go.x509 import CERTIFICATE, decode_pem

    kind, fields = decode_pem(text)
    if kind == CERTIFICATE:
        number = fields["SerialNumber"]
        try:
            fields["SerialNumber"] = float(number)
        except OverflowError:
            message = f"json: cannot unmarshal number {number} into Go value of type float64"
            raise FunctionError(message) from None
    return fields


_PRIVATE = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)


@function("semver_compare(string, string) bool")
def semver_compare(version: str, version_range: str) -> bool:
    from chartkit.engine.scalars.semver_range import SemverError, parse_range, parse_version

    try:
        parsed = parse_version(version)
    except SemverError:
        parsed = parse_version("0.0.0")
    return parse_range(version_range)(parsed)


@function("image_normalize(string) string")
def image_normalize(image: str) -> str:
    from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image

    with Reraise("JMESPath function 'image_normalize': ", ImageReferenceError, FunctionError):
        return str(parse_image(image))


@function("is_external_url(string) bool")
def is_external_url(url: str) -> bool:
    from chartkit.go.url import parse_url

    host = parse_url(url).host_name
    try:
        return _is_public(host)
    except ValueError:
        return all(map(_is_public, current_sources().resolve(host)))


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None) or parsed
    return not (mapped.is_loopback or any(mapped in network for network in _PRIVATE))


def _read(text: str) -> Moment:
    return parse_time(RFC3339, text)


def _now() -> Moment:
    return Moment(current_sources().now())


def _between(first: Moment, last: Moment) -> str:
    return format_duration(last.minus(first))


@function("time_since(string, string, string) string")
def time_since(layout: str, start: str, end: str) -> str:
    first = parse_time(layout or RFC3339, start)
    return _between(first, parse_time(layout or RFC3339, end) if end else _now())


@function("time_to_cron(string) string")
def time_to_cron(text: str) -> str:
    moment = _read(text)
    hour, minute = moment.hour_and_minute
    _, month, day = moment.date
    return f"{minute} {hour} {day} {month} {moment.weekday}"


@function("time_parse(string, string) string")
def time_parse(layout: str, text: str) -> str:
    try:
        parse_int(layout)
    except NumberError:
        return str(parse_time(layout, text))
    return str(Moment(parse_int(text) * SECOND))


@function("time_between(string, string, string) bool")
def time_between(text: str, start: str, end: str) -> bool:
    moment, first, last = _read(text), _read(start), _read(end)
    return first.nanoseconds < moment.nanoseconds < last.nanoseconds


@function("time_truncate(string, string) string")
def time_truncate(text: str, duration: str) -> str:
    moment = _read(text)
    return str(moment.truncated(parse_duration(duration)))


FUNCTIONS = functions(
    {
        "base64_decode(string) string": lambda text: decode_base64(text).decode(
            "utf-8", "surrogateescape"
        ),
        "base64_encode(string) string": lambda text: base64.b64encode(_bytes(text)).decode("ascii"),
        "sha256(string) string": lambda text: hashlib.sha256(_bytes(text)).hexdigest(),
        "sha1(string) string": lambda text: _unsafe(hashlib.sha1, text),
        "md5(string) string": lambda text: _unsafe(hashlib.md5, text),
        "parse_json(string) any": parse_json,
        "time_now() string": lambda: str(_now()),
        "time_now_utc() string": lambda: str(_now()),
        "time_add(string, string) string": lambda text, duration: str(
            _read(text).plus(parse_duration(duration))
        ),
        "time_utc(string) string": lambda text: str(_read(text).utc()),
        "time_diff(string, string) string": lambda start, end: _between(_read(start), _read(end)),
        "time_before(string, string) bool": lambda first, second: (
            _read(first).nanoseconds < _read(second).nanoseconds
        ),
        "time_after(string, string) bool": lambda first, second: (
            _read(first).nanoseconds > _read(second).nanoseconds
        ),
    }
)
