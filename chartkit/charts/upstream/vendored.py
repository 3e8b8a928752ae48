"""Upstream's own charts in `vendor/charts/`, which `render` uses in place of ours.

A chart that is there is used: that it is shows in the summary of `render`. `charts/NAME/` is then
upstream's files, owned by chartkit, and values files with what chartkit.yaml says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urljoin

import semver

from chartkit.charts.plan import ENGINE, NAMES, POLICIES, REPORTER, ChartPlan, layered, values_file
from chartkit.charts.upstream.chart_files import (
    METADATA,
    VALUES,
    ChartFiles,
    plain_version,
    read_chart,
)
from chartkit.charts.upstream.values import Said, environment_values
from chartkit.documents.reader import read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, Location
from chartkit.network.downloads.download import (
    checked_url,
    download,
    read_archive,
    read_folder,
    unpack,
)
from chartkit.network.downloads.lockfile import (
    CHARTS,
    DEFAULT,
    LOCK_FILE,
    VENDOR,
    Limits,
    Lock,
    Origin,
    SourceKind,
    digest,
    digest_of_all,
    from_project,
    held,
    is_left_out,
    publish,
    read_lock,
    require_unchanged,
    verify,
)
from chartkit.network.http.urls import is_url, shown_url
from chartkit.project.environment import Environment
from chartkit.suggestions import suggestion

_OF_KYVERNO: Final = (ENGINE, POLICIES)
"""Those whose appVersion is Kyverno's."""
_KYVERNO: Final = "https://kyverno.github.io/kyverno"
REPOSITORIES: Final[Mapping[str, str]] = {
    ENGINE: _KYVERNO,
    POLICIES: _KYVERNO,
    REPORTER: "https://kyverno.github.io/policy-reporter",
}
"""The repository of each chart."""
_ARCHIVES: Final = (".tgz", ".tar.gz", ".zip")
_OCI: Final = "oci"
_OLDEST: Final = Version(1, 10)
"""The first Kyverno whose chart has the four controllers that the checks know."""
_PACKED: Final = frozenset({SourceKind.ARCHIVE, SourceKind.REPOSITORY})
INDEX: Final = "index.yaml"
_LARGEST_INDEX: Final = 32_000_000
"""Bytes; the index of Kyverno's charts has some two million."""
_SHOWN: Final = 5
_DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Vendored:
    """A vendored chart: where it stands, what is locked, and what it is."""

    folder: Path
    lock: Lock
    chart: ChartFiles

    @property
    def name(self) -> str:
        """The chart's name."""
        return self.chart.name

    @property
    def source(self) -> str:
        """Return its source, for people."""
        return self.lock.origin.shown

    @property
    def lock_place(self) -> Location:
        """Return the place of its source in its lock file."""
        return Location(str(self.folder / LOCK_FILE), 1)


def read_vendored(root: Path) -> Mapping[str, Vendored]:
    """The vendored charts of a project by name; root: its folder. Raises InputError for one that
    differs from its lock file, or is not a chart."""
    folder = root / VENDOR / CHARTS
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    names = [path.name for path in paths if not path.name.startswith(".")]
    for name in names:
        if name not in NAMES:
            hint = f"remove it; there can be {', '.join(NAMES)}"
            raise InputError("is not a chart that is vendored", Location(str(folder / name)), hint)
    ordered: dict[str, Vendored] = {}
    for name in filter(names.__contains__, NAMES):
        path = folder / name
        lock = read_lock(path)
        require_unchanged(path)
        chart = read_chart({file: (path / file).read_bytes() for file in lock.files}, str(path))
        if (chart.name, chart.version) != (name, plain_version(lock.origin.ref)):
            what = f"is {chart.name} {chart.version}, and was vendored as {name}"
            raise InputError(f"{what} {lock.origin.ref}", Location(str(path)), "vendor it again")
        ordered[name] = Vendored(path, lock, chart)
    return MappingProxyType(ordered)


def kyverno_of(chart: ChartFiles, location: Location) -> Version | None:
    """The Kyverno that a chart is for; None where it is for no particular one."""
    if chart.name not in _OF_KYVERNO:
        return None
    return parse_version(chart.app_version, "Kyverno", location)


def require_kyverno(vendored: Vendored, environment: Environment) -> None:
    """Raises InputError where an environment runs another Kyverno than the chart is for."""
    own = kyverno_of(vendored.chart, vendored.lock_place)
    if own is None or own == environment.kyverno:
        return
    verb = "installs" if vendored.name == ENGINE else "is for"
    what = f"the vendored chart {vendored.name} {vendored.chart.version} {verb} Kyverno {own}"
    hint = f'set kyverno: "{own}", or vendor another version of the chart'
    if vendored.name == ENGINE:
        hint += "; or engine: false where another chart installs Kyverno"
    location = environment.locate("kyverno")
    raise InputError(f"{what}, not {environment.kyverno}", location, hint)


