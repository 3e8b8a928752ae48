"""Functions of texts and times: encodings (Base64, digests, JSON, YAML, certificates), names of
versions, images and hosts, and times and durations."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from collections.abc import Callable
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import FunctionSpec, function, to_json
from chartkit.engine.jmespath.expression import FunctionError
from chartkit.engine.jmespath.nodes import current_sources
from chartkit.errors import InputError, Reraise
from chartkit.go.duration import SECOND, format_duration, parse_duration
from chartkit.go.fmt import go_json
from chartkit.go.json_decoder import parse_json as read_json
from chartkit.go.json_decoder import yaml_problem
from chartkit.go.strconv import NumberError, parse_int
from chartkit.go.time_layout import RFC3339, Moment, parse_time
from chartkit.go.types import decode_base64
from chartkit.model import Body, Json

_YAML: Final = 4
"""Steps of a character of YAML, which is read slowly."""


def _bytes(text: str) -> bytes:
    """The bytes of a text; what `base64_decode` could not read as text is as it was."""
    return text.encode("utf-8", "surrogateescape")


@function("base64_decode(string) string", "base64_decode('aGVsbG8=')")
def base64_decode(text: str) -> str:
    """Decode Base64 to text."""
    return decode_base64(text).decode("utf-8", "surrogateescape")


@function("base64_encode(string) string", "base64_encode('hello')")
def base64_encode(text: str) -> str:
    """A text in Base64."""
    return base64.b64encode(_bytes(text)).decode("ascii")


def _digest(name: str, make: Callable[[bytes], str], bits: str) -> FunctionSpec:
    def digest(text: str) -> str:
        return make(_bytes(text))

    digest.__doc__ = f"The {bits} digest of a text, in hexadecimal."
    return function(f"{name}(string) string", f"{name}('hello')")(digest)


sha256 = _digest("sha256", lambda data: hashlib.sha256(data).hexdigest(), "SHA-256")
sha1 = _digest("sha1", lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(), "SHA-1")
md5 = _digest("md5", lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(), "MD5")


@function("parse_json(string) any", "parse_json('{\"a\": 1}')")
def parse_json(text: str) -> Json:
    """The value of a JSON text."""
    return read_json(text)


@function("parse_yaml(string) any", "parse_yaml('a: 1')")
def parse_yaml(budget: Budget, text: str) -> Json:
    """The value of a YAML text, read as Kubernetes reads YAML."""
    from chartkit.documents.reader import parse_yaml as read_yaml

    budget.spend(_YAML * len(text), "parse_yaml()")
    try:
        return read_yaml(text)
    except InputError as error:
        raise FunctionError(yaml_problem(text) or f"yaml: {error.message}") from error


@function("to_string(any) string", "to_string(request.object.metadata.labels)")
def to_string(budget: Budget, value: Json) -> str:
    """A text as it is; anything else as JSON."""
    if isinstance(value, str):
        return value
    budget.weigh(value, "to_string()")
    return go_json(to_json(value))


@function(
    "x509_decode(string) object",
    'x509_decode(base64_decode(request.object.data."tls.crt")).Subject.CommonName',
)
def x509_decode(text: str) -> Body:
    """The fields of an RSA certificate or certificate request in PEM."""
    from chartkit.go.x509 import CERTIFICATE, decode_pem

    kind, fields = decode_pem(text)
    if kind == CERTIFICATE:
        fields["SerialNumber"] = _serial_number(fields["SerialNumber"])
    return fields


def _serial_number(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        message = f"json: cannot unmarshal number {number} into Go value of type float64"
        raise FunctionError(message) from None


_PRIVATE = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)


@function("semver_compare(string, string) bool", "semver_compare('1.27.3', '>=1.26.0 <1.28.0')")
def semver_compare(version: str, version_range: str) -> bool:
    """Report whether a version is in a range; a text that is not a version counts as 0.0.0."""
    from chartkit.engine.scalars.semver_range import SemverError, parse_range, parse_version

    try:
        parsed = parse_version(version)
    except SemverError:
        parsed = parse_version("0.0.0")
    return parse_range(version_range)(parsed)


@function("image_normalize(string) string", "image_normalize('nginx')")
def image_normalize(image: str) -> str:
    """An image's full name, with its registry and its tag or digest."""
    from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image

    with Reraise("JMESPath function 'image_normalize': ", ImageReferenceError, FunctionError):
        return str(parse_image(image))


