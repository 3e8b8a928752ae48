"""Text around policies that does not follow them: it is named, with its place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from chartkit.addons.migrate.charts.chart import ChartMigration, chart_name
from chartkit.addons.migrate.convert import policy_key
from chartkit.addons.migrate.files.kustomize.carried import Carried
from chartkit.addons.migrate.files.references import PATCH, PATCHES, Steps, references
from chartkit.addons.migrate.files.texts import MigratedObject, named_in
from chartkit.addons.migrate.plan.inventory import Inventory, LegacyObject, is_status
from chartkit.addons.migrate.plan.origin import Tool
from chartkit.documents.reader import Document, read_file, read_source, resources
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.engine.kubernetes.kinds import KYVERNO_GROUP, group_of
from chartkit.errors import InputError
from chartkit.helm.kustomize import is_kustomization
from chartkit.model import Body, Json, Location, Resource, list_of, mapping_at, mappings_at
from chartkit.report.model import resource_id
from chartkit.scan.inputs import CHART_FILE, is_object
from chartkit.wording import counted

_DEPLOYED: Final = ("HelmRelease", "Application", "ApplicationSet", "ConfigMap")
"""Kinds of objects that hold values of charts."""
_KEYS: Final = (
    r"validationFailureAction\w*|policyExclude|policyPreconditions|failurePolicyByPolicyName"
    r"|autogenControllers|backgroundByPolicyName|skipBackgroundRequests\w*"
)
_VALUES: Final = re.compile(_KEYS)
_IN_TEXT: Final = re.compile(rf"^[ \t]*({_KEYS})[ \t]*:", re.MULTILINE)
_VALUE: Final = "a value of a chart of ClusterPolicies, which the new policies do not read"
_RENDERED: Final = "is rendered from a chart, whose template stays: change {place} by hand"
_READ: Final = "is in {place}, which no template changes: migrate that file itself"
_DEPENDENCY: Final = "a chart that others depend on, with {policies}: migrate the chart itself"
_TEMPLATE: Final = "the policy of this template stays: {reason}"
_CHECK: Final = (
    "stops Helm where the API kyverno.io is not served, which the new policies do not need"
)
_IN_CLUSTER: Final = "is in a cluster, where nothing is changed"
_STATUS: Final = "a test waits for the status of {name}, which the new policies replace"
_PRESENT: Final = "{name} is there already, and what {legacy} becomes has the same name"
_BESIDE: Final = "stays next to its new form: charts render what it names until policyType is set"
_EXCEPTION: Final = "names {name}, which converts: the new policy applies without this exception"


@dataclass(frozen=True, slots=True)
class Mention:
    """A part of the inputs that is left to be done by hand, although the policies convert."""

    location: Location
    what: str


def mentions(
    inventory: Inventory,
    migrated: Sequence[MigratedObject],
    patches: Iterable[LegacyObject],
    carried: Carried,
    charts: ChartMigration,
) -> list[Mention]:
    """Return what is not carried along: values, kustomize patches, templates and exceptions.

    patches: the policies of the inventory that are patches; carried: those patches that follow;
    charts: the templates with both forms.
    """
    rows = list[Mention]()
    for patch in (item.resource for item in patches):
        file = Path(patch.location.file)
        if not carried.follows(file):
            text = _with_reason(PATCH.format(name=resource_id(patch)), carried.reason(file))
            rows.append(Mention(patch.location, text))
    own = {
        name
        for folder in inventory.charts
        if any(file.is_relative_to(folder) for file in charts.converted)
        for name in (folder.resolve().name, chart_name(folder))
    }
    files = _Files(
        {policy.legacy.resource.name for policy in migrated if policy.documents},
        {_identity(Resource(body)): policy for policy in migrated for body in policy.documents},
        own,
    )
    for documents in inventory.documents.values():
        rows += files.mentions(documents, carried)
    for chart in inventory.charts:
        rows += _in_chart(chart, own)
    rows += _rendered(migrated, charts)
    rows += (Mention(place, _TEMPLATE.format(reason=reason)) for place, reason in charts.left)
    rows += (Mention(place, _CHECK) for place in charts.checks)
    rows += _exceptions(migrated)
    return rows


def _with_reason(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason else text


@dataclass(frozen=True, slots=True)
class _Files:
    """The search of files; names: those of policies that convert; new: the legacy object of each
    new one, by its identity; charts: the names of charts with both forms, which read the same
    values."""

    names: Collection[str]
    new: Mapping[tuple[str, ...], MigratedObject]
    charts: Collection[str]

    def mentions(self, documents: Iterable[Document], carried: Carried) -> Iterator[Mention]:
        """Yield what the documents of a file have that is not carried along."""
        for document in documents:
            if is_object(document):
                yield from filter(None, map(self._object, _objects(document)))
            file = Path(document.source.file)
            for steps, text in references(document, self.names):
                if not carried.follows(file, steps):
                    what = _with_reason(text, carried.reason(file, steps))
                    yield Mention(document.locate(*steps), what)
            if not any(name in self.charts for name in _installed(document.body)):
                yield from _values_in(document)

    def _object(self, resource: Resource) -> Mention | None:
        name = resource_id(resource)
        if is_legacy(resource) and is_status(resource):
            return Mention(resource.location, _STATUS.format(name=name))
        same = self.new.get(_identity(resource))
        if same is None:
            return None
        legacy = resource_id(same.legacy.resource)
        return Mention(resource.location, _PRESENT.format(name=name, legacy=legacy))


def _objects(document: Document) -> list[Resource]:
    try:
        return resources([document])
    except InputError:
        return []  # of a patch; the inventory names others


def _identity(resource: Resource) -> tuple[str, ...]:
    return group_of(resource), resource.kind, resource.namespace, resource.name


def _in_chart(folder: Path, own: Collection[str]) -> Iterator[Mention]:
    """Yield the values that a chart has for charts which it depends on, but for own ones, whose
    policies of both forms read them."""
    others = _dependencies(folder)
    for file in sorted(folder.glob("values*.y*ml")):
        try:
            documents = read_file(file)
        except InputError:
            continue  # Helm names it
        for document in documents:
            for key, values in mapping_at(document.body).items():
                if key in others and others[key] not in own:
                    for steps, name in _values(values, (key,)):
                        yield _value(document, steps, name)


def _dependencies(folder: Path) -> dict[str, str]:
    """Return the names of the charts that a chart depends on, by what its values call them."""
    try:
        (document,) = read_file(folder / CHART_FILE)
    except (InputError, ValueError):
        return {}
    return {path.name: path.name for path in (folder / "charts").glob("*/")} | {
        str(row.get("alias") or row.get("name")): str(row.get("name"))
        for row in mappings_at(document.body, "dependencies")
    }


def _installed(body: Json) -> Iterator[str]:
    """Yield the names of the charts that a HelmRelease or an Application installs."""
    for spec in (mapping_at(body, "spec"), mapping_at(body, "spec", "template", "spec")):
        sources = [mapping_at(spec, "chart", "spec"), mapping_at(spec, "source")]
        for source in (*sources, *mappings_at(spec, "sources")):
            yield from (PurePosixPath(str(source.get(key))).name for key in ("chart", "path"))


def _values_in(document: Document) -> Iterator[Mention]:
    body = document.body
    is_schema = isinstance(body, dict) and "$schema" in body
    if is_schema or (is_object(document) and body["kind"] not in _DEPLOYED):
        return
    for steps, name in _values(body, ()):
        yield _value(document, steps, name)


def _value(document: Document, steps: Steps, name: str) -> Mention:
    return Mention(document.locate(*steps), f"{name} is {_VALUE}")


def _values(value: Json, steps: Steps) -> Iterator[tuple[Steps, str]]:
    """Yield the values of charts of ClusterPolicies: the way to each, and its name."""
    match value:
        case dict():
            named = value.get("name")
            if "value" in value and isinstance(named, str) and _VALUES.fullmatch(named):
                yield steps, named  # a parameter of Argo CD
            for key, item in value.items():
                if isinstance(key, str) and _VALUES.fullmatch(key):
                    yield (*steps, key), key
                else:
                    yield from _values(item, (*steps, key))
        case list():
            for index, item in enumerate(value):
                yield from _values(item, (*steps, index))
        case str():
            yield from ((steps, match[1]) for match in _IN_TEXT.finditer(value))


def patch_files(inventory: Inventory) -> frozenset[Path]:
    """Return the files that the kustomizations among the inputs have as patches: parts of policies,
    not policies."""
    return frozenset(
        named_in(file.parent, name)
        for file, documents in inventory.documents.items()
        if is_kustomization(file)
        for document in documents
        for name in _patch_names(mapping_at(document.body))
    )


def _patch_names(kustomization: Body) -> Iterator[str]:
    for key in PATCHES:
        for patch in list_of(kustomization.get(key)):
            name = patch if isinstance(patch, str) else mapping_at(patch).get("path")
            if isinstance(name, str) and "\n" not in name and "\x00" not in name:
                yield name


def _rendered(migrated: Iterable[MigratedObject], charts: ChartMigration) -> Iterator[Mention]:
    dependencies: Counter[Path] = Counter()
    sources, names_of = cache(_sources), cache(_dependencies)
    for migrated_object in migrated:
        resource, origin = migrated_object.legacy.resource, migrated_object.legacy.origin
        if migrated_object.legacy.document is not None or charts.has(resource.location):
            continue
        below = Path(resource.location.file.removeprefix(origin.name)).parts
        if origin.tool is Tool.CHART and "charts" in below:
            at = len(below) - below[::-1].index("charts") + 1
            *above, name = below[:at][below[0] == "/" :]
            parent = Path(origin.name, *above[:-1])
            dependencies[parent / "charts" / names_of(parent).get(name, name)] += 1
            continue
        text = _IN_CLUSTER
        if origin.tool is Tool.CHART:
            folder = Path(origin.name)
            text = _by_hand(resource, folder, sources(folder))
        yield Mention(resource.location, f"{resource_id(resource)} {text}")
    for folder, count in dependencies.items():
        yield Mention(
            Location(str(folder)), _DEPENDENCY.format(policies=counted(count, "policy", "policies"))
        )


def _sources(folder: Path) -> dict[Path, str]:
    """Return the texts of a chart's files that may hold a policy."""
    texts: dict[Path, str] = {}
    for file in sorted(folder.rglob("*.*")):
        if file.suffix in (".yaml", ".yml", ".tpl") and file.is_file():
            with suppress(InputError):
                texts[file] = read_source(file)
    return texts


