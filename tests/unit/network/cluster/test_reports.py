"""What the cluster's reports say, beside what chartkit says."""

from collections.abc import Mapping, Sequence

from chartkit.model import Body
from tests.unit.network.cluster.conftest import World
from tests.unit.network.cluster.server import labelled, pod


def _report(
    name: str, *results: tuple[str, str], source: str = "kyverno", place: str = "shop"
) -> Body:
    """Kyverno's report of a Pod: policies and what they said."""
    rows = [
        {"policy": one, "rule": "rule", "result": said, "source": source} for one, said in results
    ]
    return {
        "apiVersion": "wgpolicyk8s.io/v1alpha2",
        "kind": "PolicyReport",
        "metadata": {"name": f"report-{name}", "namespace": place},
        "scope": {"apiVersion": "v1", "kind": "Pod", "name": name, "namespace": place},
        "results": rows,
    }


def test_what_differs(world: World) -> None:
    world.server.add(pod("a"), pod("b", labels={"team": "x"}), pod("c"), pod("d"))
    world.server.add(
        _report("a", ("labelled", "fail"), ("another", "fail")),
        _report("b", ("labelled", "fail")),
        _report("c", ("other", "pass")),
        _report("gone", ("labelled", "fail")),
        _report("d", ("labelled", "pass"), source="somebody"),
    )
    named = world.policies(labelled(), labelled("other"))
    code, out, err = world.scan("--cluster", "--reports", *named)
    assert (code, err) == (1, "")
    report = out[out.index("reports:") :]
    assert report.splitlines() == [
        "reports: 1 result is the same, 5 differ",
        "  labelled/rule  Pod/shop/b  theirs: fail  ours: pass",
        "  labelled/rule  Pod/shop/c  theirs: none  ours: fail",
        "  other/rule  Pod/shop/a  theirs: none  ours: fail",
        "  other/rule  Pod/shop/b  theirs: none  ours: pass",
        "  other/rule  Pod/shop/c  theirs: pass  ours: fail",
        "  objects in no report: 1",
        "  objects only in reports: Pod/shop/gone",
    ]


def test_only_where_asked_a_difference_fails(world: World) -> None:
    world.server.add(pod("b", labels={"team": "x"}), _report("b", ("labelled", "fail")))
    named = world.policies(labelled())
    assert world.scan("--cluster", "--reports", *named)[0] == 0
    code, out, _ = world.scan("--cluster", "--fail-on-differences", *named)
    assert (code, "1 differ" in out) == (1, True)


def test_the_same_on_both_sides(world: World) -> None:
    world.server.add(pod("b", labels={"team": "x"}), _report("b", ("labelled", "pass")))
    code, out, _ = world.scan("--cluster", "--fail-on-differences", *world.policies(labelled()))
    assert code == 0
    assert out.endswith("reports: 1 result is the same, 0 differ\n")


def test_a_result_of_theirs_that_is_not_ours(world: World) -> None:
    body = labelled()
    body["spec"]["rules"][0]["preconditions"] = {
        "all": [{"key": "a", "operator": "Equals", "value": "a"}]
    }
    body["spec"]["rules"][0]["match"]["any"][0]["resources"]["names"] = ["nobody"]
    world.server.add(pod("b"), _report("b", ("labelled", "fail")))
    _, out, _ = world.scan("--cluster", "--reports", *world.policies(body))
    assert "  labelled/rule  Pod/shop/b  theirs: fail  ours: none\n" in out


def test_what_a_match_condition_leaves_alone_stands_in_no_report(world: World) -> None:
    """Of policies in CEL; what a rule of a ClusterPolicy skips is reported."""
    condition = {"name": "named", "expression": "object.metadata.name == 'b'"}
    policy: Body = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "in-cel"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
            "matchConditions": [condition],
            "validations": [{"expression": "false", "message": "no"}],
        },
    }
    named = _report("b", ("in-cel", "fail"), source="KyvernoValidatingPolicy")
    named["results"][0]["rule"] = ""
    world.server.add(pod("a"), pod("b"), named, _report("a", ("labelled", "fail")))
    _, out, _ = world.scan("--cluster", "--reports", *world.policies(policy, labelled()))
    assert "in-cel  Pod/shop/a" not in out
    condition["expression"] = "true"
    _, out, _ = world.scan("--cluster", "--reports", *world.policies(policy, labelled()))
    assert "  in-cel  Pod/shop/a  theirs: none  ours: fail\n" in out


