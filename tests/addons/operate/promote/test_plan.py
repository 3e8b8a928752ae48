"""Plans of `chartkit promote`: what evidence allows, and why it does not."""

import time

import pytest

from chartkit.documents.reader import read_file
from chartkit.project.project import read_project
from tests.addons.operate.promote.conftest import POLICY, Shop, config_map, report

_NOW = int(time.time())
_DAY = 86_400


def test_candidates_are_promoted_held_back_or_without_evidence(shop: Shop) -> None:
    code, body = shop.promote("--candidates", "--owner-label", "owner")
    assert code == 0
    assert shop.verdicts(body) == {
        "clean": "promote",
        "dirty": "held back",
        "unused": "held back",
    }
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


@pytest.mark.parametrize(
    "arguments",
    [
        ("--to", "prd"),
        ("clean", "--candidates", "--to", "prd"),
        ("clean", "--to", "prod"),
        ("claen", "--to", "prd"),
        ("clean", "--from", "qa", "--to", "prd"),
        ("--candidates", "--back", "--to", "prd"),
        ("clean", "--to", "prd", "--context", "c"),
        ("clean", "--to", "prd", "--policy-reporter", "http://localhost"),
        ("clean", "--to", "prd", "--evidence", "gone"),
        ("clean", "--to", "prd", "--back"),
    ],
)
def test_a_promotion_that_cannot_be_planned_is_one_line(
    shop: Shop, arguments: tuple[str, ...]
) -> None:
    before = shop.project
    code, out, err = shop.run("promote", *arguments, "--write")
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert shop.project == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("clean", "--namespaces", ""), "'' is not a name of a namespace"),
        (("--candidates", "--from", "prd"), "--from and --to name the same environment"),
        (
            ("clean", "--policy-reporter", "http://reports:8080"),
            "--allow-network reports:8080 lets chartkit call it",
        ),
    ],
)
def test_options_that_promote_nothing_are_refused(
    shop: Shop, arguments: tuple[str, ...], told: str
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
