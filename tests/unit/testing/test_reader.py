from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.testing.reader import find_tests, read_test_file

HEAD = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "kyverno-test.yaml"
    path.write_text(HEAD + text, "utf-8")
    return path


def test_what_a_file_names(tmp_path: Path) -> None:
    text = """\
policies: [a.yaml, a.yaml, b]
resources: [r.yaml]
targetResources: [t.yaml]
userinfo: u.yaml
results:
  - {policy: ns/p, isMUtatingPolicy: true, result: pass, kind: Pod, resources: [x, ns/y]}
  - {policy: p, rule: r, result: fail, kind: Pod, generatedResource: g.yaml}
"""
    (test,) = read_test_file(written(tmp_path, text))
    assert test.policies == ("a.yaml", "b")
    assert (test.resources, test.targets, test.user_info) == (("r.yaml",), ("t.yaml",), "u.yaml")
    first, second = test.expectations
    assert (first.policy, first.policy_name, first.resources) == ("ns/p", "p", ("x", "ns/y"))
    assert (second.resources, second.generated) == (None, ("g.yaml",))
    assert second.location.line == 10


def test_a_document_is_a_test(tmp_path: Path) -> None:
    path = written(tmp_path, f"policies: [a]\n---\n{HEAD}policies: [b]\n")
    assert [test.policies for test in read_test_file(path)] == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("policys: [a]\n", ":4:1", "unknown field 'policys' (did you mean 'policies'?)"),
        ("policies: a.yaml\n", ":4:1", "'policies' must be a list of texts"),
        ("policies: [1]\n", ":4:1", "'policies' must be a list of texts"),
        ("results: [1]\n", ":4:11", "must be a mapping"),
        ("results:\n  - {polcy: p}\n", ":5:6", "unknown field 'polcy' (did you mean 'policy'?)"),
        ("results:\n  - {operation: PATCH}\n", ":5:6", "invalid operation 'PATCH'"),
        ("results:\n  - {resourceSpecs: [{nam: x}]}\n", ":5:23", "unknown field 'nam'"),
        ("values: {policies: 1}\n", ":4:1", "policies must be a list"),
        ("metadata: {nam: t}\n", ":4:12", "unknown field 'nam' (did you mean 'name'?)"),
        ("values: {policy: []}\n", ":4:10", "unknown field 'policy' (did you mean 'policies'?)"),
        ("apiCallResponses: [{uri: a}]\n", ":4:21", "unknown field 'uri' (did you mean 'url'?)"),
        ("globalContextEntries: [{nam: a}]\n", ":4:25", "unknown field 'nam'"),
        ("values: {globalValues: {request.operation: GET}}\n", ":4:1", "invalid request.operation"),
    ],
)
def test_what_is_wrong_has_a_place(tmp_path: Path, text: str, place: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_test_file(written(tmp_path, text))
    assert f"kyverno-test.yaml{place}: {message}" in str(caught.value)


def test_a_file_without_a_kind(tmp_path: Path) -> None:
    path = tmp_path / "kyverno-test.yaml"
    path.write_text("name: old\npolicies: [a]\n", "utf-8")
    with pytest.raises(InputError, match="has no apiVersion"):
        read_test_file(path)


def test_finds_files_in_hidden_folders_too(tmp_path: Path) -> None:
    for name in (".kyverno-test", "b"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, "")
    (tmp_path / "b" / "other.yaml").write_text("a: 1\n", "utf-8")
    found = [path.relative_to(tmp_path).as_posix() for path in find_tests(tmp_path)]
    assert found == [".kyverno-test/kyverno-test.yaml", "b/kyverno-test.yaml"]
    assert list(find_tests(tmp_path, "other.yaml")) == [tmp_path / "b" / "other.yaml"]
