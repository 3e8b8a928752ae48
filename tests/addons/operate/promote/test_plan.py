"""Plans of `chartkit promote`: evidence of clusters and recordings, and what it allows."""

import json
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from chartkit.addons.operate.promote.sources import moment_of
from chartkit.documents.reader import read_file
from chartkit.model import Json
from chartkit.project.project import read_project
from tests.addons.operate.promote.conftest import POLICY, Shop, config_map, report
from tests.api_server import Api
from tests.data import from_table
from tests.unit.network.cluster.server import PagedServer, namespace
from tests.unit.network.services.service import Service, serving

_NOW = int(time.time())
_DAY = 86_400


def test_candidates_are_promoted_held_back_or_without_evidence(shop: Shop) -> None:
    code, body = shop.promote("--candidates", "--owner-label", "owner")
    assert code == 0
    assert shop.verdicts(body) == {"clean": "promote", "dirty": "held back", "unused": "held back"}
    dirty = next(each for each in body["policies"] if each["name"] == "dirty")
    assert dirty["reasons"] == ["2 objects in 2 namespaces would be refused"]
    assert [(each["name"], each["owner"]) for each in dirty["blocked"]] == [
        ("a", "payments"),
        ("c", None),
    ]
    unused = next(each for each in body["policies"] if each["name"] == "unused")
    assert "no evidence" in unused["reasons"][0]


def test_the_text_counts_as_terraform_does(shop: Shop) -> None:
    code, out, err = shop.run("promote", "--candidates", "--to", "prd", "--owner-label", "owner")
    assert code == 0
    assert (
        "prd: 1 to Enforce, 2 held back: 2 objects in 2 namespaces, owners: payments\n"
        "way back: chartkit promote clean --to prd --back --write\n"
    ) in out
    assert "apps/a.json:1" in out
    assert err == "nothing was written: --write does it\n"


@pytest.mark.parametrize(
    ("other", "passing"),
    [("", 1), ("    - name: other\n      match: {any: [{resources: {kinds: [ConfigMap]}}]}\n", 1)],
)
def test_an_object_passes_if_every_rule_lets_it_pass(shop: Shop, other: str, passing: int) -> None:
    text = POLICY.replace("NAME", "dirty").replace("LABEL", "team")
    validate = '      validate: {message: m, pattern: {metadata: {name: "?*"}}}\n' if other else ""
    shop.write("policies/dirty/dirty.yaml", text + other + validate)
    _, out, _ = shop.run("promote", "dirty", "--to", "prd")
    assert f"{passing} of 3 objects pass" in out


def test_a_named_policy_that_is_held_back_refuses_all(shop: Shop) -> None:
    before = shop.project
    code, body = shop.promote("clean", "dirty", "--write")
    assert (code, body["refused"]) == (1, True)
    assert shop.project == before
    assert not (shop.folder / "promotions.yaml").exists()


def test_candidates_are_those_that_another_environment_enforces(shop: Shop) -> None:
    _, body = shop.promote("--candidates", "--from", "qa")
    assert shop.verdicts(body) == {"clean": "promote"}


def test_a_policy_that_enforces_already_is_done(shop: Shop) -> None:
    code, out, _ = shop.run("promote", "clean", "--to", "qa")
    assert code == 0
    assert "= clean  enforces already" in out
    assert "qa: 0 to Enforce" in out


@pytest.mark.parametrize(("status", "verdict"), [("pass", "promote"), ("fail", "held back")])
def test_reports_are_evidence(shop: Shop, status: str, verdict: str) -> None:
    shop.objects("reports.json", report("clean", status, "gone", _NOW))
    _, body = shop.promote("clean", "--evidence", "reports.json")
    assert shop.verdicts(body) == {"clean": verdict}
    [policy] = body["policies"]
    assert policy["evidence"]["reports"]["results"] == {status: 1}


