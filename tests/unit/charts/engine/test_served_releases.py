"""The releases of Kyverno that the engine's chart installs: flags, definitions, images, values."""

import re
from itertools import pairwise
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
from tests.errors import error_of
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


EXCEPTION_FIELDS = {".spec.evaluationMode", ".spec.expiresAt", ".spec.properties"}
CHANGED_DEFINITIONS: dict[str, set[str]] = {
    "1.18": set(),
    "1.19": {
        "generatingpolicies",
        "imagevalidatingpolicies",
        "mutatingpolicies",
        "namespacedgeneratingpolicies",
        "namespacedimagevalidatingpolicies",
        "namespacedmutatingpolicies",
        "policyexceptions",
    },
}
"""The definitions that have fields more than in the release before."""


@pytest.mark.parametrize(("before", "version"), list(pairwise(SERVED)))
def test_definitions_have_the_fields_of_the_release(before: str, version: str) -> None:
    older, newer = fields(before), fields(version)
    assert all(older[name] <= newer[name] for name in newer)
    added = {name.partition(".")[0]: newer[name] - older[name] for name in newer}
    assert {name for name, paths in added.items() if paths} == CHANGED_DEFINITIONS[version]
    if version == "1.19":
        assert added["policyexceptions"] == EXCEPTION_FIELDS


def test_no_definition_lacks_a_field_that_only_older_releases_leave_out() -> None:
    oldest, newest = fields(SERVED[0]), fields(SERVED[-1])
    later = {name: newest[name] - oldest[name] for name in newest}
    ends = {path.rpartition(".")[2] for paths in later.values() for path in paths}
    assert {path[-1] for paths in later_fields().values() for path in paths} <= ends


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"kyvernoVersion": "v1.16.4"},
            f"this chart installs Kyverno {', '.join(SERVED)}, and not",
        ),
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
    assert message in error_of(RenderError, render, values).message


PROJECT = """\
profiles: [pss-baseline]
environments:
  prd: {kyverno: "%s", kubernetes: "%s", highAvailability: true}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kyverno", "installed"),
    [*((each, release(each)) for each in SERVED[:-1]), (f"{SERVED[-2]}.1", f"v{SERVED[-2]}.1")],
)
def test_an_upgrade_keeps_values_and_availability(
    tmp_path: Path, kyverno: str, installed: str
) -> None:
    kubernetes = matrix()[current().version].oldest
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
    older = max(each for each in matrix() if each < current().serves[0])
    (tmp_path / "chartkit.yaml").write_text(PROJECT % (older, matrix()[older].newest))
    served = re.escape(", ".join(SERVED))
    with pytest.raises(
        InputError, match=f"the engine chart installs Kyverno {served}, not {older}"
    ):
        run(tmp_path)