def plan(taken: Vendored, environments: Iterable[Environment], root: Path) -> ChartPlan:
    """The chart for these environments; root: the project's folder. Raises InputError."""
    files = {name: text for name, text in taken.chart.files.items() if name != VALUES}
    values = {VALUES: taken.chart.files.get(VALUES, "")}
    own: dict[str, Body] = {}
    for environment in environments:
        require_kyverno(taken, environment)
        own[environment.name] = said(taken, environment, root).values
    for environment_name, body in layered(own).items():
        name = values_file(environment_name)
        if name in files:
            what = f"has a file {name} of its own, and the environment needs that name"
            raise InputError(what, Location(str(taken.folder)), "rename the environment")
        head = (
            f"# What chartkit.yaml says of {environment_name} to upstream's chart {taken.name}.\n"
        )
        values[name] = head + (dump_yaml(body) if body else "")
    return ChartPlan(taken.name, files, values)


def said(vendored: Vendored, environment: Environment, root: Path) -> Said:
    """Return the values from chartkit.yaml for the chart of an environment; raises InputError."""
    return environment_values(vendored.chart, environment, root)


@dataclass(frozen=True, slots=True)
class VendoredNow:
    """The result of vendoring: the chart, its lock, its folder, and the chart that it replaces.

    replaced: the version that went, empty where there was none; changed: whether anything was
    written.
    """

    chart: ChartFiles
    lock: Lock
    folder: Path
    replaced: str
    changed: bool


def vendor_chart(
    name: str, version: str, project: Path, source: str = "", limits: Limits = DEFAULT
) -> VendoredNow:
    """Takes a version of a chart into `vendor/charts/`; raises InputError, and nothing was written.

    source: a Helm repository or an archive by URL, an archive or a folder by its path (which
    starts at the current folder); empty for the repository that the chart is published in.
    A version that is there already is taken again only if it is the same.
    """
    if name not in NAMES:
        hint = suggestion(name, NAMES) or f"there are {', '.join(NAMES)}"
        raise InputError(f"'{name}' is not a chart that is vendored", hint=hint)
    wanted = plain_version(version)
    origin, content = _take(name, wanted, source, project, limits)
    shown = origin.shown
    files = _chart_root(content, shown)
    chart = read_chart(files, shown, limits)
    if chart.name != name:
        raise InputError(f"is the chart {chart.name}, not {name}", Location(shown))
    if chart.version != wanted:
        hint = f"say --version {chart.version}, or give another source"
        raise InputError(f"is {name} {chart.version}, not {wanted}", Location(shown), hint)
    kyverno = kyverno_of(chart, Location(f"{shown}/{METADATA}", 1))
    if name == ENGINE and kyverno is not None and kyverno < _OLDEST:
        what = f"installs Kyverno {kyverno}, whose chart has one controller for all"
        raise InputError(what, Location(shown), f"the checks know charts from {_OLDEST} on")
    lock = Lock(origin, {file: digest(data) for file, data in files.items()})
    folder = project / VENDOR / CHARTS / name
    with held(project):
        replaced, same = _before(folder, lock)
        if not same:
            publish(folder, files, lock, project)
    return VendoredNow(chart, lock, folder, replaced, not same)


def _take(
    name: str, version: str, source: str, project: Path, limits: Limits
) -> tuple[Origin, dict[str, bytes]]:
    given = source or REPOSITORIES[name]
    if is_url(given):
        if given.partition(":")[0].lower() == _OCI:
            url = shown_url(given)
            hint = f"`helm pull {url} --version {version}` writes an archive: give that by --from"
            raise InputError("OCI registries are not read", Location(url), hint)
        if checked_url(given).path.lower().endswith(_ARCHIVES):
            content = download(given, limits)
            origin = Origin(SourceKind.ARCHIVE, given, version, digest(content))
            return origin, unpack(content, shown_url(given), limits)
        offer = find(given, name, version, limits)
        content = fetch(offer, limits)
        origin = Origin(SourceKind.REPOSITORY, given, version, offer.sha256)
        return origin, unpack(content, shown_url(offer.url), limits)
    relative = from_project(given, project)
    path = project / relative
    if path.is_dir():
        files = read_folder(path, limits)
        revision = digest_of_all({file: digest(data) for file, data in files.items()})
        return Origin(SourceKind.FOLDER, relative, version, revision), files
    content = read_archive(path, given, limits)
    origin = Origin(SourceKind.ARCHIVE, relative, version, digest(content))
    return origin, unpack(content, given, limits)


