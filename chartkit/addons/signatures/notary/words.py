"""Times and names as Go writes them in its messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Final

from cryptography import x509

from chartkit.go.strconv import quote
from chartkit.go.time_layout import Moment

SECOND: Final = 1_000_000_000
ZERO: Final = -62_135_596_800 * SECOND
"""Go's zero time: the beginning of year 1, in UTC."""
_FIRST: Final = -62_135_596_800 + 86_400
_LAST: Final = 253_402_300_799 - 86_400
"""Seconds between which `datetime` knows every zone's date: years 1 and 9999."""

_SHORT: Final = {
    "2.5.4.6": "C",
    "2.5.4.8": "ST",
    "2.5.4.7": "L",
    "2.5.4.9": "STREET",
    "2.5.4.17": "POSTALCODE",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.3": "CN",
    "2.5.4.5": "SERIALNUMBER",
}
"""In the order of Go's `pkix.Name`, which it prints the other way round."""
_SINGLE: Final = frozenset({"CN", "SERIALNUMBER"})
"""Of which the last one counts."""
_UTF8, _PRINTABLE = 0x0C, 0x13
_PRINTABLE_LETTERS: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 '()+,-./:=?"
)


_LONGEST: Final = 2000
"""Characters of a message that may have parts of a signature in it."""


def line(message: str) -> str:
    """Return a message in one line that is not too long, whatever a signature brought into it."""
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in message[:_LONGEST])
    return text if len(message) <= _LONGEST else f"{text}…"


def moment_of(time: datetime) -> Moment:
    """Return a certificate's time, which is in whole seconds and in UTC."""
    return Moment(int(time.timestamp()) * SECOND)


def now() -> Moment:
    """Return the present."""
    return moment_of(datetime.now(UTC))


def shown(moment: Moment) -> str:
    """Return a moment as Go's RFC1123Z: `Mon, 02 Jan 2006 15:04:05 -0700`."""
    seconds = moment.nanoseconds // SECOND
    if not _FIRST <= seconds <= _LAST:
        return str(moment)
    zone = timezone(timedelta(seconds=moment.offset))
    return format_datetime(datetime.fromtimestamp(0, zone) + timedelta(seconds=seconds))


def subject(certificate: x509.Certificate) -> str:
    """Return the subject of a certificate, as Go quotes it: `"CN=signer,O=Acme,C=DE"`."""
    return quote(name_text(certificate.subject))


def name_text(name: x509.Name) -> str:
    """Return a name as Go's `pkix.Name` prints it: known attributes first, the last known one
    foremost."""
    known: dict[str, list[str]] = {short: [] for short in _SHORT.values()}
    others = []
    for attribute in name:
        value = _text(attribute)
        short = _SHORT.get(attribute.oid.dotted_string)
        if short is None:
            others.append(f"{attribute.oid.dotted_string}=#{_der(value).hex()}")
        elif short in _SINGLE:
            known[short] = [value]
        else:
            known[short].append(value)
    parts = [
        "+".join(f"{short}={_escaped(one)}" for one in values) for short, values in known.items()
    ]
    return ",".join([part for part in reversed(parts) if part] + others[::-1])


def _text(attribute: x509.NameAttribute[str | bytes]) -> str:
    value = attribute.value
    return value if isinstance(value, str) else value.decode("latin-1")


def _der(value: str) -> bytes:
    """Return a string in DER, as Go chooses its kind."""
    content = value.encode()
    tag = _PRINTABLE if _PRINTABLE_LETTERS.issuperset(value) else _UTF8
    if len(content) < 0x80:
        return bytes((tag, len(content))) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def _escaped(value: str) -> str:
    last = len(value) - 1
    return "".join(
        f"\\{letter}"
        if letter in ',+"\\<>;'
        or (letter == " " and at in (0, last))
        or (letter == "#" and at == 0)
        else letter
        for at, letter in enumerate(value)
    )
