"""Conversions that are broken in one place, which a proof must see."""

import json
from dataclasses import replace

import pytest

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import prove
from chartkit.model import Location, Resource
from tests.addons.migrate.conversions import deny, policy

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


_DATA = "request.object.data"
_OWN_NAME = deny(
    f"{{{{ to_lower({_DATA}.b || '') }}}}",
    "AnyNotIn",
    "['', '{{ to_lower(request.object.metadata.name) }}']",
)


@pytest.mark.parametrize(
    ("rule", "kind", "right", "broken"),
    [
        (deny(f"{{{{ {_DATA}.a || '' }}}}", "AnyNotIn", f"[{_NAMES}]"), "ConfigMap", "ns-17", "ns"),
        (deny(_VERBS, "Equals", "true"), "Role", "'watch' in rule.verbs", _EVERY_VERB),
        (_ANNOTATIONS, "Ingress", "/etc/passwd", "/etc/passwdx"),
        (_QUOTAS, "Namespace", "< 1", "< 2"),
        (_OWN_NAME, "ConfigMap", "name.lowerAscii()", "name.upperAscii()"),
    ],
)
def test_what_is_broken_is_found(rule: str, kind: str, right: str, broken: str) -> None:
    conversion = convert(Resource(policy(rule, kind), Location("policy.yaml")))
    text = json.dumps(conversion.documents)
    assert right in text, text
    options = replace(proof_options(conversion), most_requests=800, stops_early=True)
    for forms, is_equal in ((text, True), (text.replace(right, broken), False)):
        documents = [Resource(body, Location("new.yaml")) for body in json.loads(forms)]
        proof = prove(conversion.legacy, documents, options=options)
        assert proof.equal is is_equal, proof.differences
