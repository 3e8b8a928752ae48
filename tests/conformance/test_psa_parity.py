"""`docs/background/pss-parity.md`: the policies beside Pod Security Admission, check by check.

Below its mark the page is written from the recorded Pods: `pytest --update-golden`.
"""

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

import pytest

from chartkit.model import Body
from tests.pod_security import CHECKS, MINORS, forbidden, recorded, refused
from tests.policy_forms import FORMS
from tests.policy_library import library

PAGE: Final = Path(__file__).parent.parent.parent / "docs" / "background" / "pss-parity.md"
MARK: Final = "<!-- Written from the recorded Pods: pytest --update-golden. Not by hand. -->\n"
UPSTREAM: Final = Path(__file__).parent / "data" / "pod_security_upstream.json"
"""What upstream's chart says of the fixtures of Pod Security Admission, where that differs."""


@pytest.mark.slow
def test_psa_parity_page_is_true(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text("utf-8")
    by_hand, mark, written = text.partition(MARK)
    assert mark
    expected = "\n" + "\n".join(_page()) + "\n"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(by_hand + mark + expected, "utf-8")
    else:
        assert written == expected, "pytest --update-golden writes the page anew"


def test_counts_of_the_page() -> None:
    """What is written by hand says how much was compared."""
    words = " ".join(PAGE.read_text("utf-8").partition(MARK)[0].split())
    assert f"{len(recorded())} Pods" in words
    assert f"{len(MINORS)} versions" in words


def _control(name: str) -> str:
    (policy,) = (each for each in library().policies.values() if each.name == name)
    return policy.control.name


def _page() -> Iterator[str]:
    yield "## Check by check\n"
    yield "| control | check | policy | versions | forbids | " + " | ".join(FORMS) + " |"
    yield "|---|---|---|---|---|" + "---|" * len(FORMS)
    for check, policy in CHECKS.items():
        control = _control(policy)
        for span in _spans(check):
            agree = " | ".join(_agreement(form, check, span) for form in FORMS)
            count = len(forbidden(check, span[0]))
            yield f"| {control} | {check} | {policy} | {_versions(span)} | {count} | {agree} |"
    yield "\n## Upstream's chart\n"
    yield from _upstream()


def _spans(check: str) -> Iterator[list[int]]:
    """The versions, in runs that forbid the same Pods."""
    for _, minors in groupby(MINORS, lambda minor: forbidden(check, minor)):
        yield list(minors)


def _versions(span: list[int]) -> str:
    first, last = (f"v1.{minor}" for minor in (span[0], span[-1]))
    return first if first == last else f"{first} to {last}"


def _agreement(form: str, check: str, span: list[int]) -> str:
    """On how many Pods a form agrees at each version of a span."""
    total = len(recorded())
    unlike = {
        name for minor in span for name in refused(form, check, minor) ^ forbidden(check, minor)
    }
    return f"{total - len(unlike)} of {total}"


def _upstream() -> Iterator[str]:
    found: Body = json.loads(UPSTREAM.read_text("utf-8"))
    yield (
        f"kyverno-policies {found['chart']} with `podSecurityStandard: restricted`, beside the "
        f"{found['fixtures']} fixtures of Pod Security Admission for {found['version']}: those "
        "that it admits or refuses otherwise. A fixture of the baseline level is asked of the "
        "baseline policies alone.\n"
    )
    yield "| form | level | fixture | Pod Security Admission | upstream's chart |"
    yield "|---|---|---|---|---|"
    for form, rows in found["unlike"].items():
        for row in rows:
            refusing = ", ".join(row["refusedBy"])
            admission, chart = "forbids", "admits"
            if refusing:
                admission, chart = "admits", f"refused by {refusing}"
            yield f"| {form} | {row['level']} | {row['fixture']} | {admission} | {chart} |"
