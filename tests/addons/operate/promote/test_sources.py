"""Evidence of clusters, their recordings, and policy-reporter."""

import json
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from chartkit.addons.operate.promote.sources import moment_of
from chartkit.model import Json
from tests.addons.operate.promote.conftest import Shop, config_map, report
from tests.api_server import Api
from tests.unit.network.cluster.server import PagedServer, namespace
from tests.unit.network.services.service import Service, serving

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
        config_map("live", "shop", app="x"),
        report("clean", "fail", "gone", 1_700_000_000, "blog"),
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