def _chart_root(files: Mapping[str, bytes], shown: str) -> dict[str, bytes]:
    """A chart's files without the folder that archives wrap around it."""
    if METADATA in files:
        return dict(files)
    tops = {name.partition("/")[0] for name in files}
    if len(tops) != 1 or f"{next(iter(tops))}/{METADATA}" not in files:
        hint = f"give the folder that {METADATA} is in, or an archive of it"
        raise InputError(f"holds no chart: there is no {METADATA}", Location(shown), hint)
    inner = {name.partition("/")[2]: content for name, content in files.items()}
    return {name: content for name, content in inner.items() if not is_left_out(name)}


def _before(folder: Path, lock: Lock) -> tuple[str, bool]:
    """The version that stands there, empty for none, and whether it is the same and whole. Raises
    InputError where it is the same version and something else."""
    if not folder.exists() and not folder.is_symlink():
        return "", False
    old = read_lock(folder)
    if old.origin.ref != lock.origin.ref:
        require_unchanged(folder)
        return old.origin.ref, False
    packed = {old.origin.kind, lock.origin.kind} <= _PACKED
    if (packed and old.origin.revision != lock.origin.revision) or old.files != lock.files:
        what = f"version {lock.origin.ref} has changed since it was vendored"
        if packed:
            what += f": its SHA-256 was {old.origin.revision}, and is {lock.origin.revision}"
        hint = "a published version does not change: ask who publishes it, then remove the folder"
        raise InputError(what, Location(str(folder / LOCK_FILE)), hint)
    return old.origin.ref, not verify(folder)


@dataclass(frozen=True, slots=True)
class Offer:
    """A version of a chart as an index has it; sha256: of its archive."""

    url: str
    sha256: str


def find(repository: str, name: str, version: str, limits: Limits) -> Offer:
    """Return the entry of a chart's version in a repository's index; raises InputError."""
    index = f"{repository.rstrip('/')}/{INDEX}"
    content = download(index, replace(limits, archive=min(limits.archive, _LARGEST_INDEX)))
    shown = shown_url(index)
    try:
        documents = read_text(content.decode("utf-8"), shown)
    except UnicodeDecodeError:
        documents = []
    body = documents[0].body if documents else None
    charts = body.get("entries") if isinstance(body, dict) else None
    if not isinstance(charts, dict):
        hint = "give the URL of the folder with index.yaml, or of an archive (.tgz)"
        raise InputError("is not an index of a Helm repository", Location(shown), hint)
    versions = charts.get(name)
    if not isinstance(versions, list) or not versions:
        listed = ", ".join(sorted(map(str, charts))[:_SHOWN]) or "none"
        raise InputError(f"has no chart {name}", Location(shown), f"it has {listed}")
    entries = [entry for entry in versions if isinstance(entry, dict)]
    for entry in entries:
        if plain_version(str(entry.get("version"))) == plain_version(version):
            return _offer(entry, index, f"{name} {version}")
    numbers = [plain_version(str(entry.get("version"))) for entry in entries]
    valid = [number for number in numbers if semver.Version.is_valid(number)]
    released = [number for number in valid if not semver.Version.parse(number).prerelease]
    newest = sorted(released or valid, key=semver.Version.parse, reverse=True)[:_SHOWN]
    hint = f"the newest are {', '.join(newest) or 'none'}"
    raise InputError(f"has no version {version} of {name}", Location(shown), hint)


def fetch(offer: Offer, limits: Limits) -> bytes:
    """The archive of an offer; raises InputError, too, where it is not the one of the index."""
    content = download(offer.url, limits)
    actual = digest(content)
    if actual != offer.sha256:
        what = f"is not what the index says: its SHA-256 is {actual}, and not {offer.sha256}"
        hint = "it was changed after it was published, or on its way: ask who publishes it"
        raise InputError(what, Location(shown_url(offer.url)), hint)
    return content


def _offer(entry: Body, index: str, what: str) -> Offer:
    location = Location(shown_url(index))
    text = entry.get("digest")
    match = _DIGEST.fullmatch(text.lower()) if isinstance(text, str) else None
    urls, sha256 = entry.get("urls"), match[1] if match else ""
    if not isinstance(urls, list) or not urls or not isinstance(urls[0], str):
        raise InputError(f"does not say where {what} is", location)
    if not sha256:
        hint = "download the archive yourself, see that it is the right one, and give it by --from"
        raise InputError(f"has no digest for {what}", location, hint)
    url = urljoin(index, urls[0])
    if checked_url(index).scheme == "https" and checked_url(url).scheme != "https":
        raise InputError(f"leads from https to {shown_url(url)}", location)
    return Offer(url, sha256)
