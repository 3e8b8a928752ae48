"""What `check` finds: one thing spoilt in a policy that is right, one finding."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chartkit import bundled
from chartkit.bundled import library_dir
from chartkit.catalog.authoring.add import write_policy
from chartkit.catalog.authoring.check import check_path, check_project, report, says_why
from chartkit.catalog.model import Kind
from chartkit.errors import InputError
from chartkit.model import Severity
from tests.command_reports import in_format
from tests.data import from_table
from tests.unit.catalog.library_files import write_lock, write_plain

_Spoil = Callable[[Path], None]
_DIGEST = """\
          mutateDigest: false
        - imageReferences:
            - registry.example/*:*
"""


def _replace(file: str, old: str, new: str) -> _Spoil:
    def spoil(folder: Path) -> None:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))

    return spoil


def _write(file: str, text: str) -> _Spoil:
    def spoil(folder: Path) -> None:
        (folder / file).write_text(text)

    return spoil


def _remove(file: str) -> _Spoil:
    return lambda folder: (folder / file).unlink()


def _another_rule(folder: Path) -> None:
    file = folder / "policy.yaml"
    rule = file.read_text().partition("  rules:\n")[2]
    never = rule.replace("name: label", "name: never").replace("- Pod\n", "- Secret\n")
    file.write_text(file.read_text() + never)


def _found(tmp_path: Path, kind: Kind, spoil: _Spoil) -> list[tuple[str, str]]:
    folder = write_policy("mine", kind, tmp_path)
    spoil(folder)
    found = check_path(tmp_path / "policies").diagnostics
    for each in found:
        assert each.location is not None
        assert each.location.file.startswith(str(folder))
    return [(each.rule_id, each.message) for each in found]


@pytest.mark.parametrize(
    ("spoil", "rule", "message"),
    [
        (_remove("metadata.yaml"), "CK510", "no such file"),
        (_replace("metadata.yaml", "severity: medium\n", ""), "CK510", "has no 'severity'"),
        (_replace("metadata.yaml", "severity: medium", "severity: bad"), "CK510", "'severity'"),
        (_replace("metadata.yaml", "control:\n", "kontrol:\n"), "CK510", "unknown key 'kontrol'"),
        (_replace("metadata.yaml", "must be known", "TODO"), "CK511", "is not written yet"),
        (_remove("cel.yaml"), "CK512", "has no form in CEL"),
        (_write("cel.yaml", "a: [\n"), "CK512", ""),
        (_replace("cel.yaml", "name: mine", "name: other"), "CK512", "calls itself 'other'"),
        (_replace("policy.yaml", "name: mine", "name: other"), "CK512", "calls itself 'other'"),
        (_replace("policy.yaml", "ClusterPolicy", "ConfigMap"), "CK512", ""),
        (
            _replace("policy.yaml", 'parameter("label")', 'parameter("labl")'),
            "CK512",
            "no parameter 'labl'",
        ),
        (_replace("policy.yaml", "<%=", "<% if"), "CK512", "template"),
        (_replace("policy.yaml", "operator: Equals", "operator: Eqals"), "CK512", ""),
        (_replace("cel.yaml", "orValue('') !=", "orValue('') =!"), "CK512", ""),
        (_remove("good.yaml"), "CK513", "has no objects that it leaves alone"),
        (_write("bad.yaml", "# none\n"), "CK513", "has no objects that it acts on"),
        (_write("good.yaml", "kind: Pod\n"), "CK513", "has no 'apiVersion'"),
        (_another_rule, "CK516", "no bad example shows what rule 'never'"),
        (
            _replace(
                "policy.yaml", "      validate:\n", "      celPreconditions: []\n      validate:\n"
            ),
            "CK517",
            "claims Kyverno 1.6, but rules[].celPreconditions came with 1.11",
        ),
    ],
)
def test_one_thing_spoilt(tmp_path: Path, spoil: _Spoil, rule: str, message: str) -> None:
    found = _found(tmp_path, Kind.VALIDATE, spoil)
    assert rule in {each for each, _ in found}, found
    assert any(each == rule and message in text for each, text in found), found


@from_table("file", "right", "wrong", "place")
def test_files_that_are_not_what_they_look_like(
    tmp_path: Path, file: str, right: str, wrong: str, place: str
) -> None:
    folder = write_policy("mine", Kind.VALIDATE, tmp_path)
    _replace(file, right, wrong)(folder)
    [found] = check_path(folder).diagnostics
    position, _, said = place.partition(" ")
    assert str(found.location) == f"{folder / file}:{position}"
    assert said in found.message


@from_table("file", "right", "wrong", "place")
def test_a_mistake_is_the_only_finding_at_its_place_in_the_template(
    tmp_path: Path, file: str, right: str, wrong: str, place: str
) -> None:
    folder = write_policy("mine", Kind.VALIDATE, tmp_path)
    _replace(file, right, wrong)(folder)
    [found] = check_path(folder).diagnostics
    position, _, meant = place.partition(" ")
    assert str(found.location) == f"{folder / file}:{position}"
    assert found.hint == f"did you mean {meant}?" if meant else "did you" not in str(found.hint)
    assert found.severity is Severity.ERROR


def test_an_example_that_comes_out_wrong(tmp_path: Path) -> None:
    found = _found(tmp_path, Kind.VALIDATE, _replace("good.yaml", "    team: shop\nspec:", "spec:"))
    assert [rule for rule, _ in found] == ["CK514", "CK514"]
    assert "ClusterPolicy says 'Say in a label" in found[0][1]
    assert found[1][1].startswith("ValidatingPolicy says")


def test_forms_that_do_not_agree(tmp_path: Path) -> None:
    spoil = _replace(
        "cel.yaml", "object.metadata.?labels[?variables.label].orValue('') != ''", "1 == 1"
    )
    found = _found(tmp_path, Kind.VALIDATE, spoil)
    kinds = "ClusterPolicy and ValidatingPolicy do not agree about the bad example"
    assert ("CK515", f"{kinds} Pod without-labels") in found
    assert ("CK514", "ValidatingPolicy does nothing about the bad example Pod empty-label") in found


def test_forms_that_make_different_objects(tmp_path: Path) -> None:
    spoil = _replace("cel.yaml", "enableServiceLinks: false}", "enableServiceLinks: true}")
    assert _found(tmp_path, Kind.MUTATE, spoil) == [
        (
            "CK515",
            "ClusterPolicy and MutatingPolicy make different objects of the bad example Pod "
            "says-nothing",
        )
    ]


def test_forms_that_do_different_things(tmp_path: Path) -> None:
    mutating = write_policy("mine", Kind.MUTATE, tmp_path, tmp_path / "other") / "cel.yaml"
    found = _found(tmp_path, Kind.VALIDATE, _write("cel.yaml", mutating.read_text()))
    assert ("CK512", "is there to mutate, and its other form to validate") in found


def test_an_example_that_a_form_cannot_decide_about(tmp_path: Path) -> None:
    spoil = _replace("cel.yaml", "variables.label].orValue('')", "string(1 / 0)].orValue('')")
    found = _found(tmp_path, Kind.VALIDATE, spoil)
    assert {rule for rule, _ in found} == {"CK514"}
    assert all("ValidatingPolicy cannot decide about the" in message for _, message in found)


def test_good_examples_that_the_policy_is_not_about(tmp_path: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n"
    found = _found(tmp_path, Kind.VALIDATE, _write("good.yaml", secret))
    assert [rule for rule, _ in found] == ["CK513", "CK513"]
    assert found[0][1] == "ClusterPolicy speaks of none of its good examples"


def test_a_policy_that_forbids_a_kind_accepts_nothing_that_it_looks_at(tmp_path: Path) -> None:
    policy = write_policy("mine", Kind.VALIDATE, tmp_path)
    rule = (policy / "policy.yaml").read_text().partition("      validate:\n")[0]
    denial = "      validate:\n        message: No Pods here.\n        deny: {}\n"
    (policy / "policy.yaml").write_text(rule + denial)
    cel = (policy / "cel.yaml").read_text().partition("  variables:\n")[0]
    never = '  validations:\n    - {expression: "false", message: No Pods here.}\n'
    (policy / "cel.yaml").write_text(cel + never)
    (policy / "good.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n")
    assert check_path(policy).diagnostics == ()


def test_a_policy_for_signatures_is_not_seen_to_accept_what_it_looks_at(tmp_path: Path) -> None:
    policy = write_policy("mine", Kind.IMAGE, tmp_path)
    elsewhere = (policy / "good.yaml").read_text().partition("---\n")[2]
    (policy / "good.yaml").write_text(elsewhere)
    assert [each.rule_id for each in check_path(policy).diagnostics] == ["CK513"]
    block = "            - registry.example/*\n"
    attestor = (
        "          attestors:\n            - entries:\n                - keys: {publicKeys: k}\n"
    )
    _replace("policy.yaml", block, block[:-1] + "@*\n" + attestor + _DIGEST)(policy)
    assert check_path(policy).diagnostics == ()


@pytest.mark.parametrize(
    ("kind", "spoil", "message"),
    [
        (
            Kind.GENERATE,
            _replace("good.yaml", "network: open", "network: shut"),
            "ClusterPolicy acts on the good example Namespace let-off",
        ),
        (
            Kind.CLEANUP,
            _replace("bad.yaml", '"true"', '"false"'),
            "DeletingPolicy does nothing about the bad example ConfigMap an-attempt",
        ),
        (
            Kind.IMAGE,
            _replace("bad.yaml", "app:1.0", "app@sha256:" + "0" * 64),
            "ImageValidatingPolicy does nothing about the bad example Pod by-tag",
        ),
    ],
)
def test_every_kind_is_judged(tmp_path: Path, kind: Kind, spoil: _Spoil, message: str) -> None:
    assert ("CK514", message) in _found(tmp_path, kind, spoil)


def test_policies_that_refuse_say_a_remediation(tmp_path: Path) -> None:
    spoil = _replace("metadata.yaml", "remediation: Set", "# Set")
    assert _found(tmp_path, Kind.VALIDATE, spoil) == [("CK518", "says no remediation")]
    folder = write_policy("generating", Kind.GENERATE, tmp_path)
    assert "remediation" not in (folder / "metadata.yaml").read_text()
    assert check_path(folder).diagnostics == ()


def test_counterparts_are_in_the_library(tmp_path: Path) -> None:
    folder = write_policy("ours/mine", Kind.VALIDATE, tmp_path)
    write_policy("ours/mending", Kind.MUTATE, tmp_path)
    write_policy("others/making", Kind.GENERATE, tmp_path)
    metadata = folder / "metadata.yaml"
    text = metadata.read_text()
    metadata.write_text(f"{text}counterpart: [mending, ours/mending, making, others/making]\n")
    assert check_path(folder).diagnostics == ()
    metadata.write_text(f"{text}counterpart: [mine, mendings, ours/making]\n")
    found = check_path(tmp_path / "policies").diagnostics
    line = len(text.splitlines()) + 1
    assert [str(each).partition("metadata.yaml:")[2] for each in found] == [
        f"{line}:15: error CK519: is named as its own counterpart",
        f"{line}:21: error CK519: its counterpart 'mendings' is not in the library "
        "(did you mean 'mending'?)",
        f"{line}:31: error CK519: its counterpart 'ours/making' is not in the library "
        "(did you mean 'others/making'?)",
    ]


def test_cases_are_judged_at_their_parameters(tmp_path: Path) -> None:
    folder = write_policy("mine", Kind.VALIDATE, tmp_path)
    case = folder / "cases" / "owner"
    case.mkdir(parents=True)
    (case / "parameters.yaml").write_text("label: owner\n")
    (case / "bad.yaml").write_text((folder / "good.yaml").read_text())
    assert check_path(folder).diagnostics == ()
    (case / "parameters.yaml").write_text("label: team\n")
    found = check_path(folder).diagnostics
    assert {str(each.location).partition(":")[0] for each in found} == {str(case / "bad.yaml")}


def test_shared_parameters_are_found_from_a_policys_folder(tmp_path: Path) -> None:
    folder = write_policy("ours/mine", Kind.VALIDATE, tmp_path)
    metadata = folder / "metadata.yaml"
    own, _, parameters = metadata.read_text().partition("parameters:\n")
    metadata.write_text(f"{own}sharedParameters: [label]\n")
    lines = [line[2:] for line in parameters.splitlines()]
    (tmp_path / "policies" / "parameters.yaml").write_text("\n".join(lines) + "\n")
    assert check_path(folder).diagnostics == ()
    assert check_path(tmp_path / "policies").diagnostics == ()


@pytest.mark.parametrize(
    "text",
    [
        *("label: {type: string}", "label: 5", "label: null", "[a]", "5", "? {a: b}\n: c"),
        "label: {type: x, default: a, description: d}",
        "label: {default: a, description: d, type: [string]}",
    ],
)
def test_shared_parameters_that_are_none(tmp_path: Path, text: str) -> None:
    folder = write_policy("ours/mine", Kind.VALIDATE, tmp_path)
    (tmp_path / "policies" / "parameters.yaml").write_text(f"{text}\n")
    for path in (folder, tmp_path / "policies"):
        with pytest.raises(InputError, match=r"parameters\.yaml"):
            check_path(path)


@pytest.mark.slow
def test_the_built_in_library_is_clean() -> None:
    checked = check_path(library_dir())
    assert checked.policies >= 60
    assert [str(each) for each in checked.diagnostics] == []


def test_a_project_with_its_own_and_a_vendored_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built_in = library_dir() / "baseline" / "disallow-host-path"
    monkeypatch.setattr(bundled, "library_dir", lambda: built_in)
    write_policy("mine", Kind.VALIDATE, tmp_path)
    (tmp_path / "chartkit.yaml").write_text("library: [policies]\n")
    file = write_plain(tmp_path / "vendor" / "public", "a/b")
    write_lock(tmp_path / "vendor" / "public")
    checked = check_project(tmp_path)
    assert checked.libraries == 1
    assert not checked.failed
    assert in_format(report(checked, {}), "text").endswith(
        "2 policies checked, 1 vendored library compared with the lock file: 0 errors, 0 warnings\n"
    )
    file.write_text("changed\n")
    checked = check_path(tmp_path / "vendor" / "public")
    assert [each.rule_id for each in checked.diagnostics] == ["CK501"]
    assert checked.failed
    assert [each["rule"] for each in report(checked, {}).value()["findings"]] == ["CK501"]


def test_a_project_with_a_library_of_plain_policies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built_in = library_dir() / "baseline" / "disallow-host-path"
    monkeypatch.setattr(bundled, "library_dir", lambda: built_in)
    write_plain(tmp_path / "policies", "a/b")
    (tmp_path / "chartkit.yaml").write_text("library: [policies]\n")
    assert check_project(tmp_path).policies == 1


def test_a_policy_of_the_form_in_cel_alone_is_not_passed_over(tmp_path: Path) -> None:
    folder = write_policy("mine", Kind.VALIDATE, tmp_path)
    (folder / "policy.yaml").unlink()
    (found,) = check_path(tmp_path / "policies").diagnostics
    assert (found.rule_id, found.message) == ("CK510", "no such file")
    assert str(found.location).endswith("mine/policy.yaml")


def test_folders_without_policies_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no policy in chartkit's format"):
        check_path(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        check_path(tmp_path / "nowhere")


def test_a_warning_does_not_fail(tmp_path: Path) -> None:
    _another_rule(write_policy("mine", Kind.VALIDATE, tmp_path))
    checked = check_path(tmp_path / "policies")
    warnings = [each for each in checked.diagnostics if each.severity is Severity.WARNING]
    assert [each.rule_id for each in warnings] == ["CK516"]


@from_table("description", "lacks")
def test_catalog_check_descriptions(description: str, lacks: str) -> None:
    found = says_why("Require a team label", description)
    assert lacks in found
    assert bool(lacks) == bool(found)
