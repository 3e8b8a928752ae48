"""Resource filters: what an old list changed in its chart's defaults is said by keys of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.values.context import Context, Outcome, items
from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.engine.values import Section, Value
from chartkit.output.yaml_tree import Entry, Leaf, data_of, value_of
from chartkit.values.moved import Row
from chartkit.wording import shortened

_ENTRY: Final = re.compile(r"\[([^\]]*)\]")
_NAMESPACES: Final = ("kube-system", "kube-public", "kube-node-lease")
_KINDS: Final = (
    "Event",
    "Node",
    "APIService",
    "TokenReview",
    "SubjectAccessReview",
    "SelfSubjectAccessReview",
    "Binding",
    "ReplicaSet",
)
_GONE_KINDS: Final = (
    "ReportChangeRequest",
    "ClusterReportChangeRequest",
    "AdmissionReport",
    "ClusterAdmissionReport",
    "BackgroundScanReport",
    "ClusterBackgroundScanReport",
)
_OWN_TEMPLATES: Final = (
    "kyverno.fullname",
    "kyverno.serviceName",
    "kyverno.serviceAccountName",
    "kyverno.configMapName",
    "kyverno.metricsConfigMapName",
    ".Values.serviceMonitor",
)
_KUBE_SYSTEM: Final = "kube-system"
_MOST: Final = 5
"""The number of the chart's own filters that make a list an edited copy of them."""


@dataclass(frozen=True, slots=True)
class _Filter:
    kind: str
    namespace: str
    name: str
    item: Entry

    @property
    def of_namespace(self) -> bool:
        """Report whether it leaves a whole namespace alone."""
        return self.kind in ("*", "*/*") and self.name == "*" and self.namespace != "*"

    @property
    def of_kind(self) -> bool:
        """Report whether it leaves a kind alone everywhere."""
        return self.namespace == self.name == "*"


def spared_namespaces(context: Context, row: Row) -> None:
    """Namespaces that filters leave in."""
    names = context.value(row.key)
    if not names:
        context.remove(row.key, "It is empty, and says nothing.")
        return
    if _KUBE_SYSTEM in names:
        context.sees_kube_system = True
    context.move(row)


def move_filters(context: Context, row: Row) -> None:
    """An edited copy of the old defaults becomes its edits; another list is kept, rewritten."""
    entry = context.tree.find(row.key)
    if entry is None:
        return
    data = data_of(entry.value)
    is_text = isinstance(data, str)
    text = " ".join(map(str, data)) if isinstance(data, list) else str(data or "")
    unread = _ENTRY.sub("", text).strip(" ,\n")
    if unread:
        why = f"'{shortened(unread, 60)}' is not a filter: Kyverno reads only what is in brackets."
        do = "Write it as [Kind,namespace,name], or leave it out."
        context.say(Outcome.ASKED, row.key, entry, (), why, do)
        return
    filters = list(_filters([entry] if is_text else items(entry)))
    defaults = [filter_ for filter_ in filters if _is_default(filter_)]
    present = {default.namespace if default.of_namespace else default.kind for default in defaults}
    is_left_out = any(each.of_namespace and each.namespace == _KUBE_SYSTEM for each in filters)
    if _KUBE_SYSTEM not in present and not is_left_out:
        context.sees_kube_system = True
    if len(present & {*_NAMESPACES, *_KINDS}) < _MOST:
        _keep(context, row, filters)
        return
    added = [filter_ for filter_ in filters if not _is_default(filter_)]
    missing = [name for name in (*_NAMESPACES, *_KINDS) if name not in present]
    context.tree.drop(row.key)
    targets = list(_add(context, added))
    texts = [text for name in missing for text in _ours(name)]
    if texts:
        excluded = [Entry("", Leaf(text)) for text in texts]
        targets += _put(context, ("config", "resourceFiltersExclude"), excluded)
    why = "It is a copy of the old chart's filters, and the chart has its own."
    if targets:
        why = (
            "It is a copy of the old chart's filters; what it adds and takes out has its own keys."
        )
    outcome = Outcome.CHANGED if targets else Outcome.REMOVED
    context.say(outcome, row.key, entry, targets, why)


