"""What a query finds, and what is said of names that nothing has."""

import json
from dataclasses import replace

import pytest

from chartkit.catalog.model import Entry
from chartkit.catalog.search import Query, checked, find, report, search
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version
from tests.command_reports import in_format
from tests.data import from_table

_FIRST = Entry(
    library="one",
    reference="best/require-probes",
    name="require-pod-probes",
    title="Require Pod Probes",
    description="The kubelet must know when a container hangs.",
    category="Best Practices, EKS Best Practices",
    severity="medium",
    subjects=("Pod", "Deployment"),
    kinds=("validate",),
    forms=("ClusterPolicy",),
    minimum="1.6",
    file="one/best/require-probes/p.yaml",
    line=1,
    own=False,
)
_CEL = replace(
    _FIRST, reference="best-vpol/require-probes", forms=("ValidatingPolicy",), minimum="1.14"
)
_OTHER = replace(
    _FIRST,
    library="two",
    reference="best/add-quota",
    name="add-quota",
    title="Add a quota",
    description="Probes are not meant here.",
    category="Tenancy",
    severity="",
    subjects=("Namespace",),
    kinds=("generate", "mutate"),
    minimum="",
)
_ALL = (_FIRST, _CEL, _OTHER)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (Query(), [_FIRST, _CEL, _OTHER]),
        (Query(("PROBES",)), [_FIRST, _CEL, _OTHER]),
        (Query(("probes", "kubelet")), [_FIRST, _CEL]),
        (Query(("probes", "nowhere")), []),
        (Query(("eks",)), [_FIRST, _CEL]),
        (Query(("two/best",)), [_OTHER]),
        (Query(category="eks best"), [_FIRST, _CEL]),
        (Query(severity="Medium"), [_FIRST, _CEL]),
        (Query(subject="deployment"), [_FIRST, _CEL]),
        (Query(subject="Deploy"), []),
        (Query(kind="mutate"), [_OTHER]),
        (Query(kind="validatingpolicy"), [_CEL]),
        (Query(kyverno=Version(1, 13)), [_FIRST, _OTHER]),
        (Query(kyverno=Version(1, 14), kind="validate"), [_FIRST, _CEL]),
        (Query(library="two"), [_OTHER]),
    ],
)
def test_what_a_query_finds(query: Query, found: list[Entry]) -> None:
    assert search(_ALL, query) == found


def test_names_and_titles_come_first() -> None:
    assert search((_OTHER, _FIRST), Query(("probes",))) == [_FIRST, _OTHER]


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        (Query(severity="hihg"), "severity 'hihg'", "did you mean 'high'?"),
        (Query(kind="validat"), "kind 'validat'", "did you mean 'validate'"),
        (Query(kind="xyz"), "kind 'xyz'", "known are validate, mutate"),
        (Query(subject="Podd"), "subject 'Podd'", "did you mean 'Pod'?"),
        (Query(category="tenanzy"), "category 'tenanzy'", "did you mean 'Tenancy'?"),
        (Query(library="twoo"), "library 'twoo'", "did you mean 'two'?"),
    ],
)
def test_a_mistyped_trait_is_refused(query: Query, message: str, hint: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        checked(query, _ALL, {"one", "two"})
    assert (caught.value.hint or "").startswith(hint)


def test_a_right_query_is_let_through() -> None:
    query = Query(("x",), "eks", "HIGH", "pod", "clusterpolicy", Version(1, 9), "one")
    assert checked(query, _ALL, {"one", "two"}) == query


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("best/require-probes", _FIRST),
        ("one/best-vpol/require-probes", _CEL),
        ("add-quota", _OTHER),
        ("best/add-quota/", _OTHER),
    ],
)
def test_names_of_policies(name: str, entry: Entry) -> None:
    assert find(_ALL, name) == entry


@pytest.mark.parametrize("name", ["require-probes", "require-pod-probes"])
def test_a_name_that_several_have_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"there are 2 policies '{name}'") as caught:
        find(_ALL, name)
    assert caught.value.hint == "say which: one/best/require-probes, one/best-vpol/require-probes"


@from_table("name", "hint")
def test_a_mistyped_name_is_refused(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"no policy '{name}'") as caught:
        find(_ALL, name)
    assert (caught.value.hint or "").startswith(hint)


def test_a_table_has_a_line_a_policy() -> None:
    lines = in_format(report(_ALL), "text").splitlines()
    assert [line.split()[0] for line in lines] == [
        "POLICY",
        "best/require-probes",
        "best-vpol/require-probes",
        "best/add-quota",
        "3",
    ]
    assert lines[3].split()[1:5] == ["two", "-", "-", "generate,mutate"]
    assert in_format(report(()), "text") == "0 policies\n"


def test_json_says_everything() -> None:
    text = json.dumps(report((_FIRST,)).value(), ensure_ascii=False)
    for part in (_FIRST.title, _FIRST.description, "ClusterPolicy", '"minimumKyverno": "1.6"'):
        assert part in text
