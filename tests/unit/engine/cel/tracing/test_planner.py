"""The fields that an expression failed over."""

from contextlib import suppress
from typing import Any

import pytest

from chartkit.engine.cel import ENVIRONMENTS, CelError, Environment, compile_expression
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.tracing.calls import RepeatHost
from chartkit.engine.cel.tracing.datum import UNKNOWN, Datum
from chartkit.engine.cel.tracing.junctions import pointers
from chartkit.engine.cel.tracing.planner import causes_of, traced
from tests.data import tables
from tests.unit.engine.cel.program.random_expressions import VARIABLES, expression
from tests.unit.engine.cel.program.test_fast_is_exact import (
    ENVIRONMENT,
    NOTHING,
    compiled,
    exact,
    shown,
)

_TABLES = tables(__file__)

POD: Any = _TABLES["pod"]
ALL = (
    "(object.spec.containers + object.spec.?initContainers.orValue([])"
    " + object.spec.?ephemeralContainers.orValue([]))"
)
FIRST, SECOND, THIRD = (f"/spec/containers/{at}" for at in range(3))
INIT = "/spec/initContainers/0"


def fields(source: str, subject: Any = None, environment: Environment | None = None) -> list[str]:
    """The fields that an expression which is false, or has no value, is about."""
    program = compile_expression(source, environment or ENVIRONMENTS["vpol"])
    body = POD if subject is None else subject
    with suppress(CelError):
        assert program.evaluate({"object": body}) is False
    roots = {"object": Datum(body, ())}
    causes = causes_of(program, roots, RepeatHost(OFFLINE))
    assert causes is not None
    return list(pointers(causes, body))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # Values that are there, and values that are not.
        ("object.spec.hostNetwork == false", ["/spec/hostNetwork"]),
        ("!object.spec.hostNetwork", ["/spec/hostNetwork"]),
        ("has(object.spec.hostPID)", ["/spec/hostPID"]),
        ("!has(object.spec.hostNetwork)", ["/spec/hostNetwork"]),
        ("object.metadata.labels['a/b'] == 'y'", ["/metadata/labels/a~1b"]),
        ("object.spec.?hostPID.orValue(false)", ["/spec/hostPID"]),
        ("object.?status.?phase.orValue('') == 'Running'", ["/status/phase"]),
        ("object.spec[?'hostPID'].hasValue()", ["/spec/hostPID"]),
        (
            "object.spec.?hostPID.or(object.spec.?hostIPC).orValue(false)",
            ["/spec/hostIPC", "/spec/hostPID"],
        ),
        ("size(object.spec.containers) < 3", ["/spec/containers"]),
        ("object.spec.containers[1].image.split(':')[1] != 'latest'", [f"{SECOND}/image"]),
        ("object.spec.containers[1].image.matches('^ghcr')", [f"{SECOND}/image"]),
        (
            "quantity(object.spec.containers[1].resources.limits.memory)"
            ".isLessThan(quantity('1Gi'))",
            [f"{SECOND}/resources/limits/memory"],
        ),
        # Errors: the value that is missing, with all that is selected from it.
        ("object.spec.replicas > 2", ["/spec/replicas"]),
        (
            "object.spec.securityContext.runAsNonRoot == true",
            ["/spec/securityContext/runAsNonRoot"],
        ),
        ("object.spec.containers[7].image == 'x'", ["/spec/containers"]),
        ("quantity(object.metadata.name).isLessThan(quantity('1'))", ["/metadata/name"]),
        # `&&`: all operands that are false, and none behind one that no field changes.
        ("has(object.spec.hostPID) && object.spec.hostPID", ["/spec/hostPID"]),
        (
            "!object.spec.hostNetwork && has(object.spec.hostPID)",
            ["/spec/hostNetwork", "/spec/hostPID"],
        ),
        ("object.spec.hostNetwork && has(object.spec.hostPID)", ["/spec/hostPID"]),
        ("1 == 2 && !object.spec.hostNetwork", []),
        (
            "!(object.spec.hostNetwork && has(object.spec.volumes))",
            ["/spec/volumes", "/spec/hostNetwork"],
        ),
        # `||`: all operands; what the object is comes last, and a negation after what it guards.
        ("!has(object.spec.hostNetwork) || !object.spec.hostNetwork", ["/spec/hostNetwork"]),
        (
            "object.metadata.name == 'x' || object.spec.hostNetwork == false",
            ["/spec/hostNetwork", "/metadata/name"],
        ),
        (
            "!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath))",
            ["/spec/volumes/0/hostPath"],
        ),
        (
            "!object.spec.hostNetwork || object.metadata.labels.app == 'x'",
            ["/metadata/labels/app", "/spec/hostNetwork"],
        ),
        (
            "has(object.spec.hostPID) || !object.spec.hostNetwork",
            ["/spec/hostNetwork", "/spec/hostPID"],
        ),
        # `? :`: the branch that was taken, then the condition.
        ("has(object.spec.hostNetwork) ? !object.spec.hostNetwork : true", ["/spec/hostNetwork"]),
        ("has(object.spec.hostPID) ? object.spec.hostPID : false", ["/spec/hostPID"]),
        (
            "object.spec.hostNetwork ? object.metadata.labels.app == 'x' : true",
            ["/metadata/labels/app", "/spec/hostNetwork"],
        ),
        # `in`.
        ("'owner' in object.metadata.labels", ["/metadata/labels/owner"]),
        ("!('app' in object.metadata.labels)", ["/metadata/labels/app"]),
        ("object.metadata.labels.app in ['a', 'b']", ["/metadata/labels/app"]),
        ("'owner' in object.metadata.?annotations.orValue({})", ["/metadata/annotations/owner"]),
        (
            "!('SYS_ADMIN' in object.spec.containers[1].securityContext.capabilities.add)",
            [f"{SECOND}/securityContext/capabilities/add/0"],
        ),
        # Macros: the elements that decided.
        (
            "object.spec.containers.all(c, has(c.securityContext)"
            " && c.securityContext.privileged == false)",
            [f"{SECOND}/securityContext/privileged", f"{THIRD}/securityContext"],
        ),
        (
            f"{ALL}.all(c, c.?securityContext.?privileged.orValue(false) == false)",
            [f"{SECOND}/securityContext/privileged"],
        ),
        (
            f"{ALL}.all(c, c.image.contains(':') && !c.image.endsWith(':latest'))",
            [f"{SECOND}/image", f"{THIRD}/image", f"{INIT}/image"],
        ),
        (
            f"{ALL}.all(c, 'ALL' in c.?securityContext.?capabilities.?drop.orValue([]))",
            [
                f"{each}/securityContext/capabilities/drop"
                for each in (SECOND, "/spec/containers/2", INIT)
            ],
        ),
        (
            f"{ALL}.all(c, c.?securityContext.?capabilities.?add.orValue([])"
            ".all(name, name in ['NET_BIND_SERVICE']))",
            [f"{SECOND}/securityContext/capabilities/add/0"],
        ),
        ("object.spec.containers.all(c, false)", [FIRST, SECOND, THIRD]),
        ("!object.spec.volumes.exists(v, has(v.hostPath))", ["/spec/volumes/0/hostPath"]),
        (
            "object.spec.volumes.exists(v, v.name == 'x')",
            ["/spec/volumes", "/spec/volumes/0/name", "/spec/volumes/1/name"],
        ),
        (
            "object.metadata.labels.exists(k, v, k == 'app' && v == 'x')",
            ["/metadata/labels", "/metadata/labels/app", "/metadata/labels/a~1b"],
        ),
        ("object.metadata.labels.all(k, k.contains('/'))", ["/metadata/labels/app"]),
        (
            "['ghcr.io', 'x.io'].exists(r, object.spec.containers[1].image.startsWith(r))",
            [f"{SECOND}/image"],
        ),
        ("['app', 'owner'].all(name, name in object.metadata.labels)", ["/metadata/labels/owner"]),
        (
            "object.spec.volumes.exists_one(v, has(v.name))",
            ["/spec/volumes/0/name", "/spec/volumes/1/name"],
        ),
        (
            "object.spec.containers.filter(c, c.?securityContext.?privileged.orValue(false))"
            ".size() == 0",
            [f"{SECOND}/securityContext/privileged"],
        ),
        (
            "object.spec.containers.map(c, c.image).filter(i, i.startsWith('nginx')).size() == 0",
            [f"{SECOND}/image"],
        ),
        (
            "object.spec.containers.filter(c, c.name != 'a').all(c, has(c.resources))",
            [f"{THIRD}/resources", f"{THIRD}/name"],
        ),
        (
            "object.spec.containers.all(i, c, i != 1 || c.securityContext.privileged == false)",
            [f"{SECOND}/securityContext/privileged"],
        ),
        (
            "object.spec.containers.transformList(i, c, c.image).all(image, image.contains('/'))",
            [f"{SECOND}/image", f"{THIRD}/image"],
        ),
        (
            "object.spec.containers.transformMapEntry(i, c, {c.name: c.image})['b'] == ''",
            [f"{SECOND}/image"],
        ),
        ("object.metadata.labels.transformMap(k, v, v + '!').app == 'x'", ["/metadata/labels/app"]),
        (
            "object.spec.containers.sortBy(c, c.image).all(c, has(c.securityContext))",
            [f"{THIRD}/securityContext"],
        ),
        (
            "cel.bind(list, object.spec.volumes, list.all(v, has(v.emptyDir)))",
            ["/spec/volumes/0/emptyDir"],
        ),
        ("object.spec.?hostNetwork.optMap(on, !on).orValue(true)", ["/spec/hostNetwork"]),
        (
            "[object.spec.containers, object.spec.initContainers].flatten()"
            ".all(c, c.image.contains(':'))",
            [f"{THIRD}/image", f"{INIT}/image"],
        ),
        (
            "{'image': object.spec.containers[1].image, 'name': object.metadata.name}.image == ''",
            [f"{SECOND}/image"],
        ),
        ("object.spec.containers.first().?image.orValue('') == ''", [f"{FIRST}/image"]),
        (
            "object.spec.containers.all(c, image(c.image).registry() == 'ghcr.io')",
            [f"{SECOND}/image"],
        ),
        (
            "object.spec.containers.filter(c, has(c.resources)).map(c, c.name).join(',') == ''",
            [f"{SECOND}/resources", f"{SECOND}/name"],
        ),
        (
            "[object.spec.?nodeName.orValue(''), object.spec.?schedulerName.orValue(''), dyn('x')]"
            ".filter(name, name != '')[0] != 'x'",
            ["/spec/nodeName", "/spec/schedulerName"],
        ),
        (
            "[object.spec.containers, object.spec.initContainers]"
            ".exists(list, list.all(c, has(c.resources)))",
            [f"{FIRST}/resources", f"{THIRD}/resources", f"{INIT}/resources"],
        ),
        (
            "object.metadata.name == 'x'"
            " || !object.spec.volumes.exists(v, v.name == 'v' && has(v.hostPath))",
            ["/spec/volumes/0/hostPath", "/spec/volumes/0/name", "/metadata/name"],
        ),
        # Nothing of the object was read, or nobody may ask what was.
        ("1 == 2", []),
        ("http.Get('http://x/y').ok && object.spec.hostNetwork", []),
    ],
)
def test_fields_of_a_failure(source: str, expected: list[str]) -> None:
    assert fields(source) == expected


