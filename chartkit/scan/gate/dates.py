"""Days on which an acceptance ends."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Location

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def parse_date(text: str, location: Location) -> date:
    """Return the day that a text such as `2027-01-31` names; raise InputError."""
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise InputError(f"'{text}' is no day", location, "write it as 2027-01-31")