def test_the_engine_and_a_report_that_agree_count_once(shop: Shop) -> None:
    shop.objects("reports.json", report("dirty", "fail", "a", _NOW))
    _, body = shop.promote("dirty", "--evidence", "reports.json")
    [policy] = body["policies"]
    assert policy["reasons"] == ["2 objects in 2 namespaces would be refused"]
    assert [each["name"] for each in policy["blocked"]] == ["a", "c"]


@pytest.mark.parametrize(
    ("age", "verdict"), [(15, "promote"), (13, "held back"), (None, "held back")]
)
def test_reports_must_reach_back(shop: Shop, age: int | None, verdict: str) -> None:
    seconds = 0 if age is None else _NOW - age * _DAY
    shop.objects(
        "reports.json", report("clean", "pass", "a", seconds), report("clean", "pass", "b", 0)
    )
    _, body = shop.promote("clean", "--evidence", "reports.json", "--days", "14")
    assert shop.verdicts(body) == {"clean": verdict}


def test_namespaces_narrow_the_evidence(shop: Shop) -> None:
    shop.objects("more.json", config_map("d", "shop-eu", team="d"))
    code, body = shop.promote("dirty", "--evidence", "more.json", "--namespaces", "shop-*")
    assert (code, shop.verdicts(body)) == (0, {"dirty": "promote"})
    code, body = shop.promote("dirty", "--namespaces", "bl*")
    assert (code, body["policies"][0]["reasons"]) == (
        1,
        ["1 object in 1 namespace would be refused"],
    )


def test_what_admission_alone_sees_is_said(shop: Shop) -> None:
    text = POLICY.replace("NAME", "clean").replace("LABEL", "app")
    text = text.replace(
        "kinds: [ConfigMap]}}]}",
        "kinds: [ConfigMap]}}]}\n      exclude: {any: [{clusterRoles: [cluster-admin]}]}",
    )
    text = text.replace(
        "  rules:",
        "  background: false\n  validationFailureActionOverrides:\n"
        "    - {action: Audit, namespaces: [old]}\n  rules:",
    )
    shop.write("policies/clean/clean.yaml", text)
    shop.run("render")
    _, body = shop.promote("clean")
    caveats = body["policies"][0]["caveats"]
    for part in ("who sends a request", "not evaluated in the background", "its own actions"):
        assert any(part in each for each in caveats), caveats
    _, out, _ = shop.run("promote", "--candidates", "--to", "prd")
    told = out.partition("\nnot in the evidence:\n")[2].partition("\n\n")[0].splitlines()
    assert told == [f"  clean: {each}" for each in caveats]


def test_exceptions_make_a_promotion_safe(shop: Shop) -> None:
    code, body = shop.promote("dirty", "--with-exceptions", "--write")
    assert (code, shop.verdicts(body)) == (0, {"dirty": "promote"})
    [file] = (shop.folder / "exceptions/prd").iterdir()
    found = [document.body for document in read_file(file)]
    names = [each["spec"]["match"]["any"][0]["resources"]["names"] for each in found]
    assert names == [["a"], ["c"]]
    assert all("cleanup.kyverno.io/ttl" in each["metadata"]["labels"] for each in found)
    project = read_project(shop.folder)
    assert project.environments["prd"].exceptions[0].path == file
    assert "# What comes last." in shop.project
    code, out, _ = shop.run(
        "scan", "apps", "-p", "policies", "--exceptions", str(file), "-o", "json"
    )
    assert code == 0, out


@from_table("arguments")
def test_a_promotion_that_cannot_be_planned_is_one_line(shop: Shop, arguments: list[str]) -> None:
    before = shop.project
    code, out, err = shop.run("promote", *arguments, "--write")
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert shop.project == before


@from_table("arguments", "told")
def test_options_that_promote_nothing_are_refused(
    shop: Shop, arguments: list[str], told: str
) -> None:
    code, out, err = shop.run("promote", *arguments, "--to", "prd")
    assert (code, out) == (2, "")
    assert told in err


