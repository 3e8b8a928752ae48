"""Limits of sizes and times for downloads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from chartkit.network.http import limits as net


@dataclass(frozen=True, slots=True)
class Limits(net.Limits):
    """Limits of a download, in addition to those of a request. archive: bytes of an archive; files,
    file, total: how many files, bytes of one and of all; ratio: how many times its own size an
    archive may unpack to, where that is more than ratio_from bytes."""

    silence: float = 20.0
    patience: float = 300.0

    archive: int = 64_000_000
    files: int = 20_000
    file: int = 16_000_000
    total: int = 128_000_000
    ratio: int = 100
    ratio_from: int = 8_000_000


DEFAULT: Final = Limits()
"""The public Kyverno library has some 6,000 files and 11 MB; a chart of Kyverno 100 and 5 MB."""


def waiting(seconds: float | None) -> Limits:
    """Return the limits with other seconds for a server that says nothing; None: the usual ones."""
    if seconds is None:
        return DEFAULT
    patience = seconds * DEFAULT.patience / DEFAULT.silence
    return replace(DEFAULT, connect=seconds, silence=seconds, patience=patience)