def test_policies_that_no_report_names(world: World) -> None:
    world.server.add(pod("a"))
    _, out, _ = world.scan("--cluster", "--reports", *world.policies(labelled()))
    assert "  policies that no report names: labelled\n" in out


def test_beside_another_format_it_stands_on_standard_error(world: World) -> None:
    world.server.add(pod("a"), _report("a", ("labelled", "fail")))
    named = world.policies(labelled())
    _, out, err = world.scan("--cluster", "--reports", "-o", "json", *named)
    assert out.startswith("{")
    assert err == "reports: 1 result is the same, 0 differ\n"


def test_a_cluster_without_reports(world: World) -> None:
    for path in [path for path in world.server.apis if "wgpolicyk8s" in path]:
        del world.server.apis[path]
    world.server.add(pod("a"))
    _, out, _ = world.scan("--cluster", "--reports", *world.policies(labelled()))
    assert out.endswith("reports: the cluster serves none\n")


def _both(name: str, legacy: Mapping[str, Sequence[str]], cel: Mapping[str, str]) -> Body:
    """A Pod's report: results of policies as ClusterPolicies, and as ValidatingPolicies."""
    report = _report(name, *((policy, said) for policy, each in legacy.items() for said in each))
    source = "KyvernoValidatingPolicy"
    report["results"] += _report(name, *cel.items(), source=source)["results"]
    return report


def _compared(world: World, *reports: Body) -> tuple[int, list[str]]:
    world.server.add(pod("a", labels={"team": "x"}), *reports)
    code, out, _ = world.scan("--cluster", "--fail-on-differences", *world.policies(labelled()))
    _, title, text = out.partition("both forms, ClusterPolicy and ValidatingPolicy, as reported:\n")
    return code, text.splitlines() if title else []


def test_both_forms_of_a_policy_are_compared(world: World) -> None:
    code, lines = _compared(
        world,
        _both(
            "a",
            {"same": ["pass", "fail", "skip"], "other": ["fail"], "alone": ["fail"]},
            {"same": "fail", "other": "pass", "in-cel": "fail"},
        ),
        _both("b", {"same": ["skip"], "other": ["pass"], "late": ["pass"]}, {"same": "pass"}),
        _both("c", {"other": ["pass"]}, {"other": "error", "late": "pass"}),
        _both("d", {}, {"other": "fail"}),
        _report("e", ("same", "fail"), source="somebody"),
    )
    assert code == 1
    assert lines == [
        "  late: no object is reported by both forms; wait for background scans",
        "  other: 3 of 3 objects differ; keep the ClusterPolicy",
        "    Pod/shop/a  ClusterPolicy: fail  ValidatingPolicy: pass",
        "    Pod/shop/c  ClusterPolicy: pass  ValidatingPolicy: error",
        "    Pod/shop/d  ClusterPolicy: none  ValidatingPolicy: fail",
        "  same: equal for 2 objects; the ValidatingPolicy may take over",
    ]


def test_rules_that_became_policies_are_compared_with_theirs(world: World) -> None:
    one = _both("a", {"shop": ["fail"]}, {"shop-rule": "fail", "shop-rule-audit": "pass"})
    two = _both("b", {"shop": ["pass"], "shop-rule-x": ["pass"]}, {"shop-rule": "pass"})
    _, lines = _compared(world, one, two)
    assert lines == [
        "  shop: equal for 2 objects; "
        "the ValidatingPolicies shop-rule, shop-rule-audit may take over"
    ]


def test_equal_forms_are_no_difference(world: World) -> None:
    code, lines = _compared(world, _both("gone", {"same": ["fail"]}, {"same": "fail"}))
    assert code == 0
    assert lines == ["  same: equal for 1 object; the ValidatingPolicy may take over"]


def test_policies_in_one_form_are_not_compared(world: World) -> None:
    code, lines = _compared(world, _both("gone", {"one": ["fail"]}, {"another": "fail"}))
    assert (code, lines) == (0, [])
