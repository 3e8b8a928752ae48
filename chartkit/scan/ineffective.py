"""Notes about what is among the inputs and has no effect there: exceptions, policies, lists that
are not whole, answers that are not objects, and kinds and fields that no API server has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from chartkit.documents.reader import Document
from chartkit.engine import is_exception, is_policy
from chartkit.engine.kubernetes.field_faults import NEWEST, FieldFault, field_faults, kind_fault
from chartkit.engine.kubernetes.kinds import CEL_GROUP, UNEVALUATED_MODES, group_of, kind_of
from chartkit.model import Diagnostic, Location, Resource, Severity, mapping_at, pointer_of
from chartkit.report.text.layout import OBJECT_RULE
from chartkit.scan.gate import ANNOTATION
from chartkit.suggestions import did_you_mean, nearest, suggestion
from chartkit.wording import counted

if TYPE_CHECKING:
    from chartkit.scan.custom_resources.definitions import Definitions

RULE: Final = "scan-input"
_ALIKE: Final = 0.85
"""The share of equal letters from which on an annotation is one that is misspelt."""
_MOST_FAULTS: Final = 100
"""The kinds and fields that are listed."""
_CLI_GROUP: Final = "cli.kyverno.io"
_CLI_OPTIONS: Final[Mapping[str, str]] = {
    "Values": "-f FILE",
    "UserInfo": "--userinfo FILE",
    "Context": "--context-file FILE",
    "Test": "chartkit test FILE",
}
_KUSTOMIZE_GROUP: Final = "kustomize.toolkit.fluxcd.io"
_CHANGING: Final = ("postBuild", "patches", "patchesStrategicMerge", "patchesJson6902", "images")
_META: Final = "meta.k8s.io"
_ANSWERS: Final = frozenset(
    {(_META, "Table"), (_META, "PartialObjectMetadata"), ("v1", "Status"), (_META, "Status")}
)


def scan_note(message: str, location: Location, hint: str | None = None) -> Diagnostic:
    """Return a note about an input."""
    return Diagnostic(RULE, Severity.NOTE, message, location, hint)


def incomplete_lists(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """Yield a warning for each list of which an API server has more."""
    for document in documents:
        metadata = mapping_at(document.body, "metadata")
        is_list = isinstance(document.body, dict) and isinstance(document.body.get("items"), list)
        if not is_list or not (metadata.get("continue") or metadata.get("remainingItemCount")):
            continue
        count = metadata.get("remainingItemCount")
        more = (
            counted(count, "object is", "objects are") if isinstance(count, int) else "the rest is"
        )
        message = f"the list is not whole: {more} missing"
        hint = "list all: kubectl get does, with --chunk-size=0 in one answer"
        location = document.locate("metadata")
        yield Diagnostic(RULE, Severity.WARNING, message, location, hint)


def answer_fault(resource: Resource) -> str:
    """Return the reason why a document is another answer of an API server; empty for an object."""
    if (group_of(resource), resource.kind) not in _ANSWERS:
        return ""
    said = resource.body.get("message")
    about = f": {said}" if resource.kind == "Status" and isinstance(said, str) else ""
    return f"is a {resource.kind} of an API server, and no object{about}"


def overlooked(
    objects: Sequence[Resource],
    has_exceptions: bool,
    policies: Collection[tuple[str, str, str]] | None = None,
) -> Iterator[Diagnostic]:
    """Yield a note for each object that has no effect on the others; has_exceptions: whether
    exceptions are named, which may be these; policies: those that judge the objects, by kind,
    namespace and name."""
    for item in objects:
        group = group_of(item)
        mode = mapping_at(item.body, "spec", "evaluation").get("mode")
        annotations = mapping_at(item.body, "metadata", "annotations")
        for name in filter(_is_misspelt, annotations):
            location = item.location.within(pointer_of("metadata", "annotations", name))
            said, meant = f"the annotation {name} has no effect", did_you_mean([ANNOTATION])
            yield Diagnostic(RULE, Severity.WARNING, said, location, meant)
        if is_exception(item) and not has_exceptions:
            message = f"PolicyException '{item.name}' exempts nothing here: it is only scanned"
            yield scan_note(message, item.location, f"--exceptions {item.location.file} honours it")
        elif group == CEL_GROUP and mode in UNEVALUATED_MODES:
            location = item.location.within("/spec/evaluation/mode")
            message = f"{item.kind} '{item.name}' of mode {mode} is only scanned"
            hint = "Kyverno's authorization server asks such policies, its controllers do not"
            yield scan_note(message, location, hint)
        elif item.kind == "Template" and isinstance(item.body.get("objects"), list):
            message = f"Template '{item.name}': its objects are not scanned"
            yield scan_note(message, item.location, "oc process --local -f FILE | chartkit scan -")
        elif group == _CLI_GROUP:
            message = f"{item.kind} of {_CLI_GROUP} has no effect here: it is only scanned"
            yield scan_note(message, item.location, _CLI_OPTIONS.get(item.kind))
        elif group == _KUSTOMIZE_GROUP and any(map(mapping_at(item.body, "spec").get, _CHANGING)):
            message = f"{item.kind} '{item.name}': its patches and substitutions are not applied"
            yield scan_note(message, item.location, "flux build kustomization … | chartkit scan -")
    if policies is not None:
        yield from unused_note(unused_policies(objects, policies))


@lru_cache(maxsize=1024)
def _is_misspelt(annotation: str) -> bool:
    alike = nearest(annotation, [ANNOTATION], 1, _ALIKE)
    return bool(alike) and annotation != ANNOTATION


def unused_policies(
    objects: Iterable[Resource], policies: Collection[tuple[str, str, str]]
) -> list[Resource]:
    """Return the policies among objects that do not judge the others."""
    return [
        resource
        for resource in objects
        if is_policy(resource)
        and (resource.kind, resource.namespace, resource.name) not in policies
        and mapping_at(resource.body, "spec", "evaluation").get("mode") not in UNEVALUATED_MODES
    ]


def unused_note(unused: Sequence[Resource]) -> Iterator[Diagnostic]:
    """Yield a note about policies that judge nothing, if there are any."""
    if unused:
        first = unused[0]
        others = counted(len(unused) - 1, "more policy", "more policies")
        more, verb = (f" and {others}", "judge") if len(unused) > 1 else ("", "judges")
        message = f"{first.kind} '{first.name}'{more} {verb} nothing here: only scanned"
        yield scan_note(message, first.location, "-p PATH evaluates policies")


class _Fault(NamedTuple):
    """A fault of one kind; location: in the first of the objects that have it."""

    message: str
    hint: str | None
    location: Location
    objects: int = 1


@dataclass(slots=True)
class ObjectFaults:
    """The faults of objects for a minor version of Kubernetes. definitions: of custom kinds whose
    objects are checked, too; None if there is none."""

    minor: int = NEWEST
    definitions: Definitions | None = None
    _faults: dict[tuple[str, ...], _Fault] = field(default_factory=dict)

    def add(self, resources: Iterable[Resource]) -> None:
        """Add the faults of further objects."""
        for resource in resources:
            api_version, kind = resource.api_version, resource.kind
            if fault := kind_fault(api_version, kind, self.minor):
                location = resource.location.within("/kind")
                key = (api_version, kind, "", fault.problem)
                self._keep({key: _Fault(fault.problem, fault.hint, location)})
            faults: dict[tuple[str, ...], _Fault] = {}
            for wrong in (*field_faults(resource.body, self.minor), *self._unknown(resource)):
                steps = pointer_of(*("*" if isinstance(at, int) else at for at in wrong.path))
                key = (api_version, kind, steps, wrong.problem)
                if key not in faults:
                    pointer, own = pointer_of(*wrong.path), resource.location
                    location = own.value_of(pointer) or own.within(pointer)
                    message = f"{kind}: {wrong.shown} {wrong.problem}"
                    faults[key] = _Fault(message, wrong.hint, location)
            self._keep(faults)

    def join(self, other: ObjectFaults) -> None:
        """Add the faults of objects that come after these."""
        self._keep(other._faults)

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Yield a warning for each kind and field."""
        faults = list(self._faults.values())
        for fault in faults[:_MOST_FAULTS]:
            more = f"; {fault.objects} objects" if fault.objects > 1 else ""
            yield Diagnostic(
                OBJECT_RULE, Severity.WARNING, fault.message + more, fault.location, fault.hint
            )
        if left := len(faults[_MOST_FAULTS:]):
            text = f"{counted(left, 'more kind or field', 'more kinds and fields')} like these"
            yield Diagnostic(OBJECT_RULE, Severity.WARNING, text)

    def _keep(self, faults: dict[tuple[str, ...], _Fault]) -> None:
        for key, fault in faults.items():
            first = self._faults.get(key)
            if first is not None:
                fault = first._replace(objects=first.objects + fault.objects)
            self._faults[key] = fault

    def _unknown(self, resource: Resource) -> Iterator[FieldFault]:
        """Yield the fields of an object of a custom kind that its definition does not have."""
        custom = self.definitions.kinds.get(kind_of(resource)) if self.definitions else None
        if custom is None or custom.schema is None:
            return
        from chartkit.scan.custom_resources.schema import unknown_fields
        from chartkit.scan.custom_resources.validation import field_name

        problem = f"is not a field of {custom.kind.group}/{custom.kind.version}"
        for unknown in unknown_fields(custom.schema, resource.body):
            shown, hint = field_name(unknown.path), suggestion(str(unknown.path[-1]), unknown.known)
            yield FieldFault(unknown.path, shown, problem, hint, is_unknown=True)
