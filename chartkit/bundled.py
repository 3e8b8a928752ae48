"""Finds what ships with chartkit: profiles, the policy library, standards and the chart sources."""

from __future__ import annotations

from pathlib import Path

LIBRARY = "chartkit"
"""The name of the built-in policy library."""
_PACKAGE = Path(__file__).parent


def profiles_dir() -> Path:
    """The built-in profiles; in a wheel they stand inside the package, in a checkout beside it."""
    packaged = _PACKAGE / "_bundled" / "profiles"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "profiles"


def library_dir() -> Path:
    """The built-in policy library, a folder a policy."""
    return profiles_dir() / "policies"


def standards_dir() -> Path:
    """The controls of standards and guides, and which policies cover them."""
    return profiles_dir() / "standards"


def chart_source_dir(chart: str) -> Path:
    """The source of one chart (`kyverno` or `kyverno-policies`)."""
    return _PACKAGE / "charts" / "sources" / chart
