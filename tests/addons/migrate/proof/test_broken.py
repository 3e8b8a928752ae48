"""Conversions that are broken in one place, which a proof must see."""

import json
from dataclasses import replace

import pytest

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import prove
from chartkit.model import Location, Resource
from tests.addons.migrate.conversions import deny, policy
from tests.data import beside

_VERBS = "{{ contains(to_array(request.object.rules[].verbs[]), 'watch') }}"
_EVERY_VERB = "rule.verbs.all(verb, verb == 'watch')"
_FITS = "{{ request.object.metadata.annotations.values(@)[].regex_match('%s', @) }}"
_ANY_OF = f'{{key: "{_FITS}", operator: AnyIn, value: [true]}}'
_ANNOTATIONS = f"""
validate:
  message: m
  deny: {{conditions: {{any: [{_ANY_OF % "alias .*;"}, {_ANY_OF % "/etc/passwd"}]}}}}
"""
_NAMES = ", ".join(f"ns-{number}" for number in range(20))
_QUOTAS = """
context:
  - name: quotas
    apiCall:
      urlPath: "/api/v1/namespaces/{{request.object.metadata.name}}/resourcequotas"
      jmesPath: "items[] | length(@)"
validate:
  message: m
  deny: {conditions: {all: [{key: "{{ quotas }}", operator: LessThan, value: 1}]}}
"""


_CAPABILITIES = "securityContext.capabilities"
_DROPPED = f"[?!contains(not_null({_CAPABILITIES}.drop, `[]`), 'ALL')] | length(@)"
_TWO_LISTS = f"""
validate:
  message: m
  deny:
    conditions:
      any:
      - key: "{{{{ request.object.spec.containers{_DROPPED} }}}}"
        operator: GreaterThan
        value: 0
      - key: "{{{{ request.object.spec.containers[].{_CAPABILITIES}.add[] }}}}"
        operator: AnyNotIn
        value: [CHOWN]
"""
_LIMITS = beside(__file__)["limits"]


_DATA = "request.object.data"
_OWN_NAME = deny(
    f"{{{{ to_lower({_DATA}.b || '') }}}}",
    "AnyNotIn",
    "['', '{{ to_lower(request.object.metadata.name) }}']",
)


@pytest.mark.parametrize(
    ("rule", "kind", "right", "broken", "most"),
    [
        (
            deny(f"{{{{ {_DATA}.a || '' }}}}", "AnyNotIn", f"[{_NAMES}]"),
            "ConfigMap",
            "ns-17",
            "ns",
            800,
        ),
        (deny(_VERBS, "Equals", "true"), "Role", "'watch' in rule.verbs", _EVERY_VERB, 800),
        (_ANNOTATIONS, "Ingress", "/etc/passwd", "/etc/passwdx", 800),
        (_QUOTAS, "Namespace", "< 1", "< 2", 800),
        (_OWN_NAME, "ConfigMap", "name.lowerAscii()", "name.upperAscii()", 800),
        (
            deny("{{ request.name }}", "Equals", "a*"),
            "ConfigMap",
            "request.name.startsWith('a')",
            "request.name.startsWith('b')",
            800,
        ),
        (_TWO_LISTS, "Pod", ": object.spec.containers.all", ": object.spec.containers.exists", 800),
        (_LIMITS, "Pod", "requests.?memory.orValue('')", "requests.?memory.orValue('x')", 1_800),
    ],
)
def test_what_is_broken_is_found(rule: str, kind: str, right: str, broken: str, most: int) -> None:
    conversion = convert(Resource(policy(rule, kind), Location("policy.yaml")))
    text = json.dumps(conversion.documents)
    assert right in text, text
    options = replace(proof_options(conversion), most_requests=most, stops_early=True)
    for forms, is_equal in ((text, True), (text.replace(right, broken), False)):
        documents = [Resource(body, Location("new.yaml")) for body in json.loads(forms)]
        proof = prove(conversion.legacy, documents, options=options)
        assert proof.equal is is_equal, proof.differences
