"""The checks of the Pod Security Standards in CEL, one declaration each.

Source of the rules: `engine/cluster_policy/podsecurity`, which has them as Kyverno 1.19 does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.presence import fits, fits_any
from chartkit.addons.migrate.expressions.verdict import as_bool, conjunction, disjunction
from chartkit.addons.migrate.validate.pod_security.pod import CONTAINER, PodPlaces
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.podsecurity.baseline import (
    DEFAULT_CAPABILITIES,
    HANDLERS,
    HOST_NAMESPACES,
    PROBES,
)
from chartkit.engine.cluster_policy.podsecurity.checks import SYSCTLS
from chartkit.engine.cluster_policy.podsecurity.restricted import (
    ALLOWED_VOLUMES,
    BINDING,
    OTHER_VOLUMES,
)
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body

Values = Sequence[str]
Fits = Callable[[Values], Expr]
"""Report whether all bad values that a field has here fit some wildcards."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An entry of `exclude`, of one control.

    images: wildcards, none for the Pod itself; field: `restrictedField`, empty for every field;
    values: wildcards that all bad values must match, none for any.
    """

    images: Values
    field: str
    values: Values

    def covers(self, field: str) -> bool:
        """Report whether it is about a field."""
        return self.field in ("", field)

    def lifts(self, bad: Fits) -> Expr:
        """Report whether it lifts the fault of a field that it is about."""
        return bad(self.values) if self.values else cel.TRUE


Exclusions = tuple[Exclusion, ...]


def exclusion(body: Body) -> Exclusion:
    """Return an entry of `exclude`."""
    return Exclusion(
        tuple(body.get("images") or ()),
        body.get("restrictedField") or "",
        tuple(body.get("values") or ()),
    )


def always(text: str) -> Fits:
    """Return the test of a bad value that can only be this text."""

    def fit(values: Values) -> Expr:
        return cel.literal(any(compile_wildcard(value)(text) for value in values))

    return fit


def silent(_values: Values) -> Expr:
    """Return the test of a fault without a value, which any exclusion lifts."""
    return cel.TRUE


def text(value: Expr) -> Fits:
    """Return the test of a text that is bad; an empty one is not a value, which fits in any
    case."""
    return lambda values: disjunction(cel.equal(value, ""), fits_any(value, values))


def of_pod(ok: Expr, field: str, exclusions: Exclusions, bad: Fits) -> Expr:
    """Return a test of the Pod's own field, with the exclusions that lift its fault."""
    lifting = (row.lifts(bad) for row in exclusions if not row.images and row.covers(field))
    return disjunction(ok, *lifting)


@dataclass(frozen=True, slots=True)
class ContainerCheck:
    """A test of every container.

    field: the path in a container, as in `restrictedField`; holds: the test; bad: of the value of
    a container that does not pass; required: whether a container that says nothing breaks it.
    """

    field: str
    holds: Callable[[Place], Expr]
    bad: Callable[[Place], Fits]
    required: bool = False

    def everywhere(self, pod: PodPlaces, exclusions: Exclusions) -> Expr:
        """Report whether every container passes, or is excluded; raises `NotConvertible`."""
        bodies = {
            name: self._body(place.element(CONTAINER), f"spec.{name}[*].{self.field}", exclusions)
            for name, place in pod.lists.items()
        }
        if self.required and bodies["containers"] != cel.TRUE:
            require_images(f"spec.containers[*].{self.field}", exclusions)
        return pod.every(bodies)

    def _body(self, container: Place, field: str, exclusions: Exclusions) -> Expr:
        lifted = [
            conjunction(has_image(container, exclusion), exclusion.lifts(self.bad(container)))
            for exclusion in exclusions
            if exclusion.images and exclusion.covers(field)
        ]
        return disjunction(self.holds(container), *lifted)


Test = Callable[[Place], Expr]
"""Report whether the value of a field passes."""
Bad = Callable[[Place], Fits]
"""The test of the bad value of a field, by exclusions."""


def of_field(field: str, holds: Test, bad: Bad, required: bool = False) -> ContainerCheck:
    """Return the check of a field of every container, up to the first list in its path."""
    steps = field.partition("[")[0].split(".")
    return ContainerCheck(
        field,
        lambda container: holds(reduce(Place.child, steps, container)),
        lambda container: bad(reduce(Place.child, steps, container)),
        required,
    )


