"""Exceptions that have ended or soon will, and those that lack what the project wants of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from chartkit.model import Diagnostic, Severity
from chartkit.project.project import ExceptionRules
from chartkit.scan.exceptions.model import TTL, FiledException

EXPIRED: Final = "expired"
SOON: Final = "expires-soon"
UNMARKED: Final = "without-mark"
ENDLESS: Final = "without-end"


def lifetime(
    exception: FiledException, rules: ExceptionRules, now: datetime, soon_days: int
) -> Iterator[Diagnostic]:
    """Yield what is wrong with an exception's time and marks; soon_days: the days before its end
    from which it is worth a note."""
    resource, end = exception.resource, exception.expires
    name = f"exception {resource.name}"
    hint = f"take it out, or give it another end (label {TTL})"
    if end is not None and end <= now:
        message = f"{name} ended on {end.date()}"
        yield Diagnostic(EXPIRED, Severity.ERROR, message, resource.location, hint)
    elif end is not None and end <= now + timedelta(days=soon_days):
        message = f"{name} ends on {end.date()}"
        yield Diagnostic(SOON, Severity.WARNING, message, resource.location)
    missing = [annotation for annotation in rules.annotations if not exception.marked([annotation])]
    if missing:
        message = f"{name} has no {', '.join(missing)}"
        hint = "give it the annotation; exceptionRules of the project wants it"
        yield Diagnostic(UNMARKED, Severity.ERROR, message, resource.location, hint)
    if rules.longest_days is not None:
        latest = now + timedelta(days=rules.longest_days)
        if end is None or end > latest:
            said = "has no end" if end is None else f"ends on {end.date()}"
            message = f"{name} {said}, and the project wants one by {latest.date()}"
            hint = f"give it the label {TTL}: {latest.date()}"
            yield Diagnostic(ENDLESS, Severity.ERROR, message, resource.location, hint)
