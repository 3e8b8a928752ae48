"""Kyverno's functions of values: rounding, digests, certificates, YAML, times, chance, users, lists
made into maps, compressed texts."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel.declarations import (
    Library,
    StructType,
    Variable,
    overload,
    type_constants,
)
from chartkit.engine.cel.errors import CelError, Stopped
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import Context, context_variable, prefixed
from chartkit.engine.cel.library.printing import NO_TYPE, content, doubles, text_of
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import STRING, Type, struct
from chartkit.engine.cel.values import OptionalValue, Struct, Uint, Value
from chartkit.errors import InputError, Reraise
from chartkit.go.json_decoder import yaml_problem
from chartkit.go.random_text import RandomTextError, generate
from chartkit.go.regexp import RegexError
from chartkit.go.strconv import wrapped
from chartkit.go.x509 import CERTIFICATE, CertificateError, decode_pem
from chartkit.model import Body


@overload("math_round_float_int: math.round(double, int) -> double")
def round_decimals(number: float, decimals: int) -> float:
    try:
        shift = 10.0**decimals
    except OverflowError:
        shift = math.inf
    scaled = number * shift
    if not math.isfinite(scaled):
        rounded = scaled
    else:
        whole = math.trunc(scaled)
        if abs(scaled - whole) >= 0.5:
            whole += 1 if scaled > 0 else -1
        rounded = math.copysign(float(whole), scaled)
    if shift:
        return rounded / shift
    return math.nan if not rounded or math.isnan(rounded) else math.copysign(math.inf, rounded)


MATH: Final = Library("kyverno.math", (round_decimals,))


def _digest(name: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(
        name, text.encode("utf-8", "surrogatepass"), usedforsecurity=False
    ).hexdigest()


_DIGESTS: Final = tuple(
    digest
    for name in ("sha1", "sha256", "md5")
    for digest in prefixed(f"{name}_string: hash.{name}(string) -> string")(_digest(name))
)

HASH: Final = Library(
    "kyverno.hash",
    overloads=_DIGESTS,
    # Kyverno's library brings this name, and nothing uses it.
    variables=MappingProxyType({"mylib_version": Variable(STRING, "", has_value=True)}),
)


_LEFT_OUT: Final = frozenset(
    {
        *("InhibitAnyPolicy", "InhibitAnyPolicyZero", "InhibitPolicyMapping"),
        *("InhibitPolicyMappingZero", "Policies", "PolicyMappings", "RequireExplicitPolicy"),
        *("RequireExplicitPolicyZero", "SignatureAlgorithm", "Subject", "SubjectKeyId"),
        *("URIs", "UnhandledCriticalExtensions", "UnknownExtKeyUsage", "Version"),
    }
)
"""Fields of Go's certificate that Kyverno does not hand on."""


@overload("x509_decode_string: x509.decode(string) -> dyn")
def decode_certificate(text: str) -> Value:
    with Reraise("", CertificateError, CelError):
        kind, fields = decode_pem(text)
    return doubles(_certificate(fields) if kind == CERTIFICATE else fields)


def _certificate(fields: Body) -> Body:
    kept = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    # Kyverno takes the serial number's lowest 64 bits, whatever its length.
    kept["SerialNumber"] = wrapped(fields["SerialNumber"])
    return kept


X509: Final = Library("kyverno.x509", (decode_certificate,))


_YAML: Final = context_variable("yaml", "yaml.Yaml")
_READING: Final = 64
_FAILED: Final = "error converting YAML to JSON: "


def _reading_work(args: Sequence[Value], _result: Value) -> int:
    """Of every character that is read."""
    text = args[1]
    return _READING + len(text) * 3 // 2 if isinstance(text, str) else 0


@overload("parse_string_dyn: yaml.Yaml.parse(string) -> dyn", work=_reading_work)
def parse(_yaml: Context, text: str) -> Value:
    from chartkit.documents.reader import parse_yaml

    try:
        return doubles(parse_yaml(text))
    except InputError as error:
        problem = yaml_problem(text) or f"yaml: {error.message}"
        raise CelError(_FAILED + problem) from None


YAML: Final = Library("kyverno.yaml", (parse,), variables=_YAML)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS_A_WEEK: Final = 7
_THURSDAY: Final = 4
"""The day of the week of 1970-01-01."""


