"""The releases of Kyverno that the engine's chart installs: flags, definitions, images, values."""

from __future__ import annotations

from pathlib import Path

import pytest

from chartkit.documents.reader import read_file
from chartkit.errors import InputError, RenderError
from chartkit.kyverno.matrix import matrix
from chartkit.kyverno.releases import current
from chartkit.kyverno.versions import Version
from chartkit.model import Body
from chartkit.render.model import Outcome
from chartkit.schemas.crds import later_fields
from tests.engine_chart import CRD, objects, render
from tests.unit.render.test_pipeline import rows, run

FLAGS = read_file(Path(__file__).parent / "data" / "flags.yaml")[0].body
SERVED = [str(each) for each in current().serves]
CONTROLLERS = ("admission", "background", "cleanup", "reports")
SECURE: Body = {
    f"{name}Controller": {"metering": {"secure": True}, "certManager": {"enabled": True}}
    if name in ("admission", "cleanup")
    else {"metering": {"secure": True}}
    for name in CONTROLLERS
}


def release(version: str) -> str:
    newest = matrix()[Version(*map(int, version.split(".")))].newest_release
    assert newest is not None
    return f"v{newest[0]}"


def containers(version: str, values: Body | None = None) -> dict[str, list[Body]]:
    """Return the containers of the controllers, by the last part of their images' names."""
    found: dict[str, list[Body]] = {}
    for (kind, _), body in objects({"kyvernoVersion": release(version), **(values or {})}).items():
        if kind == "Deployment":
            pod = body["spec"]["template"]["spec"]
            for each in (*pod["containers"], *pod.get("initContainers", ())):
                name = each["image"].rpartition("/")[2].partition(":")[0]
                found.setdefault(name, []).append(each)
    return found


@pytest.mark.parametrize("version", SERVED)
def test_a_controller_gets_no_flag_that_its_release_does_not_have(version: str) -> None:
    values = SECURE if version != SERVED[0] else {}
    programs = {"kyvernopre": "kyverno-init"}
    found = containers(version, values)
    assert len(found) == 5
    for name, each in found.items():
        known = set(FLAGS[version][programs.get(name, name)].split())
        given = {arg.removeprefix("--").partition("=")[0] for arg in each[0]["args"]}
        assert given - known == set(), name


@pytest.mark.parametrize("version", SERVED)
def test_the_images_have_the_release(version: str) -> None:
    found = [each["image"] for every in containers(version).values() for each in every]
    assert {image.partition(":")[2] for image in found} == {release(version)}


def fields(version: str) -> dict[str, frozenset[str]]:
    """Return the paths of all fields of each definition."""
    found = objects({"kyvernoVersion": release(version)})
    return {name: frozenset(_paths(body)) for (kind, name), body in found.items() if kind == CRD}


def _paths(body: Body) -> list[str]:
    found: list[str] = []
    waiting = [("", each["schema"]["openAPIV3Schema"]) for each in body["spec"]["versions"]]
    while waiting:
        path, schema = waiting.pop()
        for name, field in schema.get("properties", {}).items():
            found.append(f"{path}.{name}")
            waiting.append((found[-1], field))
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                waiting.append((path, schema[key]))
    return found


def test_definitions_have_the_fields_of_the_release() -> None:
    oldest, *between, newest = (fields(version) for version in SERVED)
    assert [each == oldest for each in between] == [True]
    later = {name: newest[name] - oldest[name] for name in newest if newest[name] != oldest[name]}
    assert all(oldest[name] <= newest[name] for name in newest)
    assert {name.partition(".")[0] for name in later} == {
        "generatingpolicies",
        "imagevalidatingpolicies",
        "mutatingpolicies",
        "namespacedgeneratingpolicies",
        "namespacedimagevalidatingpolicies",
        "namespacedmutatingpolicies",
        "policyexceptions",
    }
    assert later["policyexceptions.policies.kyverno.io"] == {
        ".spec.evaluationMode",
        ".spec.expiresAt",
        ".spec.properties",
    }
    ends = {path.rpartition(".")[2] for paths in later.values() for path in paths}
    assert {path[-1] for paths in later_fields().values() for path in paths} <= ends


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kyvernoVersion": "v1.16.4"}, "this chart installs Kyverno 1.17, 1.18, 1.19, and not"),
        ({"kyvernoVersion": "1.18"}, "'kyvernoVersion': '1.18' does not match"),
        (
            {"kyvernoVersion": "v1.17.2", "reportsController": {"metering": {"secure": True}}},
            "reportsController.metering.secure needs Kyverno 1.18, and kyvernoVersion is v1.17.2",
        ),
        (
            {
                "kyvernoVersion": "1.18.2",
                "features": {"globalContext": {"maxGlobalContextEntries": 9}},
            },
            "features.globalContext.maxGlobalContextEntries needs Kyverno 1.19",
        ),
    ],
)
def test_what_a_release_does_not_have_is_refused(values: Body, message: str) -> None:
    with pytest.raises(RenderError) as caught:
        render(values)
    assert message in caught.value.message


PROJECT = """\
profiles: [pss-baseline]
environments:
  prd: {kyverno: "%s", kubernetes: "%s", highAvailability: true}
"""


@pytest.mark.parametrize(
    ("kyverno", "kubernetes", "installed"),
    [("1.17", "1.33", "v1.17.2"), ("1.18", "1.33", "v1.18.2"), ("1.18.1", "1.34", "v1.18.1")],
)
def test_an_upgrade_keeps_values_and_availability(
    tmp_path: Path, kyverno: str, kubernetes: str, installed: str
) -> None:
    (tmp_path / "chartkit.yaml").write_text(PROJECT % (kyverno, kubernetes))
    before = run(tmp_path)
    assert [row.outcome for row in rows(before, "availability")] == [Outcome.PASS]
    values = tmp_path / "charts" / "kyverno" / "values_prd.yaml"
    body = read_file(values)[0].body
    assert body.pop("kyvernoVersion") == installed
    text = (tmp_path / "rendered" / "prd" / "kyverno.yaml").read_text()
    assert f"/kyverno:{installed}" in text
    (tmp_path / "chartkit.yaml").write_text(PROJECT % (current().version, kubernetes))
    assert [row.outcome for row in rows(run(tmp_path), "availability")] == [Outcome.PASS]
    assert read_file(values)[0].body == body


def test_older_releases_are_for_other_charts(tmp_path: Path) -> None:
    (tmp_path / "chartkit.yaml").write_text(PROJECT % ("1.16", "1.33"))
    with pytest.raises(InputError, match=r"the engine chart installs Kyverno 1\.17, 1\.18, 1\.19"):
        run(tmp_path)
