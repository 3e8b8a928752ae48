"""CK003: node ports that the API server refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.model import Diagnostic
from chartkit.values.lint.rule import ChartValues, Rule, node_ports, place_of

_FIRST: Final = 30000
_LAST: Final = 32767
"""The API server's default range (--service-node-port-range)."""


class NodePortRange(Rule):
    id = "CK003"
    what = f"A node port outside {_FIRST}–{_LAST}."
    why = "The API server refuses the Service, and the installation stops there."
    do = "Choose a port in this range, or none to let Kubernetes choose."
    example_chart = "service: {type: ClusterIP, ports: []}\n"
    problematic = "service:\n  type: NodePort\n  ports: [{port: 80, nodePort: 8000}]\n"
    correct = "service:\n  type: NodePort\n  ports: [{port: 80, nodePort: 30800}]\n"

    def check_rendered(self, subject: ChartValues) -> Iterator[Diagnostic]:
        for service, port in node_ports(subject):
            number = port["nodePort"]
            if not isinstance(number, int) or not _FIRST <= number <= _LAST:
                message = f"node port {number} of Service {service.name} is outside "
                message += f"{_FIRST}–{_LAST}"
                location = place_of(subject, number, service, 0)
                hint = "choose one inside, or leave it out and Kubernetes chooses"
                yield self.error(message, location, hint)
