"""`chartkit why`: the tree, the choice of objects and policies, environments, mistakes."""

import json
from pathlib import Path

import pytest

from chartkit.cli.main import main
from tests.data import beside, from_table, tables

_TEXTS = beside(__file__)
POLICIES = _TEXTS["policies"]
OBJECTS = _TEXTS["objects"]
SECRETS = _TEXTS["secrets"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.yaml").write_text(POLICIES)
    (tmp_path / "o.yaml").write_text(OBJECTS)
    (tmp_path / "s.yaml").write_text(SECRETS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["why", *arguments])
    out, err = capsys.readouterr()
    assert ended.value.code == code, err
    return out + err


def test_the_tree_of_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "o.yaml", "-p", "p.yaml", "--object", "pod/web")
    assert text == beside(__file__)["the_tree_of_an_object"]


def test_many_policies_about_other_kinds_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (rest,) = [text for text in POLICIES.split("---\n") if "services" in text]
    several = [rest.replace("services", f"services-{at}") for at in range(6)]
    (folder / "p.yaml").write_text("---\n".join(several))
    text = run(capsys, "o.yaml", "-p", "p.yaml", "--object", "web")
    names = ", ".join(f"services-{at}" for at in range(4))
    assert text.endswith(f"  6 policies are about other kinds: {names} and 2 more\n")


def test_one_rule_with_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "o.yaml", "needs-owner/owner", "-p", "p.yaml", "--object", "web")
    assert text == beside(__file__)["one_rule_with_every_check"]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "o.yaml", "services", "-p", "p.yaml", "--object", "web", "-o", "json")
    (one,) = json.loads(text)["objects"]
    assert one["rules"] == tables(__file__)["json"]


def test_the_operation(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("o.yaml", "needs-owner/host", "-p", "p.yaml", "--object", "web")
    text = run(capsys, *arguments, "--operation", "DELETE")
    assert "no result: the rule says nothing of an object that is deleted" in text


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_values_of_secrets_are_hidden(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "o.yaml", "-p", "s.yaml", "--object", "key", "--all", "-o", form)
    assert "hush" not in text
    assert "hidden" in text


@from_table("arguments", "message")
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in run(capsys, *arguments, "-p", "p.yaml", code=2)


PROJECT = _TEXTS["project"]


def test_a_project_of_several_environments(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "chartkit.yaml").write_text(PROJECT)
    assert "--env names one of dev, prd" in run(capsys, "o.yaml", code=2)
