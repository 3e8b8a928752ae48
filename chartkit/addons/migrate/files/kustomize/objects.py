"""The objects of a kustomization, as its patches select them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.addons.migrate.files.kustomize.patches import Merge, StaysError
from chartkit.addons.migrate.files.migrated import MigratedObject
from chartkit.addons.migrate.files.references import fits
from chartkit.engine.kubernetes.kinds import DEFAULT_NAMESPACE
from chartkit.model import Body, Json, Resource, list_of, mapping_at

MOST_OBJECTS: Final = 10_000
"""The most objects of a build: kustomizations that are taken twice multiply them."""
_BY_LABELS: Final = ("labelSelector", "annotationSelector")


@dataclass(slots=True)
class BuiltObject:
    """An object of a build.

    body: as patched, under the name that its file has; migrated: None for one that is no legacy
    policy; documents: what its body converts to, None where that is not known; prefix, suffix,
    namespace: what builds gave it.
    """

    body: Body
    migrated: MigratedObject | None = None
    documents: Sequence[Body] | None = None
    prefix: str = ""
    suffix: str = ""
    namespace: str | None = None

    @property
    def name(self) -> str:
        """Its kind and name."""
        return f"{self.body.get('kind')}/{mapping_at(self.body.get('metadata')).get('name')}"

    def copy(self) -> BuiltObject:
        """Return an object that another build may change."""
        return replace(self)

    def is_selected(self, target: Mapping[str, Json], body: Body | None = None) -> bool:
        """Return whether a patch's target selects it, or a document that stands for it; raise
        StaysError for a target by labels."""
        body = self.body if body is None else body
        if any(target.get(key) for key in _BY_LABELS):
            raise StaysError("its target selects by labels or annotations")
        group, _, version = str(body.get("apiVersion")).rpartition("/")
        return (
            fits(target.get("group"), group)
            and fits(target.get("version"), version)
            and fits(target.get("kind"), str(body.get("kind")))
            and any(fits(target.get("name"), each) for each in self._names(body))
            and any(fits(target.get("namespace"), each) for each in self._namespaces(body))
        )

    def is_named(self, merge: Merge) -> bool:
        """Return whether a strategic merge without a target is for it."""
        metadata = mapping_at(merge.body, "metadata")
        return (
            all(merge.body.get(key) == self.body.get(key) for key in ("apiVersion", "kind"))
            and metadata.get("name") in self._names(self.body)
            and (metadata.get("namespace") or DEFAULT_NAMESPACE) in self._namespaces(self.body)
        )

    def _names(self, body: Body) -> tuple[str, str]:
        name = str(mapping_at(body, "metadata").get("name"))
        return name, f"{self.prefix}{name}{self.suffix}"

    def _namespaces(self, body: Body) -> tuple[str, str]:
        own = mapping_at(body, "metadata").get("namespace") or DEFAULT_NAMESPACE
        return str(own), str(own if self.namespace is None else self.namespace)


@dataclass(slots=True)
class Build:
    """The objects that a kustomization builds.

    is_open: whether it has objects that are not known here; reason: why what it makes of its
    policies is not known, empty where it is.
    """

    objects: list[BuiltObject] = field(default_factory=list)
    is_open: bool = False
    reason: str = ""

    def add(self, other: Build) -> None:
        """Take what another kustomization builds, which may be taken elsewhere as well."""
        self.is_open |= other.is_open
        self.reason = self.reason or other.reason
        if len(self.objects) + len(other.objects) > MOST_OBJECTS:
            self.is_open = True
            self.reason = f"its kustomization builds more than {MOST_OBJECTS:,} objects"
            return
        self.objects += (each.copy() for each in other.objects)

    def forget_repeated(self) -> None:
        """Forget the new forms of a policy that is there twice: the name of its file stands for
        both."""
        seen: dict[int, BuiltObject] = {}
        for each in self.objects:
            if each.migrated is None:
                continue
            first = seen.setdefault(id(each.migrated), each)
            if first is not each:
                first.documents = each.documents = None

    def selected(self, target: Body) -> list[BuiltObject]:
        """Return the objects that a target selects; raise StaysError where not all are known."""
        found = [each for each in self.objects if each.is_selected(target)]
        if self.is_open and any(each.migrated is not None for each in found):
            raise StaysError("its kustomization has resources that are not among the PATHs")
        return found

    def transform(self, kustomization: Body) -> None:
        """Give the objects the names, namespace, labels and annotations of a kustomization."""
        labels = {**mapping_at(kustomization, "commonLabels")}
        for each in list_of(kustomization.get("labels")):
            labels |= mapping_at(mapping_at(each).get("pairs"))
        given = {
            "labels": labels,
            "annotations": mapping_at(kustomization, "commonAnnotations"),
        }
        added: Body = {"metadata": {key: each for key, each in given.items() if each}}
        for each in self.objects:
            each.prefix = f"{kustomization.get('namePrefix') or ''}{each.prefix}"
            each.suffix = f"{each.suffix}{kustomization.get('nameSuffix') or ''}"
            each.namespace = kustomization.get("namespace") or each.namespace
            if added["metadata"] and each.migrated is not None:
                each.body = Merge(added).apply(each.body)
                if each.documents is not None:
                    each.documents = [Merge(added).apply(one) for one in each.documents]


def built(
    resources: Iterable[Resource], migrated: Mapping[int, MigratedObject]
) -> Iterator[BuiltObject]:
    """Yield the objects of a file; migrated: legacy policies by the identity of their bodies."""
    for resource in resources:
        each = migrated.get(id(resource.body))
        is_whole = each is not None and bool(each.documents) and each.is_whole
        documents = each.documents if each is not None and is_whole else None
        yield BuiltObject(resource.body, each, documents)