@overload("time_now: time.now() -> timestamp", hosted=True)
def now(host: Host) -> Timestamp:
    moment = host.now()
    zone = moment.utcoffset() or timedelta()
    microseconds = (moment - _EPOCH) // timedelta(microseconds=1)
    return Timestamp(microseconds * 1_000, int(zone.total_seconds()))


@overload("time_truncate: time.truncate(timestamp, duration) -> timestamp")
def truncate(timestamp: Timestamp, unit: Duration) -> Timestamp:
    moment = timestamp.moment.truncated(unit.nanoseconds)
    return replace(timestamp, nanoseconds=moment.nanoseconds)


@overload("time_to_cron: time.toCron(timestamp) -> string")
def to_cron(timestamp: Timestamp) -> str:
    hour, minute, _, _ = timestamp.time_of_day
    _, month, day = timestamp.moment.date
    days = (timestamp.seconds + timestamp.offset) // 86_400
    return f"{minute} {hour} {day} {month} {(days + _THURSDAY) % _DAYS_A_WEEK}"


TIME: Final = Library("kyverno.time", (now, truncate, to_cron))


_DEFAULT = "[0-9a-z]{8}"
_CHARACTER = 8


def _chance_work(_args: Sequence[Value], result: Value) -> int:
    """Of every character that is made: chance takes long."""
    return _CHARACTER * len(result) if isinstance(result, str) else 0


def _generate(host: Host, pattern: str) -> str:
    with Reraise("", (RegexError, RandomTextError), CelError):
        return generate(pattern, host.random_below)


random_text = prefixed(
    "random_string: random.random(string) -> string", hosted=True, work=_chance_work
)(_generate)


@prefixed("random_string_default_expr: random.random() -> string", hosted=True, work=_chance_work)
def random_name(host: Host) -> str:
    return _generate(host, _DEFAULT)


RANDOM: Final = Library("kyverno.random", (*random_text, *random_name))


SERVICE_ACCOUNT: Final = named(struct("user.ServiceAccount"))
_PREFIX: Final = "system:serviceaccount:"


@prefixed("parse_service_account_string: user.parseServiceAccount(string) -> user.ServiceAccount")
def parse_service_account(user: str) -> Struct:
    namespace, colon, name = user.removeprefix(_PREFIX).partition(":")
    if not user.startswith(_PREFIX) or not colon:
        return _service_account({})
    return _service_account({"Name": name, "Namespace": namespace})


def _service_account(fields: Mapping[str, Value]) -> Struct:
    """The value; as in Go, an empty field counts as one that was not set."""
    filled = {key: text for key, text in fields.items() if text}
    return Struct(SERVICE_ACCOUNT, filled, _UNSET)


_UNSET: Final = MappingProxyType({"Name": "", "Namespace": ""})
_FIELDS: Final = MappingProxyType({"Name": STRING, "Namespace": STRING})

USER: Final = Library(
    "kyverno.user",
    overloads=parse_service_account,
    structs=(StructType(SERVICE_ACCOUNT.name, _FIELDS, _service_account),),
    variables=MappingProxyType(type_constants(SERVICE_ACCOUNT)),
)


_GO_TYPES: Final[dict[type, str]] = {
    bool: "bool",
    bytes: "[]uint8",
    float: "float64",
    int: "int64",
    list: "[]interface {}",
    str: "string",
    type(None): "structpb.NullValue",
    Uint: "uint64",
}
_NO_VALUE_OBJECT: Final = "object cannot be handled as a map string to any in the value object list"


@prefixed(
    "list_of_object_to_map: "
    "transform.listObjToMap(list(dyn), list(dyn), string, string) -> map(dyn, dyn)"
)
def list_of_objects_to_map(
    keys: list[Value], values: list[Value], key_name: str, value_name: str
) -> dict[Value, Value]:
    if len(keys) != len(values):
        lengths = f"list1: {len(keys)}, list2: {len(values)}"
        raise CelError(f"listObjToMap must take lists of equal length. {lengths}")
    keys, values = [_native(key) for key in keys], [_native(value) for value in values]
    entries: dict[Value, Value] = {}
    for key_object, value_object in zip(keys, values, strict=True):
        key = _fields(key_object, None).get(key_name)
        if not isinstance(key, str):
            message = "the passed key name cannot be handled as a string in the key object list"
            raise CelError(message)
        entries[key] = _fields(value_object, _NO_VALUE_OBJECT).get(value_name)
    return entries


