"""Writes small charts that stand in for upstream's, packed and published as Helm does it."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from typing import Final

from tests.data import beside
from tests.unit.network.downloads.hostile_server import Answer, body

_TEXTS = beside(__file__)
PROJECT: Final = _TEXTS["project"]
CONTROLLERS: Final = ("admission", "background", "cleanup", "reports")
_DEPLOYMENTS: Final = _TEXTS["deployments"]
_CONFIG_MAP: Final = _TEXTS["config-map"]
_POLICY: Final = _TEXTS["policy"]


def chart(name: str = "kyverno", version: str = "3.9.0", app: str = "v1.19.0") -> dict[str, bytes]:
    """A chart's files by path."""
    files = {
        "Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\nappVersion: {app}\n",
        "values.yaml": "text: default\n",
        "templates/NOTES.txt": f"{name} is here.\n",
        "README.md": "# A small chart\n",
    }
    match name:
        case "kyverno":
            keys = [f"{each}Controller:\n  replicas: 1\n" for each in CONTROLLERS]
            files["values.yaml"] += "".join(keys)
            files["templates/deployments.yaml"] = _DEPLOYMENTS
        case "kyverno-policies":
            files["values.yaml"] = (
                "podSecurityStandard: baseline\nvalidationFailureAction: Audit\n"
                "validationFailureActionByPolicy: {}\npolicyExclude: {}\n"
            )
            files["templates/baseline/disallow-host-path.yaml"] = _POLICY
        case _:
            files["templates/config.yaml"] = _CONFIG_MAP.replace("NAME", name)
    return {path: text.encode() for path, text in files.items()}


def with_subchart(files: Mapping[str, bytes], packed: bool) -> dict[str, bytes]:
    """A chart with a subchart `extra`, as a folder or as an archive."""
    metadata = files["Chart.yaml"] + b"dependencies: [{name: extra, version: 0.1.0}]\n"
    inner = chart("extra", "0.1.0", "v1")
    own = (
        {"charts/extra-0.1.0.tgz": packed_chart(inner, "extra")}
        if packed
        else {f"charts/extra/{path}": content for path, content in inner.items()}
    )
    return {**files, "Chart.yaml": metadata, **own}


def packed_chart(files: Mapping[str, bytes], name: str = "kyverno") -> bytes:
    """The archive that `helm package` writes; the same bytes for the same files."""
    out = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w") as archive,
    ):
        for path, content in files.items():
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def index(name: str, archives: Mapping[str, tuple[bytes, str]]) -> bytes:
    """index.yaml of a Helm repository; archives: content and URL by version."""
    entries = "".join(
        f"    - name: {name}\n      version: {version}\n      urls: ['{url}']\n"
        f"      digest: {hashlib.sha256(content).hexdigest()}\n"
        for version, (content, url) in archives.items()
    )
    return f"apiVersion: v1\nentries:\n  {name}:\n{entries}".encode()


def repository(*charts: Mapping[str, bytes], name: str = "kyverno") -> dict[str, Answer]:
    """What a server answers that is a Helm repository of one chart's versions."""
    archives = {}
    answers: dict[str, Answer] = {}
    for files in charts:
        version = files["Chart.yaml"].decode().partition("version: ")[2].partition("\n")[0]
        content = packed_chart(files, name)
        archives[version] = (content, f"{name}-{version}.tgz")
        answers[f"/{name}-{version}.tgz"] = body(content)
    return {**answers, "/index.yaml": body(index(name, archives))}
