"""The files that ship with chartkit: profiles, the policy library, standards and chart sources."""

from __future__ import annotations

from pathlib import Path

LIBRARY = "chartkit"
"""The name of the built-in policy library."""
_PACKAGE = Path(__file__).parent


def profiles_dir() -> Path:
    """Return the folder of the built-in profiles: inside the package in a wheel, next to it in a
    checkout."""
    packaged = _PACKAGE / "_bundled" / "profiles"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "profiles"


def library_dir() -> Path:
    """Return the built-in policy library, which has a folder for each policy."""
    return profiles_dir() / "policies"


def short_name(file: str) -> str:
    """Return the name of a file of a built-in profile in reports, wherever chartkit is installed:
    `profiles/policies/…`."""
    return Path(file).relative_to(profiles_dir().parent).as_posix()


def standards_dir() -> Path:
    """The folder of standards and guides: their controls, and the policies that cover them."""
    return profiles_dir() / "standards"


def chart_source_dir(chart: str) -> Path:
    """Return the source of one chart (`kyverno` or `kyverno-policies`)."""
    return _PACKAGE / "charts" / "sources" / chart
