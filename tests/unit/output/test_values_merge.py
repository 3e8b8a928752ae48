import pytest

from chartkit.documents.reader import parse_yaml
from chartkit.errors import InputError
from chartkit.output.values_merge import ConflictError, Prefer, merge_values
from tests.data import beside, from_table
from tests.errors import error_of

BASE = beside(__file__)["base"]


def merge(edited: str, generated: str, **options: Prefer) -> str:
    return merge_values(BASE, edited, generated, "values.yaml", **options)


def test_nothing_edited_takes_what_is_generated() -> None:
    generated = BASE.replace("replicas: 1", "replicas: 2")
    assert merge(BASE, generated) == generated


def test_nothing_generated_keeps_what_is_edited() -> None:
    edited = BASE.replace("replicas: 1", "replicas:    7   # mine")
    assert merge(edited, BASE) == edited


def test_both_sides_in_different_places_keep_comments_and_order() -> None:
    edited = BASE.replace("replicas: 1", "replicas: 7  # mine").replace("80, 443", "80, 8443")
    generated = BASE.replace("ghcr.io", "reg.kyverno.io").replace("last:", "# new\nadded: 3\nlast:")
    merged = merge(edited, generated)
    assert merged == (beside(__file__)["both_sides_in_different_places_keep_comments_and_order"])


def test_the_same_edit_on_both_sides_is_none() -> None:
    edited = BASE.replace("replicas: 1", "replicas: 3 # mine")
    generated = BASE.replace("replicas: 1", "replicas: 3").replace("true", "false")
    merged = parse_yaml(merge(edited, generated))
    assert (merged["replicas"], merged["last"]) == (3, False)


def test_neighbouring_edits_merge_where_lines_cannot() -> None:
    edited = BASE.replace("replicas: 1", "replicas: 7  # mine")
    generated = BASE.replace("replicas: 1\n", "replicas: 1\nadded:\n  # why\n  deep: [1]\n")
    generated = generated.replace("ghcr.io", "reg.kyverno.io")
    merged = merge(edited, generated)
    assert parse_yaml(merged) == {
        **parse_yaml(BASE),
        "replicas": 7,
        "added": {"deep": [1]},
        "image": {"registry": "reg.kyverno.io", "tag": "1.19"},
    }
    assert "replicas: 7  # mine" in merged
    assert "# where it comes from" in merged
    assert list(parse_yaml(merged)) == ["replicas", "added", "image", "ports", "last"]


def test_removed_by_the_generator_and_by_hand() -> None:
    edited = BASE.replace("ports: [80, 443]\n", "")
    generated = BASE.replace("  # where it comes from\n  registry: ghcr.io\n", "")
    merged = parse_yaml(merge(edited, generated))
    assert merged == {"replicas": 1, "image": {"tag": "1.19"}, "last": True}


def test_added_by_hand_stays() -> None:
    edited = BASE + "own: {deep: 1}\n"
    merged = parse_yaml(merge(edited, BASE.replace("replicas: 1", "replicas: 2")))
    assert (merged["own"], merged["replicas"]) == ({"deep": 1}, 2)


@from_table("edited", "generated", "line", "name")
def test_a_conflict_is_shown_with_its_place(
    edited: str, generated: str, line: int, name: str
) -> None:
    with pytest.raises(ConflictError) as caught:
        merge(BASE.replace("replicas: 1", edited), BASE.replace("replicas: 1", generated))
    (conflict,) = caught.value.diagnostics
    assert str(conflict.location) == f"values.yaml:{line}:1"
    assert f"'{name}' was changed by hand (1 → " in conflict.message
    assert "--prefer edits" in (conflict.hint or "")


def test_every_conflict_is_shown() -> None:
    edited = BASE.replace("replicas: 1", "replicas: 7").replace("ghcr.io", "mine.io")
    generated = BASE.replace("replicas: 1", "replicas: 2").replace("ghcr.io", "other.io")
    error = error_of(ConflictError, merge, edited, generated)
    assert [each.location.line for each in error.diagnostics if each.location] == [2, 5]


