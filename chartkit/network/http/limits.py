"""Limits of time, attempts and redirects of requests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request.

    connect: seconds until a connection is made; silence: seconds that a server may say nothing;
    patience: seconds for one whole answer, redirects included; attempts: how often a server is
    asked; pause: seconds before the second attempt, doubled for each further one; longest_pause:
    the longest that a server may ask to be left alone; redirects: how many are followed.
    """

    connect: float = 10.0
    silence: float = 10.0
    patience: float = 30.0
    attempts: int = 3
    pause: float = 0.5
    longest_pause: float = 20.0
    redirects: int = 5
