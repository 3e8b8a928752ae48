import json
import shutil
import subprocess
from pathlib import Path

import pytest

from chartkit.documents.reader import read_file, read_text, resources
from chartkit.model import Body, Resource
from tests.e2e.command import chartkit

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with its overlays; tests that change it copy it."""
    project = Path(shutil.copytree(rendered, tmp_path_factory.mktemp("kustomize") / "project"))
    done = chartkit(project, "render", "--kustomize")
    assert done.code == 0, done.out + done.err
    assert "wrote kustomize/kyverno\nwrote kustomize/kyverno-policies\n" in done.out
    return project


def built(folder: Path) -> list[Resource]:
    """What a kustomization comes to: its resources, files and folders."""
    (kustomization,) = read_file(folder / "kustomization.yaml")
    found: list[Resource] = []
    for name in kustomization.body["resources"]:
        path = folder / name
        found += built(path) if path.is_dir() else resources(read_file(path))
    return found


def by_identity(found: list[Resource]) -> dict[tuple[str, str, str], Body]:
    bodies = {(each.kind, each.namespace, each.name): each.body for each in found}
    assert len(bodies) == len(found)
    return bodies


def test_the_overlays_are_the_manifests(written: Path) -> None:
    for environment in ("dev", "qa", "prd"):
        policies = built(written / "kustomize/kyverno-policies/overlays" / environment)
        helm = resources(read_file(written / f"rendered/{environment}/kyverno-policies.yaml"))
        assert by_identity(policies) == by_identity(list(helm))
        engine = by_identity(built(written / "kustomize/kyverno/overlays" / environment))
        manifests = by_identity(
            list(resources(read_file(written / f"rendered/{environment}/kyverno.yaml")))
        )
        assert set(engine) - set(manifests) == {("Namespace", "", "kyverno")}
        assert set(manifests) <= set(engine)
        assert "managed-by: Helm" not in json.dumps(list(engine.values()))


def test_kustomize_builds_them(written: Path) -> None:
    program = shutil.which("kustomize") or shutil.which("kustomize", path=go_programs())
    if program is None:
        pytest.skip("the kustomize program is not here")
    for overlay in ("kyverno/overlays/prd", "kyverno-policies/overlays/dev"):
        folder = written / "kustomize" / overlay
        done = subprocess.run(
            [program, "build", folder], capture_output=True, text=True, check=True
        )
        found = list(resources(read_text(done.stdout, "kustomize")))
        assert by_identity(found) == by_identity(built(folder))


def go_programs() -> str | None:
    if shutil.which("go") is None:
        return None
    done = subprocess.run(["go", "env", "GOPATH"], capture_output=True, text=True, check=False)
    return str(Path(done.stdout.strip()) / "bin")


def test_a_gone_environment_and_drift(written: Path, tmp_path: Path) -> None:
    project = Path(shutil.copytree(written, tmp_path / "project"))
    gone = project / "chartkit.yaml"
    gone.write_text(gone.read_text("utf-8").partition("  qa:")[0], "utf-8")
    (project / "kustomize/kyverno/notes.yaml").write_text("mine: true\n", "utf-8")
    assert chartkit(project, "render", "--kustomize").code == 0
    left = {path.name for path in (project / "kustomize/kyverno/overlays").iterdir()}
    assert left == {"dev"}
    assert (project / "kustomize/kyverno/notes.yaml").is_file()
    (file,) = (each for each in project.glob("kustomize/kyverno/**/*.yaml") if _deploys(each))
    file.write_text(file.read_text("utf-8").replace("kind: Deployment", "kind: X", 1), "utf-8")
    done = chartkit(project, "render", "--kustomize", "--check", "--diff")
    assert done.code == 1
    assert "-kind: X\n+kind: Deployment\n" in done.out
    assert done.out.count("+++ ") == 1


def _deploys(file: Path) -> bool:
    return "\nkind: Deployment\n" in file.read_text("utf-8")


def test_one_environment_has_no_base(written: Path) -> None:
    done = chartkit(written, "render", "prd", "--kustomize")
    assert done.code == 2
    assert "--kustomize needs all environments" in done.err
