"""Values of upstream's chart kyverno-policies, whose policies are in chartkit's library: as
profiles and settings of an environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit import bundled
from chartkit.addons.operate.adopt.model import Estate, Outcome, Row
from chartkit.addons.operate.adopt.policies import as_action, as_entries, as_exclusions
from chartkit.documents.reader import Document
from chartkit.library.policies import read_library
from chartkit.model import Body, Json, Location, mapping_at, mappings_at

_DISTINCTIVE: Final = frozenset(
    (
        "podSecurityStandard",
        "podSecurityPolicies",
        "includeOtherPolicies",
        "includeRestrictedPolicies",
        "validationFailureActionByPolicy",
        "validationFailureActionOverrides",
        "policyExclude",
        "policyPreconditions",
    )
)
"""Keys at the top that values of no other chart have."""
_TYPES: Final[Mapping[str, type]] = {
    "podSecurityStandard": str,
    "podSecurityPolicies": list,
    "includeOtherPolicies": list,
    "includeRestrictedPolicies": list,
    "validationFailureAction": str,
    "validationFailureActionByPolicy": dict,
    "validationFailureActionOverrides": dict,
    "policyExclude": dict,
    "policyPreconditions": dict,
}
_DEFAULTS: Final[Mapping[str, Json]] = {
    "background": True,
    "failurePolicy": "Fail",
    "kyvernoVersion": "autodetect",
    "podSecuritySeverity": "medium",
    "validationAllowExistingViolations": True,
}
_STANDARDS: Final = ("baseline", "restricted")
_NAMED: Final = ("includeOtherPolicies", "includeRestrictedPolicies")
_CLUSTER_POLICY: Final = "ClusterPolicy"
_HINT: Final = (
    "`chartkit values migrate --chart kyverno-policies` says what becomes of it; edit "
    "charts/kyverno-policies/values_{}.yaml after `chartkit render`"
)
_TAKEN: Final = _DISTINCTIVE | {"validationFailureAction", "policyKind", "policyType"}
_UNSAID: Final = "no key of chartkit.yaml says it"


@dataclass(frozen=True, slots=True)
class ChartSettings:
    """profiles: the environment's besides the adopted one; added: policies for the latter;
    environment: keys of the environment; policies: settings of single policies by name."""

    profiles: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    environment: Body = field(default_factory=dict)
    policies: Body = field(default_factory=dict)


def is_values(body: Json) -> bool:
    """Report whether a document is values of the chart."""
    return isinstance(body, dict) and bool(_DISTINCTIVE & body.keys())


def chart_settings(
    estate: Estate, in_use: Collection[str]
) -> tuple[ChartSettings | None, list[Row]]:
    """Return the settings that the chart's values amount to, with a row for each; None without
    values, and where the policies themselves were taken. in_use: the names of these."""
    if not estate.chart_values:
        return None, []
    taker = _Taker(estate.name, estate.chart_values[-1])
    for document in estate.chart_values[:-1]:
        taker.row(Outcome.LEFT, "values", "other values of the chart come later", document.location)
    if taker.known & set(in_use):
        message = "are not needed: the chart's policies were found, and are taken as they are"
        taker.row(Outcome.NOTE, "values", message, taker.document.location)
        return None, taker.rows
    return taker.settings(), taker.rows


class _Taker:
    """Takes the values of one document over."""

    def __init__(self, environment: str, document: Document) -> None:
        self.document = document
        self.rows: list[Row] = []
        self._environment = environment
        self._values: Body = document.body
        library = read_library([bundled.library_dir()]).policies.values()
        self._groups = {policy.name: policy.group for policy in library}
        self.known = frozenset(self._groups)
        self._selection: frozenset[str] = frozenset()
        self._policies: dict[str, Body] = {}

    def row(self, outcome: Outcome, subject: str, message: str, location: Location) -> None:
        hint = _HINT.format(self._environment) if outcome is Outcome.LEFT else ""
        name = f"{subject} of kyverno-policies"
        self.rows.append(Row(outcome, name, message, location, hint, self._environment))

    def _say(self, outcome: Outcome, key: str, message: str) -> None:
        self.row(outcome, key, message, self.document.locate(key))

    def settings(self) -> ChartSettings:
        """Return the settings; add the rows."""
        for key, wanted in _TYPES.items():
            if not isinstance(self._values.get(key), (wanted, type(None))):
                self._say(Outcome.LEFT, key, "has a value of another type than the chart takes")
                self._values = {name: kept for name, kept in self._values.items() if name != key}
        profiles, added = self._selected()
        environment: Body = {}
        if action := self._values.get("validationFailureAction"):
            environment["action"] = as_action(action)
            self._say(
                Outcome.TAKEN, "validationFailureAction", f"→ action: {environment['action']}"
            )
        kind = self._values.get("policyKind", _CLUSTER_POLICY)
        form = kind if kind == _CLUSTER_POLICY else self._values.get("policyType", kind)
        if form in (_CLUSTER_POLICY, "ValidatingPolicy", "ValidatingAdmissionPolicy"):
            environment["policyType"] = form
        overrides = mapping_at(self._values, "validationFailureActionOverrides")
        if entries := self._entries(mappings_at(overrides, "all")):
            environment["actions"] = entries
        # Take over what values say of single policies
        for policy_name, action in mapping_at(
            self._values, "validationFailureActionByPolicy"
        ).items():
            self._set("validationFailureActionByPolicy", policy_name, "action", as_action(action))
        overrides = mapping_at(self._values, "validationFailureActionOverrides")
        for policy_name in [override for override in overrides if override != "all"]:
            entries = self._entries(mappings_at(overrides, policy_name))
            self._set("validationFailureActionOverrides", policy_name, "actions", entries)
        for policy_name, block in mapping_at(self._values, "policyExclude").items():
            excluded = None
            if isinstance(block, dict) and block.keys() <= {"any"}:
                excluded = as_exclusions(mappings_at(block, "any"))
            if excluded is None:
                self._say(Outcome.LEFT, "policyExclude", f"{policy_name}: {_UNSAID}")
            else:
                self._set("policyExclude", policy_name, "exclude", excluded)
        if names := mapping_at(self._values, "policyPreconditions"):
            message = f"{', '.join(map(str, names))}: {_UNSAID}"
            self._say(Outcome.LEFT, "policyPreconditions", message)
        for key, value in self._values.items():
            if value not in (None, "", {}, [], _DEFAULTS.get(str(key))) and key not in _TAKEN:
                self._say(Outcome.LEFT, str(key), _UNSAID)
        return ChartSettings(profiles, added, environment, dict(self._policies))

    def _selected(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the profiles, and the policies that these do not have."""
        standard = self._values.get("podSecurityStandard", "baseline")
        profiles = (f"pss-{standard}",) if standard in _STANDARDS else ()
        keys = (*_NAMED, *(("podSecurityPolicies",) if standard == "custom" else ()))
        added = tuple(dict.fromkeys(name for key in keys for name in self._names(key)))
        groups = _STANDARDS[: _STANDARDS.index(standard) + 1] if profiles else ()
        self._selection = frozenset(name for name, group in self._groups.items() if group in groups)
        self._selection |= {policy.partition("/")[2] for policy in added}
        if profiles:
            self._say(Outcome.TAKEN, "podSecurityStandard", f"→ profiles: [{profiles[0]}]")
        elif standard not in ("custom", "privileged"):
            self._say(Outcome.LEFT, "podSecurityStandard", "is not a standard that the chart has")
        return profiles, added

    def _names(self, key: str) -> Iterator[str]:
        given = self._values.get(key)
        names = [str(name) for name in given] if isinstance(given, list) else []
        if unknown := [name for name in names if name not in self.known]:
            message = f"chartkit's library does not have {', '.join(unknown)}"
            self._say(Outcome.LEFT, key, message)
        if policies := [f"{self._groups[name]}/{name}" for name in names if name in self.known]:
            self._say(Outcome.TAKEN, key, f"→ the adopted profile: {', '.join(policies)}")
        yield from policies

    def _entries(self, overrides: Sequence[Body]) -> list[Json]:
        entries = as_entries(overrides)
        key = "validationFailureActionOverrides"
        if entries is None:
            self._say(Outcome.LEFT, key, _UNSAID)
        elif entries:
            self._say(Outcome.TAKEN, key, "→ actions")
        return entries or []

    def _set(self, key: str, name: str, setting: str, value: Json) -> None:
        if name not in self._selection:
            self._say(Outcome.LEFT, key, f"{name} is none of the policies that the values select")
        elif value:
            self._policies.setdefault(name, {})[setting] = value
            self._say(Outcome.TAKEN, key, f"→ policies.{name}.{setting}")
