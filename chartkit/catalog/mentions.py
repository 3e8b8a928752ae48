"""Mentions of the built-in policies: controls of standards, and profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chartkit import bundled
from chartkit.catalog.coverage.standards import built_in_standards, read_standard
from chartkit.library.policies import read_library
from chartkit.library.profiles import read_profile, resolve


@dataclass(frozen=True, slots=True)
class Mentions:
    """controls: of standards, each with where it is written; profiles: those that have it."""

    controls: tuple[tuple[str, str], ...] = ()
    profiles: tuple[str, ...] = ()


def mentions() -> Mapping[str, Mentions]:
    """Return the mentions of the built-in policies, by reference.

    A profile that has a policy switched off says so: it ships in the chart, for values to switch
    it on.
    """
    controls, profiles = _controls(), _profiles()
    return {
        reference: Mentions(tuple(controls.get(reference, ())), tuple(profiles.get(reference, ())))
        for reference in {**controls, **profiles}
    }


def _controls() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for name in built_in_standards():
        for control in read_standard(name).controls:
            said = f"{name.upper()} {control.id}", control.source
            for reference in (*control.policies, *control.also):
                found.setdefault(reference, []).append(said)
    return found


def _profiles() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    library = read_library([bundled.library_dir()])
    for file in sorted(bundled.profiles_dir().glob("*.yaml")):
        profile = read_profile(file.stem, Path())
        for each in resolve([profile], library).policies.values():
            said = profile.name if each.enabled else f"{profile.name} (switched off)"
            found.setdefault(each.policy.reference, []).append(said)
    return found