def of_securities(
    pod: PodPlaces, exclusions: Exclusions, field: str, ok: Test, bad: Bad, within: str = ""
) -> Expr:
    """Report whether a field of the `securityContext` of the Pod and of each container passes.

    within: the object around the field, which the tests are given.
    """
    check = of_field(f"securityContext.{within or field}", ok, bad)
    check = replace(check, field=f"securityContext.{field}")
    place = reduce(Place.child, (within or field).split("."), pod.security)
    own = of_pod(ok(place), f"spec.{check.field}", exclusions, bad(place))
    return conjunction(own, check.everywhere(pod, exclusions))


def has_image(container: Place, exclusion: Exclusion) -> Expr:
    """Report whether a container has one of the images of an exclusion."""
    image = container.child("image").or_value("")
    if any(fits(image, pattern) == cel.TRUE for pattern in exclusion.images):
        return cel.TRUE
    return fits_any(image, exclusion.images)


def require_images(field: str, exclusions: Exclusions) -> None:
    """Raise NotConvertible for an exclusion that lifts the fault of one container, whichever."""
    if any(not exclusion.images and exclusion.covers(field) for exclusion in exclusions):
        raise NotConvertible(
            "an exclusion without images lifts what one container lacks, and no more: name the "
            "images of containers, or '*'",
            "validate/podSecurity/exclude",
        )


def require_one(exclusions: Exclusions, *, images: bool) -> None:
    """Raise NotConvertible for several exclusions by value of a list with several bad values, of
    which each lifts as many faults as fit it, whichever they are."""
    named = [row for row in exclusions if row.values and bool(row.images) is images]
    if len(named) > 1:
        raise NotConvertible(
            "several exclusions of one control by values of a list count its faults: make them one",
            "validate/podSecurity/exclude",
        )


WINDOWS: Final = 25
"""The minor version from which some checks let Pods for Windows."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a check asks for; message: the rule in words."""

    message: str
    expression: Expr


Facts = Callable[[PodPlaces, Exclusions, int], Iterator[Fact]]
"""Yield the facts of a check; the number: the minor version from which its form holds. Raises
`NotConvertible`."""


def _in_containers(message: str, check: ContainerCheck) -> Facts:
    """Return the facts of a check of containers alone."""

    def facts(pod: PodPlaces, exclusions: Exclusions, _since: int) -> Iterator[Fact]:
        yield Fact(message, check.everywhere(pod, exclusions))

    return facts


def _in_securities(message: str, field: str, ok: Test, bad: Bad) -> Facts:
    """Return the facts of a check of every `securityContext`."""

    def facts(pod: PodPlaces, exclusions: Exclusions, _since: int) -> Iterator[Fact]:
        yield Fact(message, of_securities(pod, exclusions, field, ok, bad))

    return facts


def host_namespaces(pod: PodPlaces, exclusions: Exclusions, _since: int) -> Iterator[Fact]:
    """The host's network, PID and IPC namespaces are not shared."""
    for name in HOST_NAMESPACES:
        shared = pod.spec.child(name).or_value(False)
        test = of_pod(cel.negate(shared), f"spec.{name}", exclusions, always("true"))
        yield Fact(f"spec.{name} must not be true", test)


def host_path_volumes(pod: PodPlaces, exclusions: Exclusions, _since: int) -> Iterator[Fact]:
    """No volume is a hostPath."""
    require_one(exclusions, images=False)
    volume = pod.spec.child("volumes").element("volume")
    path = volume.child("hostPath")
    bad = text(path.settled().child("path").or_value(""))
    test = of_pod(cel.negate(path.is_present()), "spec.volumes[*].hostPath", exclusions, bad)
    yield Fact("hostPath volumes are not allowed", _all(pod.spec.child("volumes"), "volume", test))


def host_ports(pod: PodPlaces, exclusions: Exclusions, _since: int) -> Iterator[Fact]:
    """No container has a host port."""
    require_one(exclusions, images=True)

    def unused(ports: Place, values: Values = ()) -> Expr:
        port = ports.element("port").child("hostPort").or_value(0)
        excluded = [fits_any(cel.call("string", port), values)] if values else []
        return _all(ports, "port", disjunction(cel.equal(port, 0), *excluded))

    check = of_field("ports[*].hostPort", unused, lambda ports: partial(unused, ports))
    yield Fact("containers must not use host ports", check.everywhere(pod, exclusions))


