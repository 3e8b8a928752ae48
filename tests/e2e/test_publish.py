"""`chartkit package` and `chartkit push`: archives that Helm takes, in a registry."""

import hashlib
import io
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.addons.operate.publish import pack
from chartkit.errors import RenderError
from chartkit.project.project import read_project
from tests.data import from_table
from tests.e2e.command import Done, chartkit
from tests.unit.network.registry.registry_server import Registry, serving

_LINE = re.compile(r"(dist/(kyverno(?:-policies)?)-\d+\.\d+\.\d+\.tgz)  (sha256:[0-9a-f]{64})")


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serving(version="1.1") as server:
        yield server


@pytest.fixture(params=["library", "helm_program", "helm3_program"])
def helm(request: pytest.FixtureRequest) -> str:
    name = request.param
    return name if name == "library" else str(request.getfixturevalue(name))


@pytest.fixture(scope="module")
def packed(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A project whose charts are packed and signed, and what the command said."""
    pysequoia = pytest.importorskip("pysequoia")
    key = pysequoia.Tsk.generate("Charts <charts@example.com>")
    project = Path(shutil.copytree(rendered, tmp_path_factory.mktemp("packed") / "project"))
    (project / "key.asc").write_text(str(key))
    (project / "ring.gpg").write_bytes(bytes(key.extract_certificate()))
    return project, chartkit(project, "package", "--sign", "key.asc")


@pytest.fixture
def dist(packed: tuple[Path, Done], tmp_path: Path) -> Path:
    """The archives of `packed`, to change."""
    return Path(shutil.copytree(packed[0] / "dist", tmp_path / "dist"))


def charts(folder: Path) -> list[str]:
    return sorted(map(str, folder.glob("*.tgz")))


@pytest.mark.slow
def test_package_writes_the_same_bytes_each_time_with_their_digest(
    project: Path, packed: tuple[Path, Done]
) -> None:
    folder, done = packed
    assert done.code == 0, done.err
    lines = [_LINE.fullmatch(line) for line in done.out.splitlines()]
    assert [line and line[2] for line in lines] == ["kyverno", "kyverno-policies"]
    first = {Path(name).name: Path(name).read_bytes() for name in charts(folder / "dist")}
    for line in filter(None, lines):
        content = first[Path(line[1]).name]
        assert line[3] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    for file in (project / "charts").rglob("*"):
        os.utime(file, (1, 1))
    assert chartkit(project, "package").out == done.out
    assert {file.name: file.read_bytes() for file in (project / "dist").iterdir()} == first


@pytest.mark.slow
def test_helm_renders_a_packed_chart_as_its_folder(
    packed: tuple[Path, Done], helm_program: str
) -> None:
    project, _ = packed

    def render(chart: Path) -> str:
        command = [helm_program, "template", "x", str(chart), "--kube-version", "1.34.0"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    for name in ("kyverno", "kyverno-policies"):
        (archive,) = (project / "dist").glob(f"{name}-[0-9]*.tgz")
        assert render(archive) == render(project / "charts" / name)


@pytest.mark.slow
def test_charts_that_have_drifted_are_not_packed(project: Path) -> None:
    template = min((project / "charts" / "kyverno" / "templates").rglob("*.yaml"))
    template.write_text(f"{template.read_text()}# more\n")
    done = chartkit(project, "package")
    assert done.code == 1
    assert "the charts are not what chartkit.yaml gives" in done.line
    assert not (project / "dist").exists()


@pytest.mark.slow
def test_chart_that_cannot_be_packed_is_named_with_its_file(tmp_path: Path) -> None:
    environments = 'environments: {dev: {kyverno: "1.19", kubernetes: "1.35"}}\n'
    (tmp_path / "chartkit.yaml").write_text(f"profiles: [pss-baseline]\n{environments}")
    (tmp_path / "charts/kyverno").mkdir(parents=True)
    (tmp_path / "charts/kyverno/Chart.yaml").write_text("name: kyverno\nversion: 1.0.0\n")
    (tmp_path / "charts/kyverno/values.schema.json").write_text("{}}")
    project = read_project(tmp_path / "chartkit.yaml")
    with pytest.raises(RenderError) as caught:
        pack(project)
    schema = tmp_path / "charts/kyverno/values.schema.json"
    assert str(caught.value).startswith(f"{schema}: is not JSON: ")


def test_project_without_charts_has_nothing_to_pack(project: Path) -> None:
    (project / "charts").rename(project / "elsewhere")
    done = chartkit(project, "package")
    assert done.code == 2
    assert done.line == "charts: there are no charts to pack (run `chartkit render` first)"


def test_helm_verifies_what_was_signed(
    packed: tuple[Path, Done], dist: Path, helm_program: str
) -> None:
    (archive,) = dist.glob("kyverno-[0-9]*.tgz")

    def verify() -> subprocess.CompletedProcess[str]:
        command = [helm_program, "verify", str(archive), "--keyring", f"{packed[0]}/ring.gpg"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    found = verify()
    assert found.returncode == 0, found.stderr
    assert "Charts <charts@example.com>" in found.stdout + found.stderr
    archive.write_bytes(archive.read_bytes() + b"\0")
    assert verify().returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"), [("no key", "is not a secret OpenPGP key"), (None, "no such file")]
)
def test_key_that_cannot_sign_is_named(project: Path, text: str | None, message: str) -> None:
    pytest.importorskip("pysequoia")
    if text is not None:
        (project / "key.asc").write_text(text)
    done = chartkit(project, "package", "--sign", "key.asc")
    assert done.code == 2
    assert done.line.startswith(f"key.asc: {message}")
    assert not (project / "dist").exists()


def test_pushed_charts_are_in_the_registry_with_what_was_signed(
    dist: Path, registry: Registry, helm: str
) -> None:
    remote = f"oci://{registry.host}/team/charts"
    arguments = ("push", remote, *charts(dist), "--plain-http", "--helm", helm)
    done = chartkit(dist, *arguments)
    assert done.code == 0, done.err
    for line in done.out.splitlines():
        reference, _, digest = line.partition("@")
        name, _, tag = reference.removeprefix(f"{remote}/").partition(":")
        _, content = registry.manifests[f"/v2/team/charts/{name}/manifests/{tag}"]
        assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    kept = {content for _, content in registry.documents.values()}
    assert {file.read_bytes() for file in dist.iterdir()} <= kept
    writes = registry.writes
    again = chartkit(dist, *arguments)
    assert again.code == 0, again.err
    assert [line.partition(" ")[2] for line in again.out.splitlines()] == ["is there already"] * 2
    assert registry.writes == writes


@pytest.mark.slow
def test_version_with_other_content_is_replaced_on_request_alone(
    project: Path, dist: Path, registry: Registry
) -> None:
    remote = f"oci://{registry.host}/charts"
    settings = project / "chartkit.yaml"
    settings.write_text(settings.read_text() + "maintainers: [{name: Team}]\n")
    assert chartkit(project, "render").code == 0
    done = chartkit(project, "push", remote, "--plain-http")
    assert done.code == 0, done.err
    before = registry.manifests
    other = ("push", remote, *charts(dist), "--plain-http")
    done = chartkit(project, *other)
    assert done.code == 1
    assert "is there with other content" in done.line
    assert registry.manifests == before
    done = chartkit(project, *other, "--overwrite")
    assert done.code == 0, done.err
    assert registry.manifests != before


def test_registry_that_refuses_is_quoted(dist: Path, registry: Registry) -> None:
    registry.refusal = 403
    remote = f"oci://{registry.host}/charts"
    done = chartkit(dist, "push", remote, *charts(dist), "--plain-http")
    assert done.code == 1
    assert "403" in done.line
    assert not registry.manifests


@pytest.mark.parametrize("remote", ["https://example.com", "oci://", "oci://x/UP", "oci://a b"])
def test_address_that_is_no_registry_is_refused(tmp_path: Path, remote: str) -> None:
    done = chartkit(tmp_path, "push", remote)
    assert done.code == 2
    assert "is not an OCI registry" in done.line


def test_file_that_is_no_chart_is_not_pushed(tmp_path: Path) -> None:
    (tmp_path / "x.tgz").write_bytes(b"nothing")
    done = chartkit(tmp_path, "push", "oci://127.0.0.1:1/charts", "x.tgz")
    assert done.code == 2
    assert done.line.startswith("x.tgz: is not a chart in a gzipped archive")


def archive(file: Path, metadata: bytes) -> None:
    """Write a packed chart, whose only file is its Chart.yaml."""
    with tarfile.open(file, "w:gz") as packed:
        entry = tarfile.TarInfo("x/Chart.yaml")
        entry.size = len(metadata)
        packed.addfile(entry, io.BytesIO(metadata))


@from_table("metadata", "message")
def test_archive_with_a_hostile_chart_yaml_is_refused(
    tmp_path: Path, metadata: bytes, message: str
) -> None:
    archive(tmp_path / "x.tgz", metadata)
    done = chartkit(tmp_path, "push", "oci://127.0.0.1:1/charts", "x.tgz")
    assert done.code == 2
    assert done.line.startswith("x.tgz: ")
    assert message in done.line
    assert [each.name for each in tmp_path.iterdir()] == ["x.tgz"]