@function("is_external_url(string) bool", "is_external_url('https://10.0.0.1/')")
def is_external_url(url: str) -> bool:
    """Report whether a URL's host is neither this machine nor in a private network."""
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


@function(
    "time_since(string, string, string) string",
    "time_since('', request.object.metadata.creationTimestamp, '')",
)
def time_since(layout: str, start: str, end: str) -> str:
    """The duration from a time to another, or to now; both in a layout or in RFC 3339."""
    first = parse_time(layout or RFC3339, start)
    last = parse_time(layout or RFC3339, end) if end else _now()
    return format_duration(last.minus(first))


@function("time_now() string", "time_now()")
def time_now() -> str:
    """The time now; the engine's clock runs in UTC."""
    return str(_now())


@function("time_now_utc() string", "time_now_utc()")
def time_now_utc() -> str:
    """The time now in UTC."""
    return str(_now())


@function("time_to_cron(string) string", "time_to_cron('2024-05-06T07:08:00Z')")
def time_to_cron(text: str) -> str:
    """The cron expression of a time."""
    moment = _read(text)
    hour, minute = moment.hour_and_minute
    _, month, day = moment.date
    return f"{minute} {hour} {day} {month} {moment.weekday}"


@function("time_add(string, string) string", "time_add(time_now_utc(), '4h')")
def time_add(text: str, duration: str) -> str:
    """A time so much later."""
    return str(_read(text).plus(parse_duration(duration)))


@function("time_parse(string, string) string", "time_parse('2006-01-02', '2024-05-06')")
def time_parse(layout: str, text: str) -> str:
    """A time in a layout, or in seconds since 1970 where the layout is a number, in RFC 3339."""
    try:
        parse_int(layout)
    except NumberError:
        return str(parse_time(layout, text))
    return str(Moment(parse_int(text) * SECOND))


@function("time_utc(string) string", "time_utc('2024-05-06T07:08:00+02:00')")
def time_utc(text: str) -> str:
    """A time shown in UTC."""
    return str(_read(text).utc())


@function(
    "time_diff(string, string) string", "time_diff('2024-05-06T07:00:00Z', '2024-05-06T08:30:00Z')"
)
def time_diff(start: str, end: str) -> str:
    """The duration from the first time to the second."""
    first = _read(start)
    return format_duration(_read(end).minus(first))


@function("time_before(string, string) bool", "time_before('2024-05-06T07:00:00Z', time_now_utc())")
def time_before(first: str, second: str) -> bool:
    """Report whether the first time is before the second."""
    return _read(first).nanoseconds < _read(second).nanoseconds


@function("time_after(string, string) bool", "time_after(time_now_utc(), '2024-05-06T07:00:00Z')")
def time_after(first: str, second: str) -> bool:
    """Report whether the first time is after the second."""
    return _read(first).nanoseconds > _read(second).nanoseconds


@function(
    "time_between(string, string, string) bool",
    "time_between(time_now_utc(), '2024-05-06T07:00:00Z', '2024-05-06T08:00:00Z')",
)
def time_between(text: str, start: str, end: str) -> bool:
    """Report whether a time is after the second and before the third."""
    moment, first, last = _read(text), _read(start), _read(end)
    return first.nanoseconds < moment.nanoseconds < last.nanoseconds


@function("time_truncate(string, string) string", "time_truncate('2024-05-06T07:08:09Z', '1h')")
def time_truncate(text: str, duration: str) -> str:
    """A time rounded down to a multiple of a duration."""
    moment = _read(text)
    return str(moment.truncated(parse_duration(duration)))
