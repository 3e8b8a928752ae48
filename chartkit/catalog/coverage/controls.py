"""The controls of standards as selectors name them (`cis:5.2.3`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from chartkit.catalog.coverage.standards import built_in_standards, read_standard


class BuiltInStandards:
    """The standards that ship with chartkit."""

    def names(self) -> Collection[str]:
        return built_in_standards()

    def controls(self, standard: str) -> Mapping[str, Collection[str]]:
        """Return the names of the policies that cover each control of a standard; raise
        InputError."""
        return {
            control.id: [reference.rpartition("/")[2] for reference in control.policies]
            for control in read_standard(standard).controls
        }
