"""The limits of a child process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MIB: Final = 1024 * 1024
_GIB: Final = 1024 * _MIB


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call.

    seconds: by the clock; cpu_seconds: of processor time, all threads together; memory: bytes of
    private memory; output: bytes of the answer.
    """

    seconds: float = 120
    cpu_seconds: int = 30
    memory: int = 2 * _GIB
    output: int = 32 * _MIB

    def at_most(self, other: Limits) -> Limits:
        """The smaller one of each limit."""
        return Limits(
            min(self.seconds, other.seconds),
            min(self.cpu_seconds, other.cpu_seconds),
            min(self.memory, other.memory),
            min(self.output, other.output),
        )


DEFAULT: Final = Limits()


def size(number: int) -> str:
    """A number of bytes as people write it: `2 GiB`, `300 MiB`, `17 bytes`."""
    for unit, factor in (("GiB", _GIB), ("MiB", _MIB)):
        if number >= factor and number % factor == 0:
            return f"{number // factor} {unit}"
    return f"{number:,} bytes"
