"""Reports lie in their folder, whatever a review names."""

import json
from pathlib import Path

import pytest
import yaml

from chartkit.addons.serve.admission.reports import ReportFolder, Reports
from chartkit.addons.serve.admission.review import parse_review
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.model import Body
from tests.addons.serve.admission.bodies import AUDITED, POD, changed, review
from tests.addons.serve.admission.test_judge import judged

_UID = "6f2b1c7e-0000-4000-8000-000000000001"
_NAMES = (
    "../../outside",
    "..",
    "/tmp/outside",
    "a/b",
    "a\x00b",
    "a\nb",
    "UPPER",
    "\ud800",
    "a" * 300,
)


def _reported(folder: Path, *bodies: Body) -> list[dict[str, object]]:
    """Keep the reports of reviews, and return what the log says."""
    lines: list[bytes] = []
    reports = Reports(ReportFolder(folder), Log("info", lines.append))
    for body in bodies:
        content = review(body)
        reports.add(parse_review(content), "/validate", judged("/validate", content, AUDITED), {})
    reports.close()
    return [json.loads(line) for line in lines]


def _files(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if each.is_file())


@pytest.mark.parametrize("field", ["namespace", "uid"])
@pytest.mark.parametrize("name", _NAMES)
def test_a_name_that_no_api_server_has_leaves_no_report(
    tmp_path: Path, field: str, name: str
) -> None:
    folder = tmp_path / "deep" / "reports"
    last = changed(POD, uid=_UID)
    (said,) = _reported(folder, changed(POD, **{"uid": _UID, field: name}), last)
    assert said["message"] == "a report was not written"
    assert str(said["error"]).startswith(f"metadata.{field} '")
    assert _files(tmp_path) == [folder / "default" / f"{_UID}.yaml"]


def test_a_report_is_kept_by_namespace(tmp_path: Path) -> None:
    assert not _reported(tmp_path, changed(POD, uid=_UID, namespace="team-a"))
    (file,) = _files(tmp_path)
    assert file == tmp_path / "team-a" / f"{_UID}.yaml"
    report = yaml.safe_load(file.read_text("utf-8"))
    assert report["summary"]["fail"] == 1
    assert report["scope"]["uid"] == _UID
