"""What covers a standard's controls, and what environments have of it in force."""

from pathlib import Path

import pytest

from chartkit.catalog.coverage import Coverage, State, coverage, report
from chartkit.catalog.standards import CoverageLevel, read_standard
from chartkit.errors import InputError
from tests.command_reports import in_format
from tests.data import beside
from tests.errors import error_of
from tests.unit.catalog.test_standards import HEAD
from tests.unit.project.project_files import write_policy, write_profile, write_project

_TEXTS = beside(__file__)

_STANDARD = f"""\
{HEAD}
    - title: First
      controls:
        - {{id: "1.1", title: "Both | <b>", policies: [ours/one, ours/two], also: [ours/helping]}}
        - {{id: "1.2", title: One, policies: [ours/two], partly: the rest is open}}
        - {{id: "1.3", title: Mending, policies: [ours/helping]}}
        - {{id: "1.4", title: Nothing, not: people know}}
"""
_PROJECT = _TEXTS["project"]
_MUTATES = _TEXTS["mutates"]


@pytest.fixture
def found(tmp_path: Path) -> Coverage:
    for name in ("one", "two"):
        write_policy(tmp_path / "policies", f"ours/{name}")
    write_policy(tmp_path / "policies", "ours/helping", _MUTATES)
    write_profile(
        tmp_path / "ours.yaml", "policies: {ours/one: {}, ours/two: {}, ours/helping: {}}"
    )
    write_profile(tmp_path / "mending.yaml", "policies: {ours/helping: {}}")
    (tmp_path / "standard.yaml").write_text(_STANDARD)
    project = write_project(tmp_path, _PROJECT)
    return coverage(read_standard(str(tmp_path / "standard.yaml")), project)


def test_a_control_is_in_force_with_all_of_its_policies_at_the_weakest_action(
    found: Coverage,
) -> None:
    states = {cover.control.id: list(cover.states.values()) for cover in found.controls}
    assert found.environments == ("dev", "qa", "prd", "bare", "mending")
    enforce, audit, on, some, off = State
    assert states == {
        "1.1": [enforce, audit, some, off, some],
        "1.2": [enforce, audit, audit, off, off],
        "1.3": [on, off, on, off, on],
        "1.4": [],
    }
    both = found.controls[0].policies
    assert [(each.policy.name, each.needed) for each in both] == [
        ("one", True),
        ("two", True),
        ("helping", False),
    ]
    assert list(both[0].states.values()) == [enforce, enforce, off, off, off]
    assert [cover.excluding for cover in found.controls] == [{"qa"}, {"qa"}, set(), set()]
    assert found.by_cover() == {
        CoverageLevel.WHOLLY: 2,
        CoverageLevel.PARTLY: 1,
        CoverageLevel.NOT: 1,
    }
    assert found.by_state("qa") == {audit: 2, off: 1}


def test_as_text(found: Coverage) -> None:
    assert in_format(report(found), "text").splitlines() == [
        "Our rules",
        "https://example.test/rules",
        "",
        "  CONTROL  COVERED  dev       qa        prd       bare      mending   TITLE",
        "",
        "First",
        "  1.1      wholly   Enforce   Audit*    some      off       some      Both | <b>",
        "                    Enforce   Enforce   off       off       off         ours/one",
        "                    Enforce   Audit*    Audit     off       off         ours/two",
        f"{'':20}on        off       on        off       on          ours/helping (helps)",
        "  1.2      partly   Enforce   Audit*    Audit     off       off       One",
        "                    Enforce   Audit*    Audit     off       off         ours/two",
        f"{'':72}open: the rest is open",
        "  1.3      wholly   on        off       on        off       on        Mending",
        "                    on        off       on        off       on          ours/helping",
        "  1.4      not      -         -         -         -         -         Nothing",
        f"{'':72}no policy: people know",
        "",
        "4 controls, covered by policies: 2 wholly, 1 partly, 1 not",
        "dev: of 3 that policies cover, 2 enforced, 1 switched on",
        "qa: of 3 that policies cover, 2 audited, 1 not in force",
        "prd: of 3 that policies cover, 1 audited, 1 switched on, 1 in part",
        "bare: of 3 that policies cover, 3 not in force",
        "mending: of 3 that policies cover, 1 switched on, 1 in part, 1 not in force",
        "* something is left out of the policy alone, by its 'exclude'",
    ]


def test_as_json(found: Coverage) -> None:
    body = report(found).value()
    assert body["covered"] == {"wholly": 2, "partly": 1, "not": 1}
    assert body["environments"]["prd"] == {"Enforce": 0, "Audit": 1, "on": 1, "some": 1, "off": 0}
    first = body["controls"][0]
    assert first["environments"]["qa"] == "Audit"
    assert first["policies"][2] == {
        "reference": "ours/helping",
        "needed": False,
        "excluding": [],
        "environments": {"dev": "on", "qa": "off", "prd": "on", "bare": "off", "mending": "on"},
    }
    assert first["policies"][1]["excluding"] == ["qa"]
    assert body["controls"][3]["reason"] == "people know"


def test_as_markdown(found: Coverage) -> None:
    text = in_format(report(found), "markdown")
    assert "| Control | Title | Covered | dev | qa | prd | bare | mending | Policies |\n" in text
    assert "| 1.1 | [Both \\| &lt;b&gt;](https://example.test/rules) | wholly | Enforce |" in text
    assert "`ours/two`<br>open: the rest is open |\n" in text
    assert "`ours/one`: dev Enforce, qa Enforce, prd off, bare off, mending off<br>" in text
    assert "| Enforce | Audit\\* | some |" in text
    assert "- 4 controls, covered by policies: 2 wholly, 1 partly, 1 not\n" in text


def test_without_a_project_the_library_is_shown() -> None:
    found = coverage(read_standard("pss"))
    assert found.environments == ()
    text = in_format(report(found), "text")
    assert "CONTROL" not in text
    assert text.endswith("19 controls, covered by policies: 19 wholly, 0 partly, 0 not\n")
    assert report(found).value()["environments"] == {}
    assert "| Control | Title | Covered | Policies |\n" in in_format(report(found), "markdown")


def test_policies_that_no_library_has_are_told_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "standard.yaml"
    file.write_text(_STANDARD.replace("ours/one", "baseline/disallow-host-pth"))
    assert str(error_of(InputError, coverage, read_standard(str(file)))) == (
        f"{file}:11:55: there is no policy 'baseline/disallow-host-pth' "
        "(did you mean 'baseline/disallow-host-path'?)"
    )
