"""The fields that a release takes from other programs."""

import pytest

from chartkit.addons.operate.install.verify import without_others
from chartkit.model import Body, Json

_LEAF: Body = {}


def _entry(manager: str, operation: str, fields: Json, **more: str) -> Body:
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


def _spec(*names: str) -> Body:
    return {"f:spec": {".": _LEAF, **{f"f:{name}": _LEAF for name in names}}}


def _kept(*entries: Body) -> list[Body] | None:
    return without_others({"metadata": {"managedFields": list(entries)}})


_HELM = _entry("helm", "Apply", {"f:spec": {"f:rules": _LEAF, "f:background": _LEAF}})


def test_shared_fields_are_the_releases_alone() -> None:
    assert _kept(_HELM, _entry("kubectl-create", "Update", _spec("rules", "background"))) == [_HELM]


def test_fields_that_the_release_has_not_stay() -> None:
    other = _entry("controller", "Update", _spec("rules", "extra"))
    assert _kept(_HELM, other) == [_HELM, _entry("controller", "Update", _spec("extra"))]


def test_what_helm_merged_by_another_request_is_no_apply() -> None:
    assert _kept(_HELM, _entry("helm", "Update", _spec("rules"))) == [_HELM]


def test_status_belongs_to_the_controller() -> None:
    status = _entry("kyverno", "Update", _spec("rules"), subresource="status")
    assert _kept(_HELM, status) is None


def test_an_object_without_applied_fields_is_left() -> None:
    assert _kept(_entry("helm", "Update", _spec("rules"))) is None
    assert without_others({"metadata": {}}) is None


@pytest.mark.parametrize("items", ['v:"Audit"', 'k:{"name":"a"}'])
def test_items_of_lists_are_taken_one_by_one(items: str) -> None:
    own = _entry("helm", "Apply", {"f:spec": {"f:list": {items: _LEAF}}})
    other = _entry("kubectl", "Apply", {"f:spec": {"f:list": {items: _LEAF, 'v:"Deny"': _LEAF}}})
    left = _entry("kubectl", "Apply", {"f:spec": {"f:list": {'v:"Deny"': _LEAF}}})
    assert _kept(own, other) == [own, left]


@pytest.mark.parametrize("fields", [None, 1, "x", [], {"f:spec": None}, {"f:spec": [1]}])
def test_odd_entries_break_nothing(fields: Json) -> None:
    assert _kept(_HELM, _entry("odd", "Update", fields)) in ([_HELM], None)
