"""What is shown of one policy."""

from pathlib import Path

from chartkit.catalog.entries import read_index
from chartkit.catalog.model import Entry
from chartkit.catalog.show import details, report
from tests.command_reports import in_format
from tests.data import beside, tables
from tests.unit.catalog.library_files import CEL_POLICY, write_plain
from tests.unit.project.project_files import write_policy

_TEXTS = beside(__file__)

_MUTATES = _TEXTS["mutates"]


def _only(root: Path) -> Entry:
    (entry,) = read_index("lib", root).entries
    return entry


def test_a_policy_of_chartkits_format(tmp_path: Path) -> None:
    folder = write_policy(tmp_path, "ours/mine", more=_TEXTS["parameters"])
    (tmp_path / "parameters.yaml").write_text(
        "level: {type: string, default: latest, description: The level.}\n"
    )
    (folder / "cel.yaml").write_text(CEL_POLICY.format(kind="ValidatingPolicy", name="mine"))
    shown = details(_only(tmp_path), tmp_path)
    text = in_format(report(shown), "text")
    assert "\nWhat to change:\n  Name it good.\n\nPolicies that help: name-it\n" in text
    assert '  level (string, default "latest"): The level.\n' in text
    assert "  minimum (integer, default 2): How many.\n" in text
    assert text.index("# " + str(folder / "policy.yaml")) < text.index(str(folder / "cel.yaml"))
    assert f"# an example that it refuses: {folder / 'bad.yaml'}:1\napiVersion: v1" in text
    assert f"# an example that it accepts: {folder / 'good.yaml'}:1\napiVersion: v1" in text
    body = report(shown).value()
    assert body["control"] == {"name": "mine", "source": "https://example.test/mine"}
    assert "  control   mine, https://example.test/mine\n" in text
    assert (body["remediation"], body["counterpart"]) == ("Name it good.", ["name-it"])
    assert body["parameters"]["minimum"]["default"] == 2
    assert body["examples"]["acts"]["object"]["metadata"]["name"] == "other"
    assert [each["file"] for each in body["policies"]] == [
        str(folder / "policy.yaml"),
        str(folder / "cel.yaml"),
    ]


def test_metadata_that_check_would_refuse_are_shown_as_far_as_they_go(tmp_path: Path) -> None:
    folder = write_policy(tmp_path, "mine")
    metadata = folder / "metadata.yaml"
    broken = "counterpart: 7\nremediation: [a]\nparameters: x\nsharedParameters: 3\n"
    text = metadata.read_text().replace("https://", "javascript://") + broken
    metadata.write_text(text)
    shown = details(_only(tmp_path), tmp_path)
    assert (shown.counterpart, shown.control, shown.parameters) == ((), None, {})
    assert "  control   " not in in_format(report(shown), "text")


def test_a_policy_with_kyvernos_tests(tmp_path: Path) -> None:
    write_plain(tmp_path, "a/b", name="other-name")
    text = in_format(report(details(_only(tmp_path), tmp_path)), "text")
    assert "What to change" not in text
    assert "Policies that help" not in text
    refused, accepted = text.split("# an example that it ")[1:]
    assert refused.startswith("refuses: ")
    assert "name: bad\n" in refused
    assert accepted.startswith("accepts: ")
    assert "name: good\n" in accepted


def test_of_a_policy_that_changes_objects_tests_say_what_passed(tmp_path: Path) -> None:
    write_plain(tmp_path, "a/b", _MUTATES)
    shown = details(_only(tmp_path), tmp_path)
    assert shown.examples.acts is not None
    assert shown.examples.acts.name == "good"
    text = in_format(report(shown), "text")
    assert "# an example that it changes: " in text
    assert "# no example that it leaves as it is stands beside it" in text


def test_tests_do_not_read_outside_of_the_library(tmp_path: Path) -> None:
    file = write_plain(tmp_path / "lib", "a/b")
    test = file.parent / ".kyverno-test" / "kyverno-test.yaml"
    (tmp_path / "secret.yaml").write_text((test.parent / "resource.yaml").read_text())
    test.write_text(test.read_text().replace("resource.yaml", "../../../../secret.yaml"))
    shown = details(_only(tmp_path / "lib"), tmp_path / "lib")
    assert (shown.examples.acts, shown.examples.leaves) == (None, None)


def test_broken_tests_give_no_example(tmp_path: Path) -> None:
    file = write_plain(tmp_path, "a/b")
    test = file.parent / ".kyverno-test" / "kyverno-test.yaml"
    for text in ("a: [", "- 1\n", "resources: 3\nresults: [1, {policy: b}]\n"):
        test.write_text(text)
        assert details(_only(tmp_path), tmp_path).examples.acts is None


def test_what_a_terminal_would_obey_is_not_printed(tmp_path: Path) -> None:
    folder = write_policy(tmp_path, "mine")
    file = folder / "policy.yaml"
    file.write_text(file.read_text() + "# \x1b[2J\x9b\n")
    assert "# �[2J�\n" in in_format(report(details(_only(tmp_path), tmp_path)), "text")


def test_what_a_policy_needs(tmp_path: Path) -> None:
    write_plain(tmp_path, "a/b", _TEXTS["makes"])
    shown = details(_only(tmp_path), tmp_path)
    unknown = "a variable says which resource is called: '/api/v1/{{ what }}'"
    assert (
        "\nNeeds:\n"
        "  background-controller: create, get secrets\n"
        "  ConfigMap rules/teams\n"
        "  GlobalContextEntry nodes\n"
        f"  {unknown} (spec.rules.0.context.2.apiCall.urlPath)\n"
    ) in in_format(report(shown), "text")
    needed = report(shown).value()["needs"]
    assert needed["permissions"] == tables(__file__)["what_a_policy_needs"]
    assert needed["configMaps"] == [{"namespace": "rules", "name": "teams"}]
    assert needed["globalContextEntries"] == ["nodes"]
    assert [each["message"] for each in needed["unknown"]] == [unknown]


def test_a_policy_that_needs_nothing_says_nothing(tmp_path: Path) -> None:
    write_plain(tmp_path, "a/b", _MUTATES)
    assert "Needs" not in in_format(report(details(_only(tmp_path), tmp_path)), "text")


def test_needs_of_a_template_that_is_broken(tmp_path: Path) -> None:
    folder = write_policy(tmp_path, "ours/mine")
    file = folder / "policy.yaml"
    file.write_text(file.read_text().replace("not so", "<%= nothing %>"))
    shown = details(_only(tmp_path), tmp_path)
    assert "\nNeeds: unknown, " in in_format(report(shown), "text")
    assert str(file) in report(shown).value()["needs"]["error"]