def _by_hand(resource: Resource, folder: Path, sources: Mapping[Path, str]) -> str:
    """Return what to do about a policy that no template of a chart has as it is: with the place of
    its rule in another file, or that of the named template that it is made with."""
    template = Path(resource.location.file)
    source = read_source(template) if template.is_file() else ""
    is_read = ".Files." in source and "tpl " not in source
    if folder / "crds" in template.parents:
        return _READ.format(place=template)
    names = (str(rule.get("name")) for rule in mappings_at(resource.body, "spec", "rules"))
    named = [f"name: {name}" for name in (resource.name, *names)]
    for sought in (*named, f"kind: {resource.kind}"):
        for file, text in sources.items():
            if file == template or f"{KYVERNO_GROUP}/" not in text:
                continue
            match = re.search(rf"^[ -]*{re.escape(sought)}\s*$", text, re.MULTILINE)
            if match is not None:
                line = text.count("\n", 0, match.start()) + 1
                place = file if is_read else f"{file}:{line}"
                return (_READ if is_read else _RENDERED).format(place=place)
    return _RENDERED.format(place="it")


def _exceptions(migrated: Sequence[MigratedObject]) -> Iterator[Mention]:
    """Yield the exceptions that stay and name a policy which does not."""
    replaced = {policy_key(item.legacy.resource): item for item in migrated if item.documents}
    for migrated_object in migrated:
        if migrated_object.legacy.resource.kind != "PolicyException":
            continue
        is_kept = migrated_object.remaining is migrated_object.legacy.resource.body
        if is_kept and migrated_object.documents:
            name = resource_id(migrated_object.legacy.resource)
            yield Mention(migrated_object.legacy.resource.location, f"{name} {_BESIDE}")
        if migrated_object.documents:
            continue
        listed = mappings_at(migrated_object.legacy.resource.body, "spec", "exceptions")
        for index, entry in enumerate(listed):
            policy = replaced.get(str(entry.get("policyName")))
            if policy is not None:
                location = migrated_object.legacy.locate(f"/spec/exceptions/{index}")
                text = _EXCEPTION.format(name=resource_id(policy.legacy.resource))
                yield Mention(location, text)
