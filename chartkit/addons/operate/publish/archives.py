"""Charts packed as Helm packs them; the same chart gives the same bytes, whenever it is packed."""

from __future__ import annotations

import hashlib
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import semver

from chartkit import atomic
from chartkit.charts.plan import ENGINE, POLICIES, REPORTER
from chartkit.documents.input_files import read_bytes
from chartkit.documents.reader import parse_yaml
from chartkit.errors import ChartkitError, InputError, RenderError
from chartkit.helm import chart_folder
from chartkit.helm.backend import helm
from chartkit.helm.packed import packed, unpacked
from chartkit.model import Location, text_of
from chartkit.project.project import Project

_METADATA: Final = "Chart.yaml"
_LARGEST: Final = 64 * 1024 * 1024
_LARGEST_SIGNATURE: Final = 1024 * 1024
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
"""A chart's name as Helm takes it. It becomes part of a file's name, and a stranger may have
written it."""


class PublishError(ChartkitError):
    """Charts that are not to be published, or that a registry did not take."""

    exit_code: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class ChartArchive:
    """A packed chart. metadata: its Chart.yaml; provenance: the signed `.prov`, empty without."""

    name: str
    version: str
    content: bytes
    metadata: str
    provenance: bytes = b""

    @property
    def file(self) -> str:
        """The archive's file name, as Helm gives it."""
        return f"{self.name}-{self.version}.tgz"

    @property
    def digest(self) -> str:
        """The SHA-256 of the archive, as registries write it."""
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"


def pack(project: Project) -> tuple[ChartArchive, ...]:
    """Pack the charts that a project has written; raise RenderError for one that Helm refuses."""
    folders = [project.charts / name for name in (ENGINE, POLICIES, REPORTER)]
    written = [folder for folder in folders if (folder / _METADATA).is_file()]
    if not written:
        message = "there are no charts to pack"
        raise InputError(message, Location(str(project.charts)), "run `chartkit render` first")
    return tuple(_packed(folder) for folder in written)


def _packed(folder: Path) -> ChartArchive:
    helm().check(folder)
    found = [each for each in chart_folder.entries(folder) if not each.folder]
    files = {each.name: chart_folder.read(each.path, each.name) for each in found}
    files = {name: files[name] for name in sorted(files, key=lambda one: (one != _METADATA, one))}
    metadata = files[_METADATA].decode("utf-8", "replace")
    name, version = _identity(metadata, folder / _METADATA)
    return ChartArchive(name, version, packed(files, name), metadata)


def read(path: Path) -> ChartArchive:
    """Read a packed chart, with the `.prov` next to it; raise InputError."""
    content = read_bytes(path, _LARGEST)
    signed = path.with_name(f"{path.name}.prov")
    provenance = read_bytes(signed, _LARGEST_SIGNATURE) if signed.exists() else b""
    try:
        files = unpacked(content, "")
    except RenderError as error:
        hint = "`chartkit package` packs charts"
        raise InputError(error.message, Location(str(path)), hint) from None
    metadata = files.get(_METADATA, b"").decode("utf-8", "replace")
    return ChartArchive(*_identity(metadata, path), content, metadata, provenance)


def write(archives: tuple[ChartArchive, ...], folder: Path) -> list[Path]:
    """Write archives and what was signed, all or none; raise InputError."""
    texts = {each.file: each.content for each in archives}
    texts |= {f"{each.file}.prov": each.provenance for each in archives if each.provenance}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as files:
            for name, content in texts.items():
                files.enter_context(atomic.replacing(folder / name)).write(content)
    except OSError as error:
        place = Location(str(error.filename or folder))
        raise InputError(f"cannot be written: {error.strerror or error}", place) from None
    return [folder / each.file for each in archives]


def _identity(metadata: str, place: Path) -> tuple[str, str]:
    where = Location(str(place))
    try:
        body = parse_yaml(metadata)
    except InputError as error:
        raise InputError(f"its Chart.yaml {error.message}", where) from None
    found = [body.get(key) if isinstance(body, dict) else None for key in ("name", "version")]
    name, version = (text_of(each) for each in found)
    if not _NAME.fullmatch(name):
        hint = "letters, digits, and . _ - within"
        raise InputError("its Chart.yaml has no `name` that Helm takes", where, hint)
    if not semver.Version.is_valid(version):
        hint = "such as 1.4.0"
        raise InputError("its Chart.yaml has no semantic `version`", where, hint)
    return name, version