def test_a_key_removed_by_hand_and_changed_by_the_generator_is_a_conflict() -> None:
    generated = BASE.replace("80, 443", "80")
    with pytest.raises(ConflictError, match="→ nothing"):
        merge(BASE.replace("ports: [80, 443]\n", ""), generated)


def test_a_conflict_goes_where_the_user_says() -> None:
    edited = BASE.replace("replicas: 1", "replicas: 7 # mine").replace("true", "false")
    generated = BASE.replace("replicas: 1", "replicas: 2")
    kept = merge(edited, generated, prefer=Prefer.EDITS)
    assert "replicas: 7 # mine" in kept
    taken = parse_yaml(merge(edited, generated, prefer=Prefer.GENERATED))
    assert (taken["replicas"], taken["last"]) == (2, False)


def test_without_a_base_additions_merge_and_differences_are_conflicts() -> None:
    merged = merge_values(None, "a: 1\nown: 2\n", "a: 1\nnew: 3\n", "values.yaml")
    assert parse_yaml(merged) == {"a": 1, "own": 2, "new": 3}
    with pytest.raises(ConflictError):
        merge_values(None, "a: 1\n", "a: 2\n", "values.yaml")


def test_an_emptied_file_is_a_conflict_only_where_something_changes() -> None:
    with pytest.raises(ConflictError):
        merge("# nothing\n", BASE.replace("replicas: 1", "replicas: 2"))
    assert merge("# nothing\n", BASE) == "# nothing\n"


@pytest.mark.parametrize("text", ["a: [\n", "- 1\n", "--- {}\n--- {}\n"])
def test_what_is_no_mapping_is_an_input_error(text: str) -> None:
    error = error_of(InputError, merge, text, BASE.replace("replicas: 1", "replicas: 2"))
    assert error.location is not None
    assert error.location.file == "values.yaml"


@pytest.mark.parametrize("generated", [BASE, BASE.replace("replicas: 1", "replicas: 2")])
def test_a_key_that_stands_twice_is_an_input_error(generated: str) -> None:
    with pytest.raises(
        InputError, match=r"values.yaml:9:1: the key 'replicas' stands here"
    ) as done:
        merge(f"{BASE}replicas: 7\n", generated)
    assert done.value.hint is not None


def test_merging_again_changes_nothing() -> None:
    edited = BASE.replace("replicas: 1", "replicas: 7  # mine")
    generated = BASE.replace("ghcr.io", "reg.kyverno.io")
    merged = merge(edited, generated)
    assert merge_values(generated, merged, generated, "values.yaml") == merged


def test_what_both_sides_append_comes_together_as_it_was_written() -> None:
    edited = BASE + "\nmine:\n- name: a   # aligned\n  deep:   [x]\n"
    generated = (
        BASE.replace("The values of", "All values of") + "\n# Told anew.\npolicies:\n  a: 1\n"
    )
    assert merge(edited, generated) == (
        BASE.replace("The values of", "All values of")
        + "\n# Told anew.\npolicies:\n  a: 1\n"
        + "\nmine:\n- name: a   # aligned\n  deep:   [x]\n"
    )


def test_what_both_sides_append_deeper_stays_in_its_mapping() -> None:
    base = "a:\n  b: 1\n"
    edited, generated = "a:\n  b: 1\n  mine: 2\n", "a:\n  b: 1\nnew: 3\n"
    assert merge_values(base, edited, generated, "v.yaml") == "a:\n  b: 1\n  mine: 2\nnew: 3\n"


def test_a_key_that_both_sides_append_is_there_once() -> None:
    edited, generated = BASE + "new: {a: 1}\n", BASE + "new:\n  b: 2\n"
    merged = merge(edited, generated)
    assert merged.count("new:") == 1
    assert parse_yaml(merged)["new"] == {"a": 1, "b": 2}
    same = merge(BASE + "new:   1\n", BASE.replace("replicas: 1", "replicas: 2") + "new: 1\n")
    assert same.count("new:") == 1


