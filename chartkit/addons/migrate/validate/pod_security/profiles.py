"""The checks of the Pod Security Standards on AppArmor, seccomp and SELinux, in CEL.

Source of the rules: as in `checks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.presence import fits_any
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction
from chartkit.addons.migrate.validate.pod_security.checks import (
    ContainerCheck,
    Exclusions,
    Fact,
    Facts,
    either,
    of_pod,
    of_securities,
    require_one,
    silent,
    text,
    unless_windows,
)
from chartkit.addons.migrate.validate.pod_security.pod import PodPlaces
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.podsecurity.baseline import (
    ALLOWED,
    APPARMOR,
    SECCOMP,
    SECCOMP_POD,
)
from chartkit.engine.cluster_policy.podsecurity.checks import SELINUX_TYPES

_SECCOMP_FIELD: Final = "seccompProfile"
_METADATA: Final = "metadata."
_FIELDS: Final = 19
"""The minor version from which seccomp profiles are fields."""


def app_armor(pod: PodPlaces, exclusions: Exclusions, _since: int) -> Iterator[Fact]:
    """AppArmor is the runtime's default or a local profile, by field and by annotation."""
    yield Fact(
        f"the type of an AppArmor profile must be {either(ALLOWED)}",
        _types_allowed(pod, "appArmorProfile", exclusions),
    )
    if any(exclusion.field.startswith(_METADATA) for exclusion in exclusions):
        raise NotConvertible("an exclusion of a single annotation", "validate/podSecurity/exclude")
    require_one(exclusions, images=False)
    annotations = pod.metadata.child("annotations")
    key = cel.ident("key")
    value = annotations.settled().entry(key).value
    allowed = _is_allowed(value, "", "runtime/default")
    bad = of_pod(allowed, "", exclusions, text(value))
    mine = cel.method(key, "startsWith", APPARMOR)
    if bad == cel.TRUE:
        return
    test = cel.macro(annotations.or_value({}), "all", "key", cel.any_of((cel.negate(mine), bad)))
    yield Fact(
        "annotations may set the AppArmor profiles runtime/default and localhost/PROFILE alone",
        _where_described(pod, test),
    )


def _where_described(pod: PodPlaces, test: Expr) -> Expr:
    """Return a test of a Pod's metadata, which a controller's template need not have."""
    if pod.metadata.is_optional:
        return test
    return cel.any_of((cel.negate(cel.has(cel.ident("object"), "metadata")), test))


def seccomp_if_set(pod: PodPlaces, exclusions: Exclusions, since: int) -> Iterator[Fact]:
    """A seccomp profile that is set is the runtime's default or local; before 1.19, the profile in
    the deprecated annotations."""
    if since < _FIELDS:
        yield _seccomp_annotations(pod, exclusions)
    else:
        yield _seccomp_types(pod, exclusions)


def seccomp_required(pod: PodPlaces, exclusions: Exclusions, since: int) -> Iterator[Fact]:
    """Every container has a seccomp profile, its own or the Pod's, that is allowed."""
    facts = (_seccomp_types(pod, exclusions), _seccomp_present(pod, exclusions))
    yield from unless_windows(pod, facts, since)


def _seccomp_types(pod: PodPlaces, exclusions: Exclusions) -> Fact:
    words = f"the type of a seccomp profile must be {either(ALLOWED)}"
    return Fact(words, _types_allowed(pod, _SECCOMP_FIELD, exclusions))


def _seccomp_present(pod: PodPlaces, exclusions: Exclusions) -> Fact:
    """Return that a profile is there, which is asked for where no type is forbidden."""
    own = pod.security.child(_SECCOMP_FIELD)

    def profile(container: Place) -> Place:
        return container.child("securityContext").child(_SECCOMP_FIELD)

    check = ContainerCheck(
        f"securityContext.{_SECCOMP_FIELD}.type",
        lambda container: profile(container).is_present(),
        lambda _: silent,
        required=True,
    )
    present = check.everywhere(pod, exclusions)
    path = f"spec.containers[*].{check.field}"
    lifting = [exclusion for exclusion in exclusions if exclusion.images and exclusion.covers(path)]
    if present != cel.TRUE and lifting:
        container = pod.lists["containers"].element("container")
        forbidden = conjunction(check.holds(container), cel.negate(_is_type(profile(container))))
        present = disjunction(pod.some(forbidden), present)
    words = "the Pod or its containers must set a seccomp profile"
    return Fact(words, disjunction(own.is_present(), present))


def _types_allowed(pod: PodPlaces, profile: str, exclusions: Exclusions) -> Expr:
    """Report whether profiles that are set, the Pod's or a container's, are of allowed types."""
    return of_securities(
        pod,
        exclusions,
        f"{profile}.type",
        lambda place: disjunction(cel.negate(place.is_present()), _is_type(place)),
        lambda place: text(place.settled().child("type").or_value("")),
        within=profile,
    )


def _is_type(profile: Place) -> Expr:
    type_ = profile.settled().child("type").or_value("")
    return cel.contains(cel.list_of(ALLOWED), type_)


def _seccomp_annotations(pod: PodPlaces, exclusions: Exclusions) -> Fact:
    if exclusions:
        raise NotConvertible(
            "an exclusion of Seccomp by the standards in which it was an annotation",
            "validate/podSecurity/exclude",
        )
    annotations = pod.metadata.child("annotations")
    value = annotations.settled().entry(cel.ident("key")).value
    about = f"""
    key == '{SECCOMP_POD}' ||
    variables.allContainers.exists(container, key == '{SECCOMP}' + container.name)
    """
    allowed = _is_allowed(value, "runtime/default", "docker/default")
    test = cel.any_of((cel.negate(cel.filled(about)), allowed))
    test = cel.macro(annotations.or_value({}), "all", "key", test)
    return Fact(
        "annotations may set the seccomp profiles runtime/default and localhost/PROFILE alone",
        _where_described(pod, test),
    )


def _is_allowed(value: Expr, *names: str) -> Expr:
    return fits_any(value, (*names, "localhost/*"))


def selinux(pod: PodPlaces, exclusions: Exclusions, since: int) -> Iterator[Fact]:
    """SELinux types are container types, and neither user nor role is set."""
    types = sorted(SELINUX_TYPES[since])
    words = f"the type of SELinux options must be {either(list(filter(None, types)))}"
    yield Fact(words, _selinux_field(pod, exclusions, "type", types))
    for field in ("user", "role"):
        words = f"the {field} of SELinux options must not be set"
        yield Fact(words, _selinux_field(pod, exclusions, field, [""]))


def _selinux_field(
    pod: PodPlaces, exclusions: Exclusions, field: str, allowed: Sequence[str]
) -> Expr:
    return of_securities(
        pod,
        exclusions,
        f"seLinuxOptions.{field}",
        lambda place: fits_any(place.or_value(""), allowed),
        lambda place: text(place.or_value("")),
    )


BY_ID: Final[Mapping[str, Facts]] = {
    "appArmorProfile": app_armor,
    "seLinuxOptions": selinux,
    "seccompProfile_baseline": seccomp_if_set,
    "seccompProfile_restricted": seccomp_required,
}
"""The facts of the checks, by the id of each."""
