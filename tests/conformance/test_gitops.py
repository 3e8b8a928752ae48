"""What `render --gitops` writes, as Argo CD, Flux, Helmfile and Terraform read it.

Flux's types, Terraform's parser and format and Helmfile's types are those of their Go modules; Argo
CD's definitions come from its module, and Kubernetes' own validation judges by them.
"""

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from chartkit.documents.reader import read_text
from chartkit.model import Body
from tests.conformance.definitions import build_judge, judge
from tests.conformance.go_modules import build_program, module_texts
from tests.unit.render.gitops.test_deployers import documents, written

ARGO_CD = "github.com/argoproj/argo-cd/v3@v3.6.1"
HELMFILE = "github.com/helmfile/helmfile@v1.8.0"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_program("gitopscheck", tmp_path_factory.mktemp("gitops"))


def judged(program: Path, **question: Any) -> dict[str, list[list[str]]]:
    """What the program says of objects, texts and states."""
    asked = {"objects": [], "terraform": [], "helmfile": [], "helmfileSource": []} | question
    done = subprocess.run(
        [str(program)], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    answer: dict[str, list[list[str]]] = json.loads(done.stdout)
    return answer


def objects(folder: Path, name: str) -> list[Body]:
    return [body for bodies in documents(folder, name).values() for body in bodies]


def test_flux_reads_its_objects(program: Path, tmp_path: Path) -> None:
    found = [each for each in objects(tmp_path, "flux") if "fluxcd.io" in each["apiVersion"]]
    assert {each["kind"] for each in found} >= {"HelmRelease", "Kustomization"}
    assert judged(program, objects=found)["objects"] == [[]] * len(found)


def test_flux_refuses_a_field_that_it_does_not_have(program: Path, tmp_path: Path) -> None:
    found = [each for each in objects(tmp_path, "flux") if each["kind"] == "HelmRelease"]
    wrong = copy.deepcopy(found[0])
    wrong["spec"]["dependson"] = []
    [problems] = judged(program, objects=[wrong])["objects"]
    assert problems == ['unknown field "spec.dependson"']


def test_terraform_reads_its_configuration_and_would_not_format_it(
    program: Path, tmp_path: Path
) -> None:
    found = list(written(tmp_path, "terraform").values())
    assert judged(program, terraform=found)["terraform"] == [[]] * len(found)
    [broken, unformatted] = judged(
        program, terraform=[found[0].replace("{", "", 1), found[0].replace(" = ", "  = ", 1)]
    )["terraform"]
    assert broken
    assert unformatted == ["is not formatted"]


def test_helmfile_reads_its_states(program: Path, tmp_path: Path) -> None:
    source = list(module_texts(HELMFILE, "pkg/state", ".go").values())
    found = objects(tmp_path, "helmfile")
    wrong = copy.deepcopy(found[0])
    wrong["releases"][0] |= {"need": [], "wait": "yes"}
    answer = judged(program, helmfile=[*found, wrong], helmfileSource=source)["helmfile"]
    assert answer[:-1] == [[]] * len(found)
    assert sorted(answer[-1]) == [
        ".releases[0].need: unknown field",
        ".releases[0].wait: is not a bool: yes",
    ]


def test_argo_cd_takes_its_objects(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    texts = module_texts(ARGO_CD, "manifests/crds", "-crd.yaml")
    definitions = [each.body for text in texts.values() for each in read_text(text)]
    assert len(definitions) == 3
    program = build_judge(tmp_path_factory.mktemp("judge"))
    found = objects(tmp_path, "argocd")
    wrong = copy.deepcopy(found[0])
    wrong["spec"]["syncPolicies"] = {}
    answer = judge(program, definitions, [*found, wrong])
    assert answer["objects"][:-1] == [[]] * len(found)
    assert any("syncPolicies" in each for each in answer["objects"][-1])
