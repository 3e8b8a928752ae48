"""The resources of a whole Pod, which are filled in from those of its containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from chartkit.go.quantity import Quantity
from chartkit.model import Body
from chartkit.scan.api_defaults.shape import at

_OVERCOMMITTED: Final = frozenset(("cpu", "memory"))
_HUGE_PAGES: Final = "hugepages-"

Amounts = dict[str, Quantity]


def fill_pod_resources(pod: Body) -> None:
    """Fill in the requests of a Pod that has limits, and its limits of huge pages. Nothing changes
    if a quantity is invalid."""
    for spec in at(pod, "spec"):
        for resources in at(spec, "resources"):
            try:
                _fill(spec, resources)
            except ValueError:
                continue


def _fill(spec: Body, resources: Body) -> None:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not isinstance(limits, dict) or not isinstance(requests, dict):
        return
    pages = {
        key: str(amount)
        for key, amount in _together(spec, "limits").items()
        if key.startswith(_HUGE_PAGES) and key not in requests
    }
    if limits or requests:
        limits = {**pages, **limits}
    if limits:
        of_containers = {
            key: str(amount)
            for key, amount in _together(spec, "requests").items()
            if key in _OVERCOMMITTED
        }
        of_limits = {key: one for key, one in limits.items() if _is_supported(key)}
        resources["limits"] = limits
        if together := {**of_limits, **of_containers, **requests}:
            resources["requests"] = together


def _is_supported(key: str) -> bool:
    return key in _OVERCOMMITTED or key.startswith(_HUGE_PAGES)


def _together(spec: Body, name: str) -> Amounts:
    """Return the resources that the containers need at once: their sum, or those of an init
    container."""
    total: Amounts = {}
    for container in at(spec, "containers[]"):
        _add(total, _amounts(container, name))
    beside: Amounts = {}
    first: Amounts = {}
    for container in at(spec, "initContainers[]"):
        own = dict(_amounts(container, name))
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(beside, own)
            own = beside
        else:
            _add(own, beside)
        _largest(first, own)
    _largest(total, first)
    return total


def _amounts(container: Body, name: str) -> Mapping[str, Quantity]:
    return dict(_parsed(container, name))


def _parsed(container: Body, name: str) -> Iterator[tuple[str, Quantity]]:
    for amounts in at(container, f"resources.{name}"):
        for key, amount in amounts.items():
            yield key, Quantity.parse(str(amount))


def _add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    for key, amount in more.items():
        total[key] = total[key] + amount if key in total else amount


def _largest(total: Amounts, other: Mapping[str, Quantity]) -> None:
    for key, amount in other.items():
        if key not in total or total[key] < amount:
            total[key] = amount
