"""Signed images: what `chartkit scan --registry` says, in the words of Kyverno's own program."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from chartkit.model import Body
from tests.conformance.image_registry import run_command
from tests.conformance.signed_images import Case, Signed, cases, pod, policy, shown
from tests.unit.network.registry.registry_server import serving

ANSWERS: dict[str, list[list[str]]] = json.loads(
    (Path(__file__).parent / "data" / "signed_images.json").read_text("utf-8")
)


@dataclass(frozen=True, slots=True)
class Scene:
    """The images, and every case by its name."""

    signed: Signed
    cases: dict[str, Case]


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with serving() as registry:
        signed = Signed(registry)
        yield Scene(signed, {case.name: case for case in cases(signed)})


def _scan(scene: Scene, folder: Path, resource: Body, *policies: Body) -> list[list[str]]:
    (folder / "policies.yaml").write_text(yaml.safe_dump_all(policies))
    (folder / "pod.yaml").write_text(yaml.safe_dump(resource))
    files = ["-p", str(folder / "policies.yaml"), str(folder / "pod.yaml")]
    found = json.loads(run_command(["scan", "-o", "json", "--registry", *files]))
    return sorted([one["result"], shown(scene.signed, one["message"])] for one in found["results"])


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_answers_about_signed_images_are_kyvernos(name: str, scene: Scene, tmp_path: Path) -> None:
    case = scene.cases[name]
    assert _scan(scene, tmp_path, case.pod, case.policy) == ANSWERS[name]


def test_every_case_of_signed_images_was_answered(scene: Scene) -> None:
    assert set(scene.cases) == set(ANSWERS)
    passed = [name for name, rows in ANSWERS.items() if all(row[0] == "pass" for row in rows)]
    assert len(passed) > 30


def test_policies_keep_what_each_other_recorded(scene: Scene, tmp_path: Path) -> None:
    # As in a cluster; Kyverno's own program lets the last policy's record replace all others.
    rule = scene.cases["key"].policy["spec"]["rules"][0]
    policies = [policy(name, rule) for name in ("p", "q")]
    rows = _scan(scene, tmp_path, pod(scene.signed.image("app")), *policies)
    assert [result for result, _ in rows] == ["pass"] * 4
