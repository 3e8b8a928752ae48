"""The options of `chartkit migrate policies`, as the command line gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chartkit.errors import InputError
from chartkit.go.duration import parse_duration
from chartkit.migration.plan.options import InventoryOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationOptions:
    """inventory: the inputs; folder: for a file of each legacy file; write: in place; check: write
    nothing; allowed: policies whose differences are taken, each `POLICY=REASON`; jobs: processes;
    budget: of a proof, as Go writes a duration."""

    inventory: InventoryOptions
    folder: Path | None
    write: bool
    check: bool
    prove: bool
    budget: str
    objects: tuple[str, ...]
    allowed: tuple[str, ...]
    jobs: int

    def checked(self) -> MigrationOptions:
        """Return the options; raise InputError for those that cannot be combined."""
        chosen = [
            name
            for name, given in (
                ("--output", self.folder is not None),
                ("--write", self.write),
                ("--check", self.check),
            )
            if given
        ]
        if len(chosen) > 1:
            raise InputError(f"{' and '.join(chosen)} exclude each other")
        if not self.prove and (self.objects or self.allowed):
            raise InputError("--objects and --allow-difference are for proofs, and need --prove")
        return self

    @property
    def seconds(self) -> float:
        """The budget in seconds; raise InputError."""
        try:
            seconds = parse_duration(self.budget) / 1e9
        except ValueError:
            raise InputError(
                f"--budget {self.budget}", hint="write a time as 5s or 500ms"
            ) from None
        if seconds <= 0:
            raise InputError(f"--budget {self.budget} leaves no time")
        return seconds

    @property
    def reasons(self) -> Mapping[str, str]:
        """The reasons for which differences are taken, by policy; raise InputError."""
        reasons = {}
        for each in self.allowed:
            policy, _, reason = each.partition("=")
            if not policy or not reason.strip():
                hint = "write POLICY=REASON"
                raise InputError(f"--allow-difference {each} has no reason", hint=hint)
            reasons[policy] = reason.strip()
        return reasons
