"""CK004: Services that share a node port."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.model import Diagnostic, Resource
from chartkit.values.lint.rule import ChartValues, Rule, node_ports, place_of


class SharedNodePort(Rule):
    id = "CK004"
    what = "Two Services with the same node port."
    why = "The API server refuses the second one."
    do = "Give each Service its own port, or none."
    problematic = """\
admissionController:
  service: {type: NodePort, nodePort: 30443}
cleanupController:
  service: {type: NodePort, nodePort: 30443}
"""
    correct = """\
admissionController:
  service: {type: NodePort, nodePort: 30443}
cleanupController:
  service: {type: NodePort, nodePort: 30444}
"""

    def check_rendered(self, subject: ChartValues) -> Iterator[Diagnostic]:
        taken: dict[tuple[int, str], list[Resource]] = {}
        for service, port in node_ports(subject):
            number = port["nodePort"]
            if not isinstance(number, int):
                continue
            owners = taken.setdefault((number, str(port.get("protocol") or "TCP")), [])
            if owners:
                message = f"node port {number} of Service {service.name} is taken by "
                message += owners[0].name
                location = place_of(subject, number, service, len(owners))
                hint = "give each its own, or leave it out and Kubernetes chooses"
                yield self.error(message, location, hint)
            owners.append(service)
