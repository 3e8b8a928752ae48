"""From a filled-in pattern to objects, as Kyverno's background controller writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chartkit.engine.cluster_policy.generate.labels import managed_labels, source_labels
from chartkit.engine.cluster_policy.generate.pattern import CloneList, Wanted
from chartkit.engine.cluster_policy.generate.store import OF_ONE_OBJECT, Store
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.kubernetes.kinds import parse_api_version, resource_name
from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.engine.ports.cluster import ObjectKey, key_of, labels_of
from chartkit.errors import EvaluationError
from chartkit.go.int64 import Int64
from chartkit.go.quoting import quote
from chartkit.model import Body, Json, mapping_at

_NOT_CLONED: Final = frozenset(OF_ONE_OBJECT) - {"generation"}


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes what a rule generates. synchronize: whether what is there already is kept in step."""

    policy: Policy
    rule: Rule
    synchronize: bool

    def write(self, wanted: Wanted, store: Store) -> None:
        """Makes what a pattern asks for; raises EvaluationError where it cannot be made."""
        if wanted.source is not None:
            self._clone(wanted.source, wanted.target, store)
        elif wanted.clone_list is not None:
            self._clone_all(wanted.clone_list, wanted.target.namespace, store)
        else:
            self._put(wanted.data, wanted.target, store)

    def _clone(self, source: ObjectKey, target: ObjectKey, store: Store) -> None:
        if source[2:] == target[2:]:
            return
        found = store.find(source)
        if found is None:
            missing = f"{_resource(source)} {quote(source.name)} not found"
            raise EvaluationError(f"source resource {'/'.join(target)} not found: {missing}")
        self._put(_clone_of(found, target), target, store)

    def _clone_all(self, wanted: CloneList, namespace: str, store: Store) -> None:
        if wanted.selector == LabelSelector():
            raise CloneListError(
                "cloneList selector is empty: Kyverno cannot list with it",
                self.rule.location,
                "leave it out to clone every object",
            )
        for api_version, kind in wanted.kinds:
            if not api_version:
                raise CloneListError(
                    f"cloneList kind {kind} names no version: its objects cannot be listed",
                    self.rule.location,
                    f"write v1/{kind} or group/version/{kind}",
                )
            found = store.select(api_version, kind, wanted.namespace, wanted.selector)
            for source in tuple(found):
                key = key_of(source)
                if key.namespace != namespace:
                    self._clone(key, key._replace(namespace=namespace), store)

    def _put(self, data: Body, target: ObjectKey, store: Store) -> None:
        if store.find(target) is not None and not self.synchronize:
            return
        store.budget.weigh(data, "a generated object")
        labels = managed_labels(self.policy, self.rule.name, store.trigger)
        store.write(target, _finished(data, target, labels))


def _resource(key: ObjectKey) -> str:
    """A kind as API servers name it in errors: `secrets`, `deployments.apps`."""
    group, _ = parse_api_version(key.api_version)
    return ".".join(filter(None, (resource_name(key.kind), group)))


class CloneListError(EvaluationError):
    """A cloneList that cannot be listed; Kyverno's command-line program ends there."""


def _clone_of(source: Body, target: ObjectKey) -> Body:
    metadata = dict(mapping_at(source, "metadata"))
    if key_of(source).namespace != target.namespace:
        metadata.pop("ownerReferences", None)
    metadata["labels"] = {**labels_of(source), **source_labels(source)}
    return {
        **source,
        "metadata": {key: value for key, value in metadata.items() if key not in _NOT_CLONED},
    }


def _finished(data: Body, target: ObjectKey, labels: dict[str, str]) -> Body:
    given = data.get("metadata")
    if given is not None and not isinstance(given, dict):
        raise EvaluationError("metadata must be an object")
    metadata = {**(given or {}), "name": target.name, "namespace": target.namespace}
    metadata["labels"] = {**labels_of(data), **labels}
    metadata.pop("resourceVersion", None)
    for key in ("name", "namespace"):
        if not metadata[key]:
            del metadata[key]
    body: Body = {
        "apiVersion": target.api_version,
        "kind": data.get("kind") or target.kind,
        "metadata": metadata,
    }
    rest = {key: value for key, value in data.items() if key not in body}
    return {**body, **{key: _plain(value) for key, value in rest.items()}}


def _plain(value: Json) -> Json:
    """The value as any JSON has it, without the engine's own type of number."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return int(value) if isinstance(value, Int64) else value
