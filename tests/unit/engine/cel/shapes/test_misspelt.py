"""Fields that a kind does not have are found before anything runs; nothing is refused."""

from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS, declaring
from chartkit.engine.cel.shapes import KindIssues, meant_kind, misspelt
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from tests.data import from_table

POD = GroupVersionKind("", "v1", "Pod")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
_ENVIRONMENT = declaring(ENVIRONMENTS["vpol"], ["anything"])


def _found(expression: str, *kinds: GroupVersionKind) -> tuple[KindIssues, ...]:
    return misspelt(compile_expression(expression, _ENVIRONMENT), kinds)


@from_table("expression", "field", "hint")
def test_misspelt_fields(expression: str, field: str, hint: str | None) -> None:
    [found] = _found(expression, DEPLOYMENT)
    [diagnostic] = found.diagnostics()
    assert diagnostic.message == f"apps/v1, Kind=Deployment: undefined field '{field}'"
    assert diagnostic.hint == hint


@from_table("expression")
def test_what_is_no_misspelling(expression: str) -> None:
    assert _found(expression, DEPLOYMENT) == ()


def test_each_kind_by_itself() -> None:
    found = _found("object.spec.replicas > 1 && object.spec.nodeName == ''", DEPLOYMENT, POD)
    assert [(each.kind, [issue.field for issue in each.issues]) for each in found] == [
        (DEPLOYMENT, ["nodeName"]),
        (POD, ["replicas"]),
    ]


def test_unknown_kinds_are_passed_over() -> None:
    custom = GroupVersionKind("example.com", "v1", "Widget")
    assert _found("object.spec.zzz", custom) == ()


def test_an_environment_without_objects_is_left_alone() -> None:
    environment = declaring(ENVIRONMENTS["standard"], ["other"])
    program = compile_expression("other.object.zzz", environment)
    assert misspelt(program, [POD]) == ()


@from_table("kind", "meant")
def test_kinds_that_differ_in_a_word_are_custom_ones(kind: str, meant: str | None) -> None:
    assert meant_kind("*", kind) == meant
