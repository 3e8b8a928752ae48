"""Policy folders: what is read from them, what is wrong with them, and where it is said."""

from pathlib import Path

import pytest

from chartkit.bundled import library_dir, profiles_dir
from chartkit.documents.reader import Source, parse_yaml, read_file
from chartkit.errors import InputError, RenderError
from chartkit.kyverno.versions import Version
from chartkit.library.policies import FolderPolicy, read_library, read_policy, upstream_library
from chartkit.library.profiles import read_profile
from chartkit.library.templating import placed, render_text, source_mistakes
from tests.data import beside, from_table, tables
from tests.errors import error_of
from tests.unit.project.project_files import write_policy

_OWN = "parameters:\n  minimum: {type: integer, default: 2, description: How many.}\n"
_SHARED = "standard: {type: string, default: latest, description: The version.}\n"


def _read(folder: Path, **files: str) -> FolderPolicy:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return read_policy(folder)


def test_reads_a_policy(tmp_path: Path) -> None:
    write_policy(tmp_path, "first/mine", more=_OWN)
    policy = read_library([tmp_path]).find("mine")
    assert policy.reference == "first/mine"
    assert policy.minimum_kyverno == Version(1, 6)
    assert policy.defaults == {"minimum": 2}
    assert policy.parameters["minimum"].type == "integer"
    assert not policy.parameters["minimum"].shared
    assert policy.template.text == (tmp_path / "first/mine/policy.yaml").read_text()


def test_a_policy_needs_no_category(tmp_path: Path) -> None:
    write_policy(tmp_path, "mine")
    policy = read_library([tmp_path]).find("mine")
    assert policy.reference == "mine"
    assert policy.group == ""


def test_shared_parameters_come_from_the_library(tmp_path: Path) -> None:
    write_policy(tmp_path, "a/mine", more="sharedParameters: [standard]\n")
    (tmp_path / "parameters.yaml").write_text(_SHARED)
    parameter = read_library([tmp_path]).find("a/mine").parameters["standard"]
    assert parameter.shared
    assert parameter.default == "latest"


def test_cases_have_parameters_and_resources_of_their_own(tmp_path: Path) -> None:
    write_policy(tmp_path, "mine", more=_OWN)
    case = tmp_path / "mine" / "cases" / "three"
    case.mkdir(parents=True)
    (case / "parameters.yaml").write_text("minimum: 3\n")
    (case / "bad.yaml").write_text("kind: Pod\n")
    (policy,) = read_library([tmp_path]).policies.values()
    found = policy.examples
    assert [each.name for each in found] == ["", "three"]
    assert found[1].parameters == {"minimum": 3}
    assert (found[1].good, found[1].bad) == (None, case / "bad.yaml")


def test_folders_are_read_together_in_order_of_references(tmp_path: Path) -> None:
    write_policy(tmp_path / "one", "b/second")
    write_policy(tmp_path / "two", "a/first")
    library = read_library([tmp_path / "one", tmp_path / "two"])
    assert list(library.policies) == ["two/a/first", "one/b/second"]


def test_two_policies_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    write_policy(tmp_path, "a/mine")
    write_policy(tmp_path, "b/mine")
    library = read_library([tmp_path])
    assert library.find("b/mine").folder == tmp_path / "b" / "mine"
    with pytest.raises(InputError, match="there are 2 policies 'mine'") as caught:
        library.find("mine")
    assert caught.value.hint == f"say which: {tmp_path.name}/a/mine, {tmp_path.name}/b/mine"


def test_two_policies_of_one_reference_are_refused(tmp_path: Path) -> None:
    write_policy(tmp_path / "one" / "ours", "a/mine")
    write_policy(tmp_path / "two" / "ours", "a/mine")
    with pytest.raises(InputError, match="two policies 'a/mine'") as caught:
        read_library([tmp_path / "one" / "ours", tmp_path / "two" / "ours"])
    assert str(tmp_path / "one") in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("reference", "hint"),
    [("a/mien", "did you mean 'a/mine'?"), ("b/mine", "did you mean 'a/mine'?"), ("xyz", None)],
)
def test_an_unknown_reference_is_refused(tmp_path: Path, reference: str, hint: str | None) -> None:
    write_policy(tmp_path, "a/mine")
    with pytest.raises(InputError, match=f"no policy '{reference}'") as caught:
        read_library([tmp_path]).find(reference)
    assert caught.value.hint == hint