def _native(value: Value) -> Value:
    """The value with every optional in it replaced by what it holds; raises `CelError`."""
    if isinstance(value, OptionalValue):
        return _native(content(value))
    if isinstance(value, Type):
        raise CelError(NO_TYPE)
    if isinstance(value, list):
        return [_native(member) for member in value]
    if isinstance(value, dict):
        return {_native_key(key): _native(member) for key, member in value.items()}
    return value


def _native_key(key: Value) -> Value:
    native = _native(key)
    if isinstance(native, list | dict):
        kind = "map[interface {}]interface {}" if isinstance(native, dict) else "[]interface {}"
        raise Stopped(f"internal error: runtime error: hash of unhashable type {kind}")
    return native


def _fields(value: Value, problem: str | None) -> dict[Value, Value]:
    if not isinstance(value, dict):
        kind = _GO_TYPES.get(value.__class__, value.__class__.__name__)
        wanted = "map[interface {}]interface {}"
        raise Stopped(
            f"internal error: interface conversion: interface {{}} is {kind}, not {wanted}"
        )
    for key in value:
        if not isinstance(key, str):
            kind = _GO_TYPES.get(key.__class__, key.__class__.__name__)
            raise CelError(problem or f"failed to convert key to a string, {kind}")
    return value


TRANSFORM: Final = Library("kyverno.transform", overloads=list_of_objects_to_map)


_HEADER: Final = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
_EMPTY_LAST_BLOCK: Final = b"\x01\x00\x00\xff\xff"
_EMPTY_BLOCK_BITS: Final = 32
_LONGEST_PADDING: Final = 16
_MAX_SIZE: Final = 16 * 1024 * 1024
"""The largest unpacked text: a compressed one can be a thousandth of its size."""

_CHARACTERS: Final = 5
"""Characters that are as much work as one member of a list."""

_MIN_HEADER: Final = 10
_GZIP: Final = 16 + zlib.MAX_WBITS


def _compressing_work(args: Sequence[Value], _result: Value) -> int:
    """Of all that is compressed, for the result may be small."""
    data = args[0]
    return len(data) // _CHARACTERS if isinstance(data, str | bytes) else 0


@overload("compress_any_bytes: gzip.compress(dyn) -> bytes", work=_compressing_work)
def compress(value: Value) -> bytes:
    data = text_of(value).encode("utf-8", "replace")
    size = (len(data) & 0xFFFF_FFFF).to_bytes(4, "little")
    trailer = zlib.crc32(data).to_bytes(4, "little") + size
    return _HEADER + _deflated(data) + trailer


def _deflated(data: bytes) -> bytes:
    """The data as Go ends it: with an empty stored block, which is marked as the last one."""
    if not data:
        return _EMPTY_LAST_BLOCK
    deflater = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    flushed = deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH)
    end = len(flushed) * 8 - _EMPTY_BLOCK_BITS
    # The empty block begins with three bits somewhere in the byte or two before its length; the
    # first of them says whether it is the last.
    for bit in range(end - 1, end - 1 - _LONGEST_PADDING, -1):
        closed = bytearray(flushed)
        closed[bit // 8] |= 1 << bit % 8
        deflated = bytes(closed)
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            is_whole = inflater.decompress(deflated) == data and inflater.eof
        except zlib.error:
            is_whole = False
        if is_whole:
            return bytes(closed)
    raise AssertionError("a flushed stream ends with an empty block")


@overload("decompress_bytes_string: gzip.decompress(bytes) -> string")
def decompress(data: bytes) -> str:
    parts: list[bytes] = []
    left = _MAX_SIZE
    if not data:
        raise CelError("EOF")
    while data:
        if len(data) < _MIN_HEADER:
            raise CelError("unexpected EOF")
        inflater = zlib.decompressobj(_GZIP)
        try:
            content = inflater.decompress(data, left)
        except zlib.error as error:
            message = str(error)
            if "header" in message or "compression method" in message:
                fault = "gzip: invalid header"
            elif "data check" in message or "length check" in message:
                fault = "gzip: invalid checksum"
            else:
                fault = "flate: corrupt input"
            raise CelError(fault) from None
        if inflater.eof:
            member, data = content, inflater.unused_data
        else:
            if inflater.unconsumed_tail:
                raise CelError(f"gzip: the content is larger than {left} bytes")
            raise CelError("unexpected EOF")
        left -= len(member)
        parts.append(member)
    return b"".join(parts).decode("utf-8", "replace")


GZIP: Final = Library("kyverno.gzip", (compress, decompress))
