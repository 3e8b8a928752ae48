from pathlib import Path

import pytest

from chartkit.engine.cli_files.admissions import NO_VALUES
from chartkit.engine.ports.world import OFFLINE
from chartkit.errors import CompileError, InputError, NoSource
from chartkit.model import Diagnostic
from chartkit.scan.policies import compile_all
from chartkit.scan.user_inputs import read_exceptions
from chartkit.scan.user_settings import read_user_inputs
from tests.unit.engine.policies import obj, policy_resource, rule

KYVERNO = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nglobalValues: {color: red}\n"
EXCEPTION = """\
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: kyverno}
spec:
  exceptions: [{policyName: p, ruleNames: [r]}]
  match: {any: [{resources: {kinds: [Pod]}}]}
"""


def unexpected(row: Diagnostic) -> None:
    raise AssertionError(row)


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_values_files_are_told_apart_by_what_they_are(tmp_path: Path) -> None:
    chart = file(tmp_path, "prd.yaml", "image: {tag: 1}\n")
    kyverno = file(tmp_path, "k.yaml", KYVERNO)
    inputs = read_user_inputs([chart, kyverno], ["size=3,shape=round"], None)
    assert inputs.chart_values == (chart,)
    assert inputs.values.for_resource("p", "a") == {
        "color": "red",
        "size": "3",
        "shape": "round",
    }


def test_nothing_said(tmp_path: Path) -> None:
    chart = file(tmp_path, "prd.yaml", "a: 1\n")
    inputs = read_user_inputs([chart], [], None)
    assert inputs.values is NO_VALUES
    assert inputs.user is None


def test_user_inputs_name_who_asks(tmp_path: Path) -> None:
    user = file(tmp_path, "u.yaml", "userInfo: {username: ann}\n")
    inputs = read_user_inputs([], [], user)
    assert inputs.user is not None
    assert inputs.user.name == "ann"


def test_what_is_wrong_with_statements(tmp_path: Path) -> None:
    one, two = file(tmp_path, "1.yaml", KYVERNO), file(tmp_path, "2.yaml", KYVERNO)
    with pytest.raises(InputError, match="second file of Kyverno's values"):
        read_user_inputs([one, two], [], None)
    for text in ("size", "request.object.a=1", "a=b=c"):
        with pytest.raises(InputError, match="NAME=VALUE"):
            read_user_inputs([], [text], None)
    with pytest.raises(InputError, match="no such file"):
        read_user_inputs([tmp_path / "gone.yaml"], [], None)
    with pytest.raises(InputError, match="is empty"):
        read_user_inputs([], [], file(tmp_path, "empty.yaml", ""))


def test_exceptions_come_from_files_and_folders(tmp_path: Path) -> None:
    path = file(tmp_path, "e.yaml", f"{EXCEPTION}---\napiVersion: v1\nkind: Pod\n")
    assert [one.key for one in read_exceptions([path], unexpected).exceptions] == ["kyverno/e"]
    assert [one.key for one in read_exceptions([tmp_path], unexpected).exceptions] == ["kyverno/e"]


def test_exceptions_that_are_not_there(tmp_path: Path) -> None:
    path = file(tmp_path, "p.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    with pytest.raises(InputError, match="holds no PolicyException"):
        read_exceptions([path], unexpected)
    with pytest.raises(InputError, match="no such file or folder"):
        read_exceptions([tmp_path / "gone"], unexpected)
    broken = file(tmp_path, "b.yaml", EXCEPTION.replace("exceptions:", "exception:"))
    with pytest.raises(CompileError):
        read_exceptions([broken], unexpected)


def test_the_world_is_looked_at_only_where_a_policy_asks() -> None:
    inputs = read_user_inputs([], [], None)
    plain = compile_all([policy_resource()]).policies
    assert inputs.world(plain, [obj()]) is OFFLINE
    context = [{"name": "c", "configMap": {"name": "a", "namespace": "default"}}]
    asking = compile_all([policy_resource(rule(context=context))]).policies
    world = inputs.world(asking, [obj("ConfigMap")])
    assert world.api.configmap("default", "a")["kind"] == "ConfigMap"


def test_scanned_objects_answer_calls_of_the_api() -> None:
    context = [{"name": "c", "apiCall": {"urlPath": "/api/v1/namespaces/default/configmaps"}}]
    asking = compile_all([policy_resource(rule(context=context))]).policies
    world = read_user_inputs([], [], None).world(asking, [obj("ConfigMap")])
    path = "/api/v1/namespaces/default/configmaps"
    assert [one["kind"] for one in world.api.call("GET", path, None)["items"]] == ["ConfigMap"]
    with pytest.raises(NoSource):
        world.api.call("GET", "/apis/example.com/v1/things", None)


def test_global_context_entries_stand_among_the_objects() -> None:
    entry = obj("GlobalContextEntry", "kyverno.io/v2", "maps", namespace="")
    entry.body["spec"] = {"kubernetesResource": {"version": "v1", "resource": "configmaps"}}
    context = [{"name": "maps", "globalReference": {"name": "maps"}}]
    asking = compile_all([policy_resource(rule(context=context))]).policies
    world = read_user_inputs([], [], None).world(asking, [entry, obj("ConfigMap")])
    assert [one["kind"] for one in world.global_context.data("maps", "")] == ["ConfigMap"]