_NO_HOSTS: Final = """
actions.all(action,
    action.?httpGet.?host.orValue('') == '' && action.?tcpSocket.?host.orValue('') == '')
"""


def host_probes(pod: PodPlaces, _exclusions: Exclusions, _since: int) -> Iterator[Fact]:
    """No probe and no lifecycle handler names a host."""

    def silent_about_hosts(container: Place) -> Expr:
        actions = [container.child(name).as_optional for name in PROBES]
        actions += [container.child("lifecycle").child(name).as_optional for name in HANDLERS]
        return cel.filled(_NO_HOSTS, actions=cel.list_of(actions))

    # No control of Kyverno has this check, so nothing lifts it.
    check = ContainerCheck("", silent_about_hosts, lambda _: silent)
    yield Fact(
        "probes and lifecycle handlers of containers must not name a host",
        check.everywhere(pod, ()),
    )


privileged: Final = _in_containers(
    "containers must not be privileged",
    of_field(
        "securityContext.privileged",
        lambda place: cel.negate(place.or_value(False)),
        lambda _: always("true"),
    ),
)
proc_mount: Final = _in_containers(
    "containers must mount /proc as Default",
    of_field(
        "securityContext.procMount",
        lambda place: cel.equal(place.or_value("Default"), "Default"),
        lambda place: text(place.or_value("Default")),
    ),
)


def _added(allowed: Collection[str], message: str) -> Facts:
    """Return the facts of a check of added capabilities."""

    def added(place: Place, values: Values = ()) -> Expr:
        test = fits_any(cel.ident("capability"), (*sorted(allowed), *values))
        return _all(place, "capability", test)

    field = "securityContext.capabilities.add"
    return _in_containers(message, of_field(field, added, lambda place: partial(added, place)))


added_capabilities: Final = _added(
    DEFAULT_CAPABILITIES, "containers must not add capabilities beyond the default set"
)
_bound_capabilities: Final = _added(
    BINDING, "containers must not add capabilities other than NET_BIND_SERVICE"
)


def restricted_capabilities(pod: PodPlaces, exclusions: Exclusions, since: int) -> Iterator[Fact]:
    """Every container drops ALL capabilities and adds none but NET_BIND_SERVICE."""

    def bad(dropped: Place) -> Fits:
        name = cel.ident("capability")
        return lambda values: _all(dropped, "capability", fits_any(name, values))

    check = of_field(
        "securityContext.capabilities.drop",
        lambda dropped: cel.contains(dropped.or_value([]), "ALL"),
        bad,
        required=True,
    )
    facts = [
        Fact("containers must drop ALL capabilities", check.everywhere(pod, exclusions)),
        *_bound_capabilities(pod, exclusions, since),
    ]
    yield from unless_windows(pod, facts, since)


windows_host_process: Final = _in_securities(
    "HostProcess containers of Windows are not allowed",
    "windowsOptions.hostProcess",
    lambda place: cel.negate(place.or_value(False)),
    lambda _: always("true"),
)


def sysctls(pod: PodPlaces, exclusions: Exclusions, since: int) -> Iterator[Fact]:
    """Only sysctls that are namespaced and safe are set."""
    require_one(exclusions, images=False)
    place = pod.security.child("sysctls")
    name = place.element("sysctl").child("name").or_value("")
    allowed = cel.contains(cel.list_of(sorted(SYSCTLS[since])), name)
    test = of_pod(allowed, "spec.securityContext.sysctls[*].name", exclusions, text(name))
    yield Fact("only safe sysctls may be set", _all(place, "sysctl", test))