def test_an_input_that_cannot_be_read_is_a_row_and_nothing_is_written(shop: Shop) -> None:
    broken = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n"
    shop.write("stock/open.yaml", broken)
    shop.write("chartkit.yaml", shop.project.replace("[apps]", "[apps, stock]"))
    shop.write("more.yaml", broken)
    before = shop.project
    code, body = shop.promote("clean", "--evidence", "more.yaml", "--write")
    assert (code, body["refused"], shop.project) == (2, True, before)
    assert shop.verdicts(body) == {"clean": "promote"}
    said = "4:1: error unread: is not YAML"
    assert [said in each for each in body["unread"]] == [True, True]
    code, out, _ = shop.run("promote", "clean", "--to", "prd")
    assert code == 2
    assert f"stock/open.yaml:{said}" in out
    assert "refused: nothing is promoted while an input is not read" in out


_PAGE = 500


@pytest.fixture
def server(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[PagedServer]:
    with PagedServer() as running:
        running.serve(Api("openreports.io", "v1alpha1", "reports", "Report", True))
        running.add(namespace("shop", team="front"), namespace("blog"))
        shop.write("kubeconfig", running.kubeconfig)
        monkeypatch.setenv("KUBECONFIG", "kubeconfig")
        yield running


def test_a_cluster_and_its_reports(shop: Shop, server: PagedServer) -> None:
    server.add(config_map("live", "shop"), report("clean", "fail", "gone", 1_700_000_000, "blog"))
    code, body = shop.promote("clean", "--cluster")
    assert {request.method for request in server.requests} == {"GET"}
    [policy] = body["policies"]
    assert code == 1
    blocked = {(each["name"], each["owner"], each["source"]) for each in policy["blocked"]}
    assert blocked == {("live", "front", "cluster"), ("gone", None, "reports of cluster")}
    assert policy["evidence"]["reports"]["from"] == "2023-11-14"


def test_reports_older_than_their_object_do_not_hold_a_policy_back(
    shop: Shop, server: PagedServer
) -> None:
    server.add(config_map("live", "shop", app="x"), report("clean", "fail", "live", 1_700_000_000))
    code, body = shop.promote("clean", "--cluster")
    [policy] = body["policies"]
    assert (code, policy["blocked"]) == (0, [])
    assert policy["evidence"]["reports"] == {
        "results": {"fail": 1},
        "from": "2023-11-14",
        "to": "2023-11-14",
        "outdated": 1,
    }
    assert any("older than the object, which passes now" in each for each in policy["caveats"])


def test_reports_of_what_more_than_the_object_decides_hold_a_policy_back(
    shop: Shop, server: PagedServer
) -> None:
    name = "policies/clean/clean.yaml"
    text = (shop.folder / name).read_text()
    asks = (
        "preconditions: {all: [{key: '{{request.operation}}', operator: NotEquals, value: DELETE}]}"
    )
    shop.write(name, text.replace("      validate:", f"      {asks}\n      validate:"))
    assert shop.run("render")[0] == 0
    server.add(config_map("live", "shop", app="x"), report("clean", "fail", "live", 1_700_000_000))
    code, body = shop.promote("clean", "--cluster")
    assert (code, [each["name"] for each in body["policies"][0]["blocked"]]) == (1, ["live"])


@pytest.mark.slow
def test_reports_of_objects_that_kyverno_is_never_sent_do_not_count(
    shop: Shop, server: PagedServer
) -> None:
    shop.write("values.yaml", "config: {resourceFiltersInclude: ['[ConfigMap,blog,*]']}")
    project = shop.project.replace('kyverno: "1.18"', 'kyverno: "1.19"')
    project = project.replace(
        "    engine: false\n    workloads", "    engineValues: [values.yaml]\n    workloads"
    )
    shop.write("chartkit.yaml", project)
    assert shop.run("render")[0] == 0
    server.add(
        config_map("live", "shop", app="x"), report("clean", "fail", "gone", 1_700_000_000, "blog")
    )
    code, body = shop.promote("clean", "--cluster")
    [policy] = body["policies"]
    assert (code, policy["blocked"], policy["notSent"]) == (0, [], 2)


def test_a_recording_is_evidence_as_the_cluster_was(shop: Shop, server: PagedServer) -> None:
    server.add(config_map("live", "shop", app="x"))
    recorded = ("scan", "--cluster", "-p", "policies", "--reports", "--record", "rec")
    shop.run(*recorded)
    asked = len(server.requests)
    code, body = shop.promote("clean", "--evidence", "rec")
    assert (code, len(server.requests)) == (0, asked)
    assert body["policies"][0]["evidence"]["sources"]["cluster rec"] == 1


def test_what_a_cluster_does_not_tell_is_a_note(shop: Shop, server: PagedServer) -> None:
    server.add(config_map("live", "shop", app="x"))
    shop.run("scan", "--cluster", "-p", "policies", "--record", "rec")
    _, body = shop.promote("clean", "--evidence", "rec")
    assert any("not read: policyreports" in each for each in body["notes"])


@pytest.fixture
def reporter() -> Iterator[Service]:
    with serving() as running:
        yield running


def _item(status: str, name: str) -> dict[str, object]:
    return {
        "id": name,
        "namespace": "shop",
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "name": name,
        "message": "said so",
        "policy": "clean",
        "rule": "label",
        "status": status,
        "timestamp": 1_700_000_000,
    }


def _host(service: Service) -> tuple[str, ...]:
    return ("--policy-reporter", service.url("/"), "--allow-network", service.place)


def test_policy_reporter_is_read_page_by_page(shop: Shop, reporter: Service) -> None:
    items = [_item("pass", f"n{index}") for index in range(_PAGE)]
    path = "/v1/namespaced-resources/results?policies=clean&page="
    reporter.answers = {
        f"{path}1&offset={_PAGE}": (200, json.dumps({"items": items, "count": 501}).encode()),
        f"{path}2&offset={_PAGE}": (
            200,
            json.dumps({"items": [_item("fail", "last")], "count": 501}).encode(),
        ),
        "/v1/cluster-resources/results": (200, b'{"items": [], "count": 0}'),
    }
    code, body = shop.promote("clean", *_host(reporter))
    assert code == 1
    [policy] = body["policies"]
    assert policy["evidence"]["reports"]["results"] == {"fail": 1, "pass": _PAGE}
    assert [each["name"] for each in policy["blocked"]] == ["last"]
    asked = [parse_qs(urlsplit(each.path).query)["page"] for each in reporter.asked]
    assert asked == [["1"], ["2"], ["1"]]


@pytest.mark.parametrize(
    "answer", [(404, b""), (200, b"<html>"), (200, b"[]"), (200, b'{"items": 1}'), (500, b"{}")]
)
def test_something_else_than_policy_reporter_is_refused(
    shop: Shop, reporter: Service, answer: tuple[int, bytes]
) -> None:
    reporter.answers = {"/v1/namespaced-resources/results": answer}
    code, out, err = shop.run("promote", "clean", "--to", "prd", *_host(reporter))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "policy-reporter" in err


def test_no_other_host_is_called(shop: Shop, reporter: Service) -> None:
    arguments = ("--policy-reporter", reporter.url("/"), "--allow-network", "example.com")
    code, _, err = shop.run("promote", "clean", "--to", "prd", *arguments)
    assert code == 2
    assert reporter.asked == []
    assert "--allow-network" in err


@pytest.mark.parametrize("seconds", [None, True, -1, 0, "1", 10**18, 1.5])
def test_times_of_reports_that_are_none(seconds: Json) -> None:
    assert moment_of(seconds) is None
