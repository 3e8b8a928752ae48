"""What test files name: policies, objects, exceptions and values, each file read once a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chartkit.documents import Document, read_file, resources
from chartkit.engine.compile import CompiledPolicy, compile_policy
from chartkit.engine.exceptions import PolicyException, read_exception
from chartkit.engine.policy_check import POLICY_RULE
from chartkit.engine.submitted import as_submitted
from chartkit.errors import CompileError, InputError
from chartkit.model import Body, Diagnostic, Location, Resource

_SUFFIXES: Final = frozenset({".yaml", ".yml"})
_POLICIES: Final = frozenset({"ClusterPolicy", "Policy"})
_UNEVALUATED_GROUPS: Final = frozenset({"policies.kyverno.io", "admissionregistration.k8s.io"})
_EXCEPTION: Final = "PolicyException"


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of a test.

    compiled: those that run; refused: by name, with Kyverno's reason; unevaluated: kinds by name
    that the engine does not know; diagnostics: what could not be loaded at all.
    """

    compiled: tuple[CompiledPolicy, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    unevaluated: dict[str, str] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


class Sources:
    """Reads and compiles what test files name, and keeps it for the tests that name it again."""

    def __init__(self) -> None:
        self._documents: dict[Path, list[Document]] = {}
        self._objects: dict[Path, list[Resource]] = {}
        self._compiled: dict[int, CompiledPolicy | CompileError] = {}

    def documents(self, path: Path) -> list[Document]:
        """A file's documents; raises InputError."""
        path = Path(path)
        found = self._documents.get(path)
        if found is None:
            found = self._documents[path] = read_file(path)
        return found

    def bodies(self, path: Path) -> list[Body]:
        """A file's documents that are mappings, as written; raises InputError for others."""
        documents = self.documents(path)
        for document in documents:
            if not isinstance(document.body, dict):
                raise InputError("must be a mapping", document.location)
        return [document.body for document in documents]

    def objects(self, path: Path) -> list[Resource]:
        """The objects of a file, or of all files below a folder, as Kyverno takes them."""
        if path.is_dir():
            return [one for file in _yaml_files(path) for one in self.objects(file)]
        found = self._objects.get(path)
        if found is None:
            found = [as_submitted(one) for one in resources(self.documents(path))]
            self._objects[path] = found
        return found

    def exceptions(self, paths: Sequence[Path]) -> list[PolicyException]:
        """The PolicyExceptions of kyverno.io in files; those of CEL policies are left out."""
        return [
            read_exception(resource)
            for path in paths
            for resource in self._raw(path)
            if resource.kind == _EXCEPTION and _group(resource) == "kyverno.io"
        ]

    def policies(self, paths: Sequence[Path], exceptions: Sequence[PolicyException]) -> Policies:
        """Compiles the policies of files and folders; raises InputError for what is not there."""
        compiled: list[CompiledPolicy] = []
        diagnostics: list[Diagnostic] = []
        refused: dict[str, str] = {}
        unevaluated: dict[str, str] = {}
        for resource in (one for path in paths for one in self._policy_objects(path)):
            if _group(resource) in _UNEVALUATED_GROUPS and resource.kind != _EXCEPTION:
                unevaluated[resource.name] = resource.kind
            elif _group(resource) == "kyverno.io" and resource.kind in _POLICIES:
                answer = self._compile(resource, exceptions)
                if isinstance(answer, CompiledPolicy):
                    compiled.append(answer)
                elif any(one.rule_id == POLICY_RULE for one in answer.diagnostics):
                    refused[resource.name] = answer.message
                else:
                    diagnostics.extend(answer.diagnostics)
        return Policies(tuple(compiled), refused, unevaluated, tuple(diagnostics))

    def _compile(
        self, resource: Resource, exceptions: Sequence[PolicyException]
    ) -> CompiledPolicy | CompileError:
        if exceptions:
            return _compiled(resource, exceptions)
        # The documents are kept, so a body's identity stands for it as long as the run lasts.
        key = id(resource.body)
        answer = self._compiled.get(key)
        if answer is None:
            answer = self._compiled[key] = _compiled(resource, ())
        return answer

    def _policy_objects(self, path: Path) -> Iterator[Resource]:
        if not path.exists():
            raise InputError("no such file or folder", Location(str(path)))
        if not path.is_dir():
            yield from self._raw(path)
            return
        for file in _yaml_files(path):
            yield from self._raw(file)

    def _raw(self, path: Path) -> list[Resource]:
        found = []
        for document in self.documents(path):
            body = document.body
            if isinstance(body, dict) and body.get("kind") and body.get("apiVersion"):
                found.extend(resources([document]))
        return found


def _compiled(
    resource: Resource, exceptions: Sequence[PolicyException]
) -> CompiledPolicy | CompileError:
    try:
        return compile_policy(resource, exceptions)
    except CompileError as error:
        return error


def _yaml_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _yaml_files(path)
        elif path.suffix in _SUFFIXES:
            yield path


def _group(resource: Resource) -> str:
    return resource.api_version.partition("/")[0]
