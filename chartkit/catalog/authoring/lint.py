"""The checks of `chartkit policies lint`: policies as Kyverno reads them, in any file or chart."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.catalog.authoring.check import CheckResult, check_policy, shared_parameters
from chartkit.catalog.policy_lint.findings import (
    NO_LEVELS,
    Levels,
    at_levels,
    rule_findings,
    run_findings,
)
from chartkit.documents.input_files import LFS_POINTER, is_there, read_bytes
from chartkit.documents.reader import Document
from chartkit.documents.unread import unread
from chartkit.engine import is_policy
from chartkit.errors import InputError, RenderError
from chartkit.kyverno.versions import Release
from chartkit.library.policies import METADATA_FILE
from chartkit.library.templating import repeated_keys
from chartkit.model import Diagnostic, Location, Resource, Severity, Track, untracked
from chartkit.scan.ineffective import RULE as SCAN_INPUT
from chartkit.scan.inputs import is_chart, is_definition, matching
from chartkit.scan.inputs.folders import is_test_file, walk
from chartkit.scan.policies import as_refusals, compile_all, read_policies

_HINT: Final = "name a file or folder with policies of Kyverno or Kubernetes"
_OF_POLICIES: Final = (b"kyverno", b"AdmissionPolicy", b"\x1f\x8b", LFS_POINTER)
"""The keys of a policy's text, and the beginnings of packed files and pointers of Git LFS."""


def lint_policies(
    sources: Sequence[str],
    track: Track = untracked,
    levels: Levels = NO_LEVELS,
    kyverno: Release | None = None,
) -> CheckResult:
    """Return what Kyverno refuses of policies, what has no effect, and what it will remove.

    A source is a file, a folder, a chart, a profile or a pattern. A file that cannot be read is a
    finding, and the others are checked. levels: those of rules that are not their own;
    kyverno: the release that the policies are for, None for any. Raise InputError for a source
    without any policy.
    """
    resources: list[Resource] = []
    findings: list[Diagnostic] = []
    folders = 0
    for source in matching(sources):
        before = len(resources), _errors(findings), folders
        files, own = _files(source, findings.append)
        for file in track(files):
            resources += _read(file, findings, is_named=file == source)
        for folder in own:
            own_findings = check_policy(folder, shared_parameters(folder), with_rules=True)
            findings += at_levels(own_findings, levels)
        folders += len(own)
        if before == (len(resources), _errors(findings), folders):
            raise InputError("holds no policy", Location(source), _HINT)
    if all(map(is_definition, resources)) and not (_errors(findings) or folders):
        raise InputError("holds no policy", Location(sources[0]), _HINT)
    # A warning for each document with a key that stands twice in a mapping.
    places = {id(resource.location.places): resource.location.places for resource in resources}
    for document in places.values():
        if isinstance(document, Document):
            findings += repeated_keys(document)
    compiled = compile_all(resources)
    findings += as_refusals((*compiled.diagnostics, *compiled.warnings))
    by_rules = rule_findings(compiled.found, compiled, levels, kyverno)
    findings += at_levels((*by_rules, *run_findings(compiled.policies)), levels)
    count = sum(map(is_policy, resources)) + folders
    in_order = sorted(dict.fromkeys(findings), key=lambda row: row.severity is Severity.ERROR)
    return CheckResult(count, 0, tuple(in_order))


def _errors(findings: Sequence[Diagnostic]) -> int:
    return sum(finding.severity is Severity.ERROR for finding in findings)


def _files(source: str, note: Callable[[Diagnostic], None]) -> tuple[list[str], list[Path]]:
    """Return the files of a folder, or the source itself, and the folders of policies in chartkit's
    own format, whose files have parameters in place of values; note: called with a row for each
    file that cannot be read."""
    path = Path(source)
    if path.is_file() and (path.parent / METADATA_FILE).is_file():
        return [], [path.parent]
    if not path.is_dir() or is_chart(path):
        return [source], []
    paths = [file for file in walk(path, note) if file.is_dir() or not is_test_file(file)]
    own = {file.parent for file in paths if file.name == METADATA_FILE}
    return [str(file) for file in paths if file.parent not in own], sorted(own)


def _read(source: str, findings: list[Diagnostic], is_named: bool) -> list[Resource]:
    notes: list[Diagnostic] = []
    try:
        policies = read_policies(source, MappingProxyType({}), "ClusterPolicy", notes.append)[0]
        # What Helm says about a chart without policies is no concern of theirs.
        findings += notes if policies or is_named else ()
        return policies
    except (InputError, RenderError) as error:
        if not is_there(Path(source)):
            raise
        if not is_named and _names_no_policy(Path(source)):
            message = f"names no policy, and is not read: {error.message}"
            findings.append(Diagnostic(SCAN_INPUT, Severity.NOTE, message, error.location))
        else:
            findings.append(unread(error))
        return []


def _names_no_policy(source: Path) -> bool:
    """Report whether the text of a file, or of all files of a chart, names no policies of
    Kyverno or Kubernetes; packed charts may hold some."""
    files = [source]
    if source.is_dir():
        files = [Path(folder, name) for folder, _, names in os.walk(source) for name in names]
    try:
        texts = (read_bytes(file).replace(b"\0", b"") for file in files if file.is_file())
        return not any(word in text for text in texts for word in _OF_POLICIES)
    except InputError:
        return False
