"""Notes about what is among the objects and has no effect there: exceptions, kustomizations, and
policies that no controller evaluates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from chartkit.engine import is_exception
from chartkit.engine.cel_policies.reader import UNEVALUATED_MODES
from chartkit.engine.kubernetes.kinds import CEL_GROUP, group_of
from chartkit.model import Diagnostic, Location, Resource, Severity, mapping_at

RULE: Final = "scan-input"
_KUSTOMIZATIONS: Final = frozenset({"kustomization.yaml", "kustomization.yml"})


def is_kustomization(file: Path) -> bool:
    """Return whether a file is a kustomization by its name."""
    return file.name in _KUSTOMIZATIONS


def kustomization_note(file: Path) -> Diagnostic:
    """Return the note about a kustomization among the files of a folder."""
    message = "the files are scanned as they are, without its patches, images and generators"
    hint = f"kustomize build {file.parent} | chartkit scan -"
    return Diagnostic(RULE, Severity.NOTE, message, Location(str(file)), hint)


def overlooked(objects: Sequence[Resource], has_exceptions: bool) -> Iterator[Diagnostic]:
    """Yield a note for each object that has no effect on the others; has_exceptions: whether
    exceptions are named, which may be these."""
    for each in objects:
        mode = mapping_at(each.body, "spec", "evaluation").get("mode")
        if is_exception(each) and not has_exceptions:
            message = f"PolicyException '{each.name}' lets nothing off: it is only scanned"
            hint = f"--exceptions {each.location.file} honours it"
            yield Diagnostic(RULE, Severity.NOTE, message, each.location, hint)
        elif group_of(each) == CEL_GROUP and mode in UNEVALUATED_MODES:
            place = each.location.within("/spec/evaluation/mode")
            message = f"{each.kind} '{each.name}' of mode {mode} is only scanned"
            hint = "Kyverno's authorization server asks such policies, its controllers do not"
            yield Diagnostic(RULE, Severity.NOTE, message, place, hint)
