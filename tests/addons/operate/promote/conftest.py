import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from chartkit.cli.main import main
from chartkit.cli.schema import output_schema
from chartkit.model import Body
from tests.data import beside
from tests.e2e.command import chartkit
from tests.objects import api_object

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]
PROJECT = _TEXTS["project"]
PROFILE = _TEXTS["profile"]


def config_map(name: str, namespace: str, **labels: str) -> Body:
    return api_object("v1", "ConfigMap", {"name": name, "namespace": namespace, "labels": labels})


def report(policy: str, status: str, name: str, seconds: int, namespace: str = "shop") -> Body:
    """A PolicyReport with one result."""
    return {
        "apiVersion": "wgpolicyk8s.io/v1alpha2",
        "kind": "PolicyReport",
        "metadata": {"name": f"{policy}-{name}-{status}", "namespace": namespace},
        "scope": {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": namespace},
        "results": [
            {
                "policy": policy,
                "rule": "label",
                "result": status,
                "message": "said so",
                "source": "kyverno",
                "timestamp": {"seconds": seconds, "nanos": 0},
            }
        ],
    }


@dataclass
class Shop:
    """A project on disk, and the command."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        _write(self.folder / name, text)

    def objects(self, name: str, *bodies: Body) -> None:
        """Write objects as a List."""
        self.write(name, _list(bodies))

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a command."""
        with pytest.raises(SystemExit) as ended:
            main([*arguments])
        captured = self.capture.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    def promote(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Exit code and JSON report of a promotion in prd."""
        code, out, err = self.run("promote", *arguments, "--to", "prd", "-o", "json")
        assert err == ""
        body = json.loads(out)
        Draft7Validator(output_schema("promote")).validate(body)
        return code, body

    @property
    def project(self) -> str:
        """The text of chartkit.yaml."""
        return (self.folder / "chartkit.yaml").read_text()

    def verdicts(self, body: dict[str, Any]) -> dict[str, str]:
        """The verdict of each policy."""
        return {each["name"]: each["verdict"] for each in body["policies"]}


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, rendered once; each test works on a copy."""
    folder = tmp_path_factory.mktemp("shop")
    files = {"chartkit.yaml": PROJECT, "ours.yaml": PROFILE}
    for name, label in (("clean", "app"), ("dirty", "team")):
        text = POLICY.replace("NAME", name).replace("LABEL", label)
        files[f"policies/{name}/{name}.yaml"] = text
    unused = POLICY.replace("NAME", "unused").replace("ConfigMap", "Ingress")
    files["policies/unused/unused.yaml"] = unused
    objects = [
        config_map("a", "shop", app="a", owner="payments"),
        config_map("b", "shop", app="b", team="b"),
        config_map("c", "blog", app="c"),
    ]
    files["apps/a.json"] = _list(objects)
    for name, text in files.items():
        _write(folder / name, text)
    assert chartkit(folder, "render").code == 0
    return folder


@pytest.fixture
def shop(
    rendered: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Shop:
    shutil.copytree(rendered, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Shop(tmp_path, capsys)


def _list(bodies: Sequence[Body]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(bodies)})


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