def test_an_error_that_another_element_outweighs_is_not_reported() -> None:
    source = "object.spec.containers.all(c, c.securityContext.privileged == false)"
    assert fields(source) == [f"{SECOND}/securityContext/privileged"]


def test_a_conversion_keeps_the_fields_of_conditions_behind() -> None:
    subject = {"spec": {"class": "gold", "size": 2}}
    source = "object.spec.class == 'gold' ? object.spec.size > 3 : true"
    assert fields(source, subject) == ["/spec/size", "/spec/class"]


def test_members_of_what_an_expression_made_are_selected_as_the_interpreter_does() -> None:
    source = "dyn(object.spec.containers + object.spec.containers).name == 'a'"
    assert fields(source) == ["/spec/containers/0", f"{SECOND}", f"{THIRD}"]
    program = compile_expression("optional.of({'a': 1}).a.hasValue()", ENVIRONMENTS["vpol"])
    assert traced(program, {}, RepeatHost(OFFLINE)).value is True


def test_pointers_are_few_and_each_once() -> None:
    subject = {"spec": {"items": [{"a": 1, "b": 1} for _ in range(500)]}}
    found = fields("object.spec.items.all(i, i.a == 2 || i.a == 3 || i.b == i.a + 1)", subject)
    assert len(found) == len(set(found)) == 32
    assert found[:2] == ["/spec/items/0/b", "/spec/items/0/a"]


def test_a_trace_that_takes_too_long_reports_nothing() -> None:
    subject = {"items": [{"name": str(at)} for at in range(1500)]}
    source = "object.items.all(a, object.items.all(b, a.name != b.name + 'x' || false) && false)"
    program = compile_expression(source, ENVIRONMENTS["vpol"])
    roots = {"object": Datum(subject, ())}
    assert causes_of(program, roots, RepeatHost(OFFLINE)) is None


@pytest.mark.parametrize("block", range(4))
def test_a_trace_computes_what_the_interpreter_does(block: int) -> None:
    roots = {"object": Datum(VARIABLES["object"], ()), "x": Datum(VARIABLES["x"])}
    compared = 0
    for seed in range(block * 100, block * 100 + 100):
        program = compiled(expression(seed), ENVIRONMENT)
        if program is None:
            continue
        try:
            found = traced(program, roots, RepeatHost(OFFLINE)).value
        except CelError:
            found = NOTHING
        if found is not UNKNOWN:
            compared += 1
            assert shown(found) == shown(exact(program)[0]), program.source
    assert compared > 90