def _add(context: Context, added: Sequence[_Filter]) -> Iterator[tuple[str, ...]]:
    namespaces = [filter_ for filter_ in added if filter_.of_namespace]
    others = [filter_ for filter_ in added if not filter_.of_namespace]
    if namespaces:
        target = ("config", "resourceFiltersIncludeNamespaces")
        entries = [_item(namespace.namespace, namespace.item) for namespace in namespaces]
        yield from _put(context, target, entries)
    if others:
        target = ("config", "resourceFiltersInclude")
        entries = [entry for other in others for entry in _written(other)]
        yield from _put(context, target, entries)


def _put(
    context: Context, target: tuple[str, ...], entries: list[Entry]
) -> Iterator[tuple[str, ...]]:
    value = value_of([""])
    if not isinstance(value, Leaf):
        value.entries = entries
    context.tree.put(target, Entry("", value))
    yield target


def _keep(context: Context, row: Row, filters: Sequence[_Filter]) -> None:
    entry = context.tree.find(row.key)
    if entry is None:
        return
    kept = [filter_ for filter_ in filters if filter_.kind not in _GONE_KINDS]
    entries = [item for filter_ in kept if not _is_own(filter_) for item in _written(filter_)]
    value = value_of([""])
    if entries and not isinstance(value, Leaf):
        value.entries = entries
        entry.value = value
    elif not isinstance(entry.value, Leaf) or entry.value.data:
        entry.value = Leaf([])
    do = "Filters for Kyverno's own objects are among the chart's defaults alone."
    context.say(Outcome.CHANGED, row.key, entry, row.targets, row.why, do)


def _written(filter_: _Filter) -> Iterator[Entry]:
    """A filter as it must be written to leave out what it did."""
    if filter_.kind == "*":
        yield _item(f"[*/*,{filter_.namespace},{filter_.name}]", filter_.item)
        return
    yield _item(f"[{filter_.kind},{filter_.namespace},{filter_.name}]", filter_.item)
    if "/" not in filter_.kind:
        yield Entry("", Leaf(f"[{filter_.kind}/?*,{filter_.namespace},{filter_.name}]"))


def _item(text: str, old: Entry) -> Entry:
    comment = old.value.comment if isinstance(old.value, Leaf) else ""
    entry = Entry("", Leaf(text, None, comment), lead=old.lead, tail=old.tail, line=old.line)
    old.lead, old.tail = [], []
    return entry


def _filters(entries: Sequence[Entry]) -> Iterator[_Filter]:
    for entry in entries:
        for inner in _ENTRY.findall(str(data_of(entry.value))):
            parts = [part.strip() for part in inner.split(",")]
            kind, namespace, name = (*parts, *(["*"] * 3))[:3]
            yield _Filter(kind, namespace or "*", name or "*", entry)


def _is_default(entry: _Filter) -> bool:
    if entry.of_namespace and (entry.namespace in _NAMESPACES or entry.namespace == "kyverno"):
        return True
    if entry.of_kind and entry.kind in (*_KINDS, *_GONE_KINDS):
        return True
    return _is_own(entry)


def _is_own(filter_: _Filter) -> bool:
    """Report whether it is for an object of the old chart."""
    text = f"{filter_.kind},{filter_.namespace},{filter_.name}"
    return any(name in text for name in _OWN_TEMPLATES)


def _ours(name: str) -> Iterator[str]:
    """The chart's own filters that do what an old one did."""
    section = engine_chart.catalogue().entries["config"]
    filters = section.entries["resourceFilters"] if isinstance(section, Section) else None
    for text in filters.default if isinstance(filters, Value) else ():
        for own in _filters([Entry("", Leaf(text))]):
            kind = own.kind.partition("/")[0]
            if (own.of_namespace and own.namespace == name) or (own.of_kind and kind == name):
                yield text