def test_a_library_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no policy library"):
        read_library([tmp_path / "nowhere"])


def test_an_empty_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is empty"):
        read_library([tmp_path])


@from_table("metadata", "message")
def test_broken_metadata_is_refused(tmp_path: Path, metadata: str, message: str) -> None:
    write_policy(tmp_path, "mine")
    error = error_of(InputError, _read, tmp_path / "mine", metadata=metadata)
    assert any(part in str(error) for part in message.split("|"))


@from_table("old", "new", "message")
def test_wrong_metadata_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    write_policy(tmp_path, "mine")
    file = tmp_path / "mine" / "metadata.yaml"
    changed = file.read_text().replace(old, new, 1)
    error = error_of(InputError, _read, tmp_path / "mine", metadata=changed)
    assert message in error.message
    assert error.location is not None
    assert error.location.file == str(file)
    assert error.location.line > 0


@from_table("more", "message")
def test_wrong_parameters_are_refused(tmp_path: Path, more: str, message: str) -> None:
    write_policy(tmp_path, "mine", more=more)
    (tmp_path / "parameters.yaml").write_text(_SHARED)
    assert message in error_of(InputError, read_library, [tmp_path]).message


def test_parameters_of_a_case_must_be_a_mapping(tmp_path: Path) -> None:
    write_policy(tmp_path, "mine")
    case = tmp_path / "mine" / "cases" / "odd"
    case.mkdir(parents=True)
    (case / "parameters.yaml").write_text("- 1\n")
    with pytest.raises(InputError, match="parameters must be a mapping"):
        read_library([tmp_path])


def test_an_unreadable_policy_is_refused(tmp_path: Path) -> None:
    write_policy(tmp_path, "mine")
    (tmp_path / "mine" / "metadata.yaml").unlink()
    (tmp_path / "mine" / "policy.yaml").write_text("{{- if .Values.mine }}\n")
    with pytest.raises(InputError, match=r"metadata\.yaml"):
        read_library([tmp_path])


def test_built_in_profiles_name_every_built_in_policy() -> None:
    library = read_library([library_dir()])
    named = {
        library.find(reference).name
        for file in profiles_dir().glob("*.yaml")
        for reference in read_file(file)[0].body["spec"]["policies"]
    }
    assert named == {policy.name for policy in library.policies.values()}


def test_built_in_profiles_extend_one_another() -> None:
    extends = {
        file.stem: list(
            read_profile(file.stem, profiles_dir()).document.body["spec"].get("extends", [])
        )
        for file in profiles_dir().glob("*.yaml")
    }
    assert extends == tables(__file__)["built_in_profiles_extend_one_another"]


PLAIN = beside(__file__)["plain"]


@pytest.mark.parametrize("folder", [".", "team", "team/deeper"])
def test_a_plain_policy_may_be_called_policy_yaml(tmp_path: Path, folder: str) -> None:
    file = tmp_path / folder / "policy.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PLAIN)
    assert not read_library([tmp_path]).policies
    assert upstream_library(tmp_path).references


def test_a_policy_at_the_root_of_a_library_needs_a_folder(tmp_path: Path) -> None:
    write_policy(tmp_path, "mine")
    with pytest.raises(InputError, match="needs a folder of its own"):
        read_library([tmp_path / "mine"])


_RULE = """\
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {metadata: {name: "?*"}}}
"""
_CEL = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\nspec:\n"
_HEAD = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n"
_METADATA = beside(__file__)["metadata"]
_TWICE = "the key 'name' stands here a second time"
_CASES = {
    "no mistake": (f"{_HEAD}  background: false\n{_RULE}", []),
    "no boolean": (
        f"{_HEAD}  background: maybe\n{_RULE}",
        ["5:3: spec.background: must be true or false, and is 'maybe'"],
    ),
    "no boolean in CEL": (
        f"{_CEL}  evaluation: {{background: {{enabled: 1}}}}\n",
        ["5:29: spec.evaluation.background.enabled: must be true or false, and is 1"],
    ),
    "a key twice": (f"{_HEAD}{_RULE}    name: s\n", [f"9:5: {_TWICE}"]),
    "a key with a slash twice": (
        f"{_HEAD}{_RULE}".replace("name: p", "name: p, annotations: {a/b: x, a/b: y}"),
        ["3:43: the key 'a/b' stands here a second time"],
    ),
}


