"""Times and names in messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Final

from cryptography import x509

from chartkit.go.calendar import Moment
from chartkit.go.strconv import quote

SECOND: Final = 1_000_000_000
ZERO: Final = -62_135_596_800 * SECOND
"""The time that stands for none in Go: the beginning of year 1, in UTC."""
_FIRST: Final = -62_135_596_800 + 86_400
_LAST: Final = 253_402_300_799 - 86_400
"""Seconds between which `datetime` knows every zone's date: years 1 and 9999."""

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
    """Return the subject of a certificate in quotes: `"CN=signer,O=Acme,C=DE"`."""
    return quote(certificate.subject.rfc4514_string())