def privilege_escalation(pod: PodPlaces, exclusions: Exclusions, since: int) -> Iterator[Fact]:
    """Every container says that privileges do not grow."""
    field = "allowPrivilegeEscalation"

    def bad(container: Place) -> Fits:
        security = container.child("securityContext")
        place = security.child(field)

        def fit(values: Values) -> Expr:
            unset, set_ = always("nil")(values), always("true")(values)
            if unset == set_:
                return disjunction(cel.negate(security.is_present()), unset)
            if set_ == cel.TRUE:
                return disjunction(cel.negate(security.is_present()), place.is_present())
            return cel.negate(place.is_present())

        return fit

    check = ContainerCheck(
        f"securityContext.{field}",
        lambda container: cel.negate(
            container.child("securityContext").child(field).or_value(True)
        ),
        bad,
        required=True,
    )
    test = check.everywhere(pod, exclusions)
    facts = [Fact("containers must set allowPrivilegeEscalation to false", test)]
    yield from unless_windows(pod, facts, since)


def run_as_non_root(pod: PodPlaces, exclusions: Exclusions, _since: int) -> Iterator[Fact]:
    """Every container runs as another user than root, by its own word or the Pod's."""
    own = pod.security.child("runAsNonRoot")

    def bad(place: Place) -> Fits:
        said = place.or_value(True)
        return lambda values: disjunction(as_bool(said), always("false")(values))

    check = of_field(
        "securityContext.runAsNonRoot",
        lambda place: as_bool(place.or_value(own.or_value(False))),
        bad,
        required=True,
    )
    words = "the Pod or its containers must set runAsNonRoot to true, and none to false"
    pods = of_pod(as_bool(own.or_value(True)), f"spec.{check.field}", exclusions, always("false"))
    yield Fact(words, conjunction(pods, check.everywhere(pod, exclusions)))


run_as_user: Final = _in_securities(
    "runAsUser must not be 0",
    "runAsUser",
    lambda place: cel.not_equal(place.or_value(cel.NULL), 0),
    lambda _: always("0"),
)


def restricted_volumes(pod: PodPlaces, exclusions: Exclusions, _since: int) -> Iterator[Fact]:
    """Every volume is of a type that a namespace's own user may mount."""
    place = pod.spec.child("volumes")
    volume = place.element("volume")
    kind = cel.ident("type")
    allowed = cel.contains(cel.list_of(sorted(ALLOWED_VOLUMES)), kind)
    test = cel.macro(cel.ident("volume"), "exists", "type", allowed)
    before: list[Expr] = []
    for name in (*OTHER_VOLUMES, "unknown"):
        is_last = name == "unknown"
        present = cel.TRUE if is_last else volume.child(name).is_present()
        # A volume counts by the first of its types.
        first = conjunction(present, *before)
        lifted = of_pod(cel.FALSE, f"spec.volumes[*].{name}", exclusions, silent)
        if lifted == cel.FALSE:
            before.append(cel.negate(present))
        else:
            test = disjunction(test, first)
    if any(not exclusion.field and not exclusion.images for exclusion in exclusions):
        test = cel.TRUE
    words = f"volumes must be of type {either(sorted(ALLOWED_VOLUMES))}"
    yield Fact(words, _all(place, "volume", test))


def unless_windows(pod: PodPlaces, facts: Iterable[Fact], since: int) -> Iterator[Fact]:
    """Yield facts that Pods for Windows need not meet, from the version on that lets them."""
    for fact in facts:
        expression = fact.expression
        if since >= WINDOWS and expression != cel.TRUE:
            expression = disjunction(pod.is_windows, expression)
        yield Fact(fact.message, expression)


def _all(place: Place, variable: str, test: Expr) -> Expr:
    if test == cel.TRUE:
        return cel.TRUE
    return cel.macro(place.or_value([]), "all", variable, test)


def either(names: Sequence[str]) -> str:
    """Return names as a choice: `a, b or c`."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


BY_ID: Final[Mapping[str, Facts]] = {
    "allowPrivilegeEscalation": privilege_escalation,
    "capabilities_baseline": added_capabilities,
    "capabilities_restricted": restricted_capabilities,
    "hostNamespaces": host_namespaces,
    "hostPathVolumes": host_path_volumes,
    "hostPorts": host_ports,
    "hostProbesAndHostLifecycle": host_probes,
    "privileged": privileged,
    "procMount": proc_mount,
    "restrictedVolumes": restricted_volumes,
    "runAsNonRoot": run_as_non_root,
    "runAsUser": run_as_user,
    "sysctls": sysctls,
    "windowsHostProcess": windows_host_process,
}
"""The facts of the checks, by the id of each."""