@pytest.mark.parametrize("own_format", [False, True])
@pytest.mark.parametrize("name", _CASES)
def test_mistakes_have_their_place(tmp_path: Path, name: str, own_format: bool) -> None:
    text, expected = _CASES[name]
    (tmp_path / "own/p").mkdir(parents=True)
    (tmp_path / "own/p/policy.yaml").write_text(text)
    if own_format:
        (tmp_path / "own/p/metadata.yaml").write_text(_METADATA)
        [policy] = read_library([tmp_path]).policies.values()
        found = [*source_mistakes(policy)]
    else:
        [upstream] = upstream_library(tmp_path).find("own/p")
        found = [*source_mistakes(upstream)]
    shown = [
        f"{each.location.line}:{each.location.column}: {each.message}"
        for each in found
        if each.location
    ]
    assert shown == expected


def test_values_of_parameters_are_no_mistakes(tmp_path: Path) -> None:
    (tmp_path / "own/p").mkdir(parents=True)
    text = f'{_HEAD}  background: <%= parameter("b") %>\n{_RULE}'
    (tmp_path / "own/p/policy.yaml").write_text(text)
    (tmp_path / "own/p/metadata.yaml").write_text(_METADATA)
    [policy] = read_library([tmp_path]).policies.values()
    assert [*source_mistakes(policy)] == []


TEMPLATE = Source(
    "policy.yaml",
    """\
<%# A comment
    of two lines. %>
kind: ClusterPolicy
spec:
  rules:
    - name: one
      validate:
        message: <%= message("one") %>
        deny: {conditions: [a == b]}
<% if more %>
    - name: two
<% endif %>
  list:
    - same
  text: >-
    it is <%=
      value %>
""",
)
ONE = beside(__file__)["one"]
TWO = ONE.replace("  list:", "    - name: two\n  list:")


@pytest.mark.parametrize(
    ("text", "pointer", "place"),
    [
        (TWO, "/spec/rules/0/validate/message", "8:9"),
        (TWO, "/spec/rules/1/name", "11:7"),
        (TWO, "/spec/rules/0/validate/missing", "7:7"),
        (TWO, "/spec/added", "4:1"),
        (TWO, "/spec/list/0", "14:7"),
        (TWO, "/spec/text", "15:3"),
        (TWO, "/other", "1"),
        # A list of another length has no items at known places.
        (ONE, "/spec/rules/0/name", "5:3"),
    ],
)
def test_fields_are_where_the_template_has_them(text: str, pointer: str, place: str) -> None:
    location = placed(parse_yaml(text), TEMPLATE).location
    assert str(location) == "policy.yaml:1"
    assert str(location.within(pointer)) == f"policy.yaml:{place}"
    assert location.value_of(pointer) is None


def test_characters_of_texts_without_tags_have_their_place() -> None:
    location = placed(parse_yaml(TWO), TEMPLATE).location
    found = location.character("/spec/rules/0/validate/deny/conditions/0", 5)
    assert str(found) == "policy.yaml:9:34"
    assert str(location.character("/spec/text", 6)) == "policy.yaml:15:3"
    assert str(location.character("/spec/rules/7", 6)) == "policy.yaml:5:3"


def test_a_template_that_is_no_yaml_without_its_tags_has_the_place_of_the_file() -> None:
    template = Source("p.yaml", "a: [<% if x %>\n")
    location = placed({"a": [1]}, template).location
    assert str(location.within("/a/0")) == str(location.character("/a/0", 1)) == "p.yaml:1"


@from_table("expression")
@pytest.mark.parametrize("root", [None, Path()])
def test_an_expression_that_makes_no_sense(expression: str, root: Path | None) -> None:
    with pytest.raises(RenderError) as found:
        render_text(f"a\nb <%= {expression} %>\n", {"x": "text"}, "f.yaml", root)
    assert str(found.value).startswith("f.yaml:2: template: ")


def test_a_loop_without_an_end() -> None:
    with pytest.raises(RenderError, match=r"f\.yaml:1"):
        render_text("<% for i in range(10000000000) %>x<% endfor %>", {}, "f.yaml")
