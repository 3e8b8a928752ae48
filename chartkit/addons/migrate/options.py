"""The options of `chartkit migrate plan` and `migrate policies`, as the command line gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.admission import Target
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.errors import InputError
from chartkit.kyverno.versions import parse_version
from chartkit.scan import DEFAULT_NAMESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryOptions:
    """paths: as the user wrote them; values: of the charts among them, the last file wins;
    named_namespace: None if not given; context: of the kubeconfig; record: the folder to record
    into."""

    paths: tuple[str, ...] = ()
    values: tuple[Path, ...] = ()
    named_namespace: str | None = None
    release: str = "release"
    kube_version: str | None = None
    cluster: bool = False
    context: str | None = None
    record: Path | None = None

    @property
    def namespace(self) -> str:
        """The namespace that charts are rendered for."""
        return DEFAULT_NAMESPACE if self.named_namespace is None else self.named_namespace


_KINDS: Final = {"vap": CelKind.VALIDATING_ADMISSION, "map": CelKind.MUTATING_ADMISSION}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionOptions:
    """The options that decide what becomes of a policy.

    inventory: the inputs; prove: whether to prove conversions; proof_seconds: the processor time of
    a proof, None for a fixed number of requests; objects: paths of objects for all proofs; allowed:
    policies whose differences are taken, each `POLICY=REASON`; jobs: processes; kinds: `vap`,
    `map`; deletions: `keep` or `drop`; split: whether a policy may be left with some of its rules.
    """

    inventory: InventoryOptions = InventoryOptions()
    prove: bool = True
    proof_seconds: float | None = None
    objects: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    jobs: int = 1
    kinds: tuple[str, ...] = ()
    deletions: str = "drop"
    split: bool = True

    @property
    def target(self) -> Target:
        """The target of the conversion; raise InputError for an invalid version."""
        given = self.inventory.kube_version
        version = None if given is None else parse_version(given, "--kube-version")
        kinds = frozenset(_KINDS[kind] for kind in self.kinds)
        return Target(kinds, version, self.deletions == "keep", self.split)

    @property
    def reasons(self) -> Mapping[str, str]:
        """The reasons for which differences are taken, by policy; raise InputError."""
        reasons = {}
        for allowed in self.allowed:
            policy, _, reason = allowed.partition("=")
            if not policy or not reason.strip():
                hint = "write POLICY=REASON"
                raise InputError(f"--allow-difference {allowed} has no reason", hint=hint)
            reasons[policy] = reason.strip()
        if not self.prove and (self.objects or self.allowed):
            raise InputError("--objects and --allow-difference are for proofs, and need --prove")
        return reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationOptions(ConversionOptions):
    """folder: for a file of each legacy file; write: in place; check: write nothing."""

    folder: Path | None
    write: bool
    check: bool

    def require_one_output(self) -> None:
        """Raise InputError for options that exclude each other."""
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
