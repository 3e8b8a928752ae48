"""The questions that chartkit asks of Helm, the answers, and the warnings of Helm's log.

Go's log begins a line with the time (the library) or the file (Helm 3); Helm 4 writes
`level=WARN msg="…"`. Values and charts are quoted in it: every line is shown as a stranger's text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.errors import RenderError
from chartkit.safe_text import shown
from chartkit.wording import shortened

_MOST: Final = 20
_LONGEST: Final = 300
_WARNING: Final = re.compile(
    r"(?:\d{4}/\d\d/\d\d \d\d:\d\d:\d\d )?(?:[\w./-]+\.go:\d+: )?(?:warning: |WARN(?:ING:)? )(.+)"
)
_LEVEL: Final = re.compile(r"(?:time=\S+ )?level=(\w+) msg=(\"(?:[^\"\\]|\\.)*\"|\S+)(.*)")
_MARK: Final = "warning: "
_SAID: Final = ("unresolved URN reference ignored",)
"""Warnings that a process gives once for all its charts: `references` finds the cause itself."""


@dataclass(frozen=True, slots=True)
class Target:
    """The release and cluster of a render; empty kube_version: the newest that Helm knows."""

    release: str
    namespace: str
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One message of `helm lint`; severity 0: a logged warning, 1: info, 2: warning, 3: error."""

    severity: int
    path: str
    message: str


def logged(warnings: Iterable[str]) -> list[Finding]:
    """Return warnings of Helm's log as findings."""
    return [Finding(0, "", text) for text in warnings]


@dataclass(frozen=True, slots=True)
class Texts:
    """Rendered texts by `chart/templates/file`; warnings: logged by Helm, as lines to show."""

    files: Mapping[str, str]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of an installation that was only simulated. notes: what it prints; manifest: what
    it installs, in Helm's order, hooks and CRDs left out."""

    notes: str
    manifest: str


class ChartError(RenderError):
    """A chart is refused for one of its files, or Helm was stopped at one of its templates. file:
    its path in the chart, empty where it is the whole chart."""

    def __init__(self, message: str, file: str = "", hint: str | None = None) -> None:
        super().__init__(message, None, hint)
        self.file = file


class HelmStoppedError(RenderError):
    """Helm reached a limit, or crashed; the message is the reason, as part of a sentence."""


def warnings(log: str) -> tuple[str, ...]:
    """Return the warnings of a log without repetition, sorted: Helm goes through values at random.
    They are bounded in number and length, with a line that says so."""
    texts = sorted({text for line in log.splitlines() if (text := _warning(line))})
    return bounded([text for text in texts if not text.startswith(_SAID)])


def bounded(texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts of strangers as lines to be shown, not too many and none too long."""
    lines = [shortened(shown(text), _LONGEST) for text in texts[:_MOST]]
    more = len(texts) - _MOST
    return (*lines, f"and {more} more") if more > 0 else tuple(lines)


def _warning(line: str) -> str:
    """The text of a line that warns, empty for any other."""
    match = _WARNING.match(line)
    if match is not None:
        return match[1].strip()
    levelled = _LEVEL.match(line)
    if levelled is None:
        return ""
    level, message, more = levelled.groups()
    # A text without Go's quotes, which differ from JSON's in a few escapes
    if not message.startswith('"'):
        unquoted = message
    else:
        try:
            unquoted = str(json.loads(message))
        except ValueError:
            unquoted = message[1:-1]
    text = unquoted + more
    if text.startswith(_MARK):
        return text.removeprefix(_MARK).strip()
    return text.strip() if level == "WARN" else ""
