"""Policies as `chartkit migrate policies` converts them, to be read: those of the library, and
one of Pod Security Standards.

`pytest tests/golden --update-golden` writes the expectations anew.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

import pytest

from chartkit.addons.migrate.conversion import legacy_rules
from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.files.texts import MigratedObject, object_text
from chartkit.addons.migrate.plan.inventory import LegacyObject
from chartkit.addons.migrate.plan.origin import origin_of
from chartkit.documents.reader import read_text, resources
from chartkit.engine import compile_any
from chartkit.model import Body, Resource
from tests.conftest import Golden
from tests.data import tables
from tests.policy_library import library, render

_TABLES = tables(__file__)

_NAMES: Final = (
    "add-job-ttl",
    "add-psa-labels",
    "add-readiness-gate-label",
    "deployment-has-multiple-replicas",
    "disable-automount-sa-token",
    "disable-service-links",
    "disallow-anonymous-bindings",
    "disallow-bare-pods",
    "disallow-capabilities",
    "disallow-host-namespaces",
    "disallow-host-path",
    "disallow-host-ports",
    "disallow-host-process",
    "disallow-latest-tag",
    "disallow-privilege-escalation",
    "disallow-proc-mount",
    "disallow-selinux",
    "limit-revision-history",
    "protect-running-jobs",
    "require-aws-node-identity",
    "require-dedicated-service-account",
    "restrict-seccomp",
    "require-job-ttl",
    "require-non-root-groups",
    "require-run-as-nonroot",
    "require-target-type-ip",
    "require-topology-spread-or-anti-affinity",
    "restrict-automount-sa-token",
    "restrict-seccomp-strict",
    "restrict-sysctls",
    "verify-image-signatures",
)


@cache
def _legacy() -> Mapping[str, Body]:
    policies = {each.name: each for each in library().policies.values()}
    return render([policies[name] for name in _NAMES], {})


_POD_SECURITY: Final[Body] = _TABLES["pod-security"]


def test_migrated_pod_security(golden: Golden) -> None:
    _check(Resource(_POD_SECURITY), golden)


@pytest.mark.parametrize("name", _NAMES)
def test_migrated_policy(name: str, golden: Golden) -> None:
    _check(Resource(_legacy()[name]), golden)


def _check(resource: Resource, golden: Golden) -> None:
    conversion = convert(resource)
    assert conversion.complete
    legacy = LegacyObject(resource, origin_of(resource), legacy_rules(resource))
    text = object_text([MigratedObject(legacy, conversion)])
    golden(f"migrated_policies/{resource.name}.yaml", text)
    new = resources(read_text(text))
    assert [each.body for each in new] == list(conversion.documents)
    # Kyverno takes each of them.
    for each in new:
        compile_any(each)