@pytest.mark.parametrize("dash", ["- name: b", "  - name: b"])
def test_lists_stay_as_far_in_as_they_are(dash: str) -> None:
    base = "replicas: 1\nlast: 1\n"
    edited = f"replicas: 7\nlast: 1\nlist:\n{dash}\n"
    generated = "replicas: 1\nlast: 2\nadded: 3\n"
    merged = merge_values(base, edited, generated, "v.yaml")
    assert f"list:\n{dash}\n" in merged
    assert parse_yaml(merged) == {"replicas": 7, "last": 2, "added": 3, "list": [{"name": "b"}]}


def test_what_was_added_to_a_mapping_stays_when_the_generator_drops_it() -> None:
    edited = BASE.replace("  registry", "  mine: 1  # my own\n  registry")
    generated = BASE.replace(BASE[BASE.index("image:") : BASE.index("ports")], "")
    merged = merge(edited, generated)
    assert parse_yaml(merged)["image"] == {"mine": 1}
    assert "# my own" in merged


def test_a_changed_key_in_a_mapping_that_the_generator_drops_is_the_conflict() -> None:
    edited = BASE.replace("ghcr.io", "mine.io").replace("  tag", "  more: 1\n  tag")
    generated = BASE.replace(BASE[BASE.index("image:") : BASE.index("ports")], "")
    error = error_of(ConflictError, merge, edited, generated)
    (found,) = error.diagnostics
    assert '\'image.registry\' was changed by hand ("ghcr.io" → "mine.io")' in found.message
    assert "chartkit generates nothing now" in found.message


@pytest.mark.parametrize("before", ["null", "''", "[]", "{}"])
@pytest.mark.parametrize("after", ["", "action: ''\n", "action: null\n"])
def test_an_empty_default_that_goes_keeps_what_was_set(before: str, after: str) -> None:
    base = f"action: {before}\nlast: 1\n"
    edited = "action: Enforce  # mine\nlast: 1\n"
    merged = merge_values(base, edited, f"{after}last: 2\n", "values.yaml")
    assert parse_yaml(merged) == {"action": "Enforce", "last": 2}
    assert "# mine" in merged


def test_a_default_that_says_something_and_goes_is_a_conflict() -> None:
    with pytest.raises(ConflictError):
        merge_values("a: 1\nlast: 1\n", "a: 2\nlast: 1\n", "last: 2\n", "values.yaml")


def test_empty_defaults_that_go_leave_the_file_of_someone_who_edited_others() -> None:
    base = "a: null\nb:\n  c: null\n  d: {}\nlast: 1\n"
    edited = base.replace("c: null", "c: 5").replace("d: {}", "d: {x: 1}")
    merged = merge_values(base, edited, "b: {}\nlast: 1\n", "values.yaml")
    assert parse_yaml(merged) == {"b": {"c": 5, "d": {"x": 1}}, "last": 1}


def test_what_cannot_be_edited_is_named() -> None:
    edited = BASE.replace("image:\n", "mine: &x {a: 1}\nimage:\n  <<: *x\n")
    generated = BASE.replace("ghcr.io", "reg.kyverno.io").replace("# where", "# from where")
    with pytest.raises(InputError, match=r"^values.yaml: cannot be edited without"):
        merge(edited.replace("  # where it comes from\n", ""), generated)


def test_what_only_kubernetes_reads_as_text_is_kept() -> None:
    edited = BASE.replace("replicas: 1", "replicas: 7\nsince: 2001-13-45")
    generated = BASE.replace("replicas: 1\n", "replicas: 1\nadded:\n  # why\n  deep:   [1]\n")
    merged = merge(edited, generated)
    assert "since: 2001-13-45\n" in merged
    assert "added:\n  # why\n  deep:   [1]\n" in merged
