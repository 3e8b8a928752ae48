"""The files that tests name: policies, objects, exceptions and values, each read once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from chartkit.documents.input_files import is_folder, is_there, refuse_special
from chartkit.documents.reader import Document, read_file, read_source, resources
from chartkit.engine import (
    NO_ATTACHMENTS,
    Cleaner,
    PolicyAttachments,
    RunnablePolicy,
    as_submitted,
    compile_any,
    misnamed,
    read_exceptions,
    sorted_out,
)
from chartkit.engine.kubernetes.definitions import POLICY_RULE
from chartkit.engine.kubernetes.kinds import UNEVALUATED_MODES, group_of, is_cel_policy
from chartkit.errors import CompileError, InputError, system_errors
from chartkit.model import Body, Diagnostic, Json, Location, Resource, Severity

_SUFFIXES: Final = frozenset({".yaml", ".yml"})
_POLICIES: Final = frozenset({"ClusterPolicy", "Policy"})
_FORMS: Final = frozenset({"policy.yaml", "cel.yaml"})
_Compiled: TypeAlias = "RunnablePolicy | Cleaner | CompileError"


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of a test.

    compiled: those that run at admission; cleaners: cleanup policies; refused: Kyverno's reasons by
    policy name; unevaluated: names of policies that the engine does not evaluate; diagnostics: why
    policies are not loaded, and what those that are do in vain.
    """

    compiled: tuple[RunnablePolicy, ...] = ()
    cleaners: tuple[Cleaner, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    unevaluated: dict[str, str] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


class Sources:
    """A cache of the files that tests name, parsed and compiled. documents: those of files that are
    read as if they were different."""

    def __init__(self, documents: Mapping[Path, list[Document]] = MappingProxyType({})) -> None:
        self._documents = dict(documents)
        self._objects: dict[Path, list[Resource]] = {}
        self._compiled: dict[int, _Compiled] = {}

    def documents(self, path: Path) -> list[Document]:
        """Return a file's documents; raise InputError."""
        path = Path(path)
        documents = self._documents.get(path)
        if documents is None:
            documents = self._documents[path] = _read(path)
        return documents

    def bodies(self, path: Path) -> list[Body]:
        """A file's documents that are mappings, as written; raises InputError for any other."""
        documents = self.documents(path)
        for document in documents:
            if not isinstance(document.body, dict):
                raise InputError("must be a mapping", document.location)
        return [document.body for document in documents]

    def objects(self, path: Path) -> list[Resource]:
        """Return the objects of a file, or of all files below a folder, as Kyverno takes them."""
        if is_folder(path):
            return [resource for file in _yaml_files(path) for resource in self.objects(file)]
        kept = self._objects.get(path)
        if kept is None:
            kept = [as_submitted(resource) for resource in resources(self.documents(path))]
            self._objects[path] = kept
        return kept

    def exceptions(self, paths: Sequence[Path]) -> PolicyAttachments:
        """Return the PolicyExceptions of both generations in files."""
        return read_exceptions(resource for path in paths for resource in self._raw(path))

    def policies(self, paths: Sequence[Path], around: PolicyAttachments) -> Policies:
        """Compile the policies of files and folders; raise InputError for a missing one."""
        given: list[Resource] = []
        for path in paths:
            if not is_there(path):
                raise InputError("no such file or folder", Location(str(path)))
            for file in _yaml_files(path) if is_folder(path) else (path,):
                given += self._raw(file)
        around = around.with_bindings(given)
        compiled: list[RunnablePolicy | Cleaner] = []
        diagnostics = [
            Diagnostic("policy-schema", Severity.ERROR, error.message, error.location, error.hint)
            for error in filter(None, map(misnamed, given))
        ]
        refused: dict[str, str] = {}
        unevaluated: dict[str, str] = {}
        for resource in given:
            is_cel = is_cel_policy(resource)
            # Kyverno's test command runs all policies but cleanup policies.
            if not is_cel and not (
                group_of(resource) == "kyverno.io" and resource.kind in _POLICIES
            ):
                continue
            part: Json = resource.body
            for key in ("spec", "evaluation", "mode"):
                part = part.get(key) if isinstance(part, dict) else None
            mode = part if isinstance(part, str) and is_cel else ""
            if mode in UNEVALUATED_MODES:
                unevaluated[resource.name] = f"policies of evaluation mode {mode}"
                continue
            kept = self._compiled if around == NO_ATTACHMENTS else {}
            # The documents are kept, so a body keeps its identity as long as the run lasts.
            body_id = id(resource.body)
            if body_id not in kept:
                try:
                    kept[body_id] = compile_any(resource, around)
                except CompileError as error:
                    kept[body_id] = error
            answer = kept[body_id]
            if not isinstance(answer, CompileError):
                compiled.append(answer)
                continue
            diagnostics.extend(answer.diagnostics)
            if any(diagnostic.rule_id == POLICY_RULE for diagnostic in answer.diagnostics):
                refused[resource.name] = answer.message
        policies, cleaners = sorted_out(compiled)
        # A warning that says what was meant is probably about a mistake.
        warnings = (item for policy in policies for item in policy.warnings() if item.hint)
        diagnostics += [item for item in warnings if item.severity is not Severity.NOTE]
        diagnostics += [diagnostic for cleaner in cleaners for diagnostic in cleaner.diagnostics]
        return Policies(policies, cleaners, refused, unevaluated, tuple(diagnostics))

    def _raw(self, path: Path) -> list[Resource]:
        objects = []
        for document in self.documents(path):
            body = document.body
            if isinstance(body, dict) and body.get("kind") and body.get("apiVersion"):
                objects.extend(resources([document]))
        return objects


def _read(path: Path) -> list[Document]:
    """Return a file's documents; a library's policy has the defaults of its parameters."""
    is_of_library = path.name in _FORMS and path.with_name("metadata.yaml").is_file()
    if not (is_of_library and "<%" in read_source(path)):
        return read_file(path)
    from chartkit.library.filled import default_documents

    return default_documents(path)


def _yaml_files(folder: Path) -> Iterator[Path]:
    with system_errors("cannot be read", folder):
        entries = sorted(folder.iterdir())
    for path in entries:
        if path.name.startswith("."):
            continue
        if is_folder(path):
            if not path.is_symlink():
                yield from _yaml_files(path)
        elif path.suffix in _SUFFIXES:
            refuse_special(path)
            yield path
