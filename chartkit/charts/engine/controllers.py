"""The description of the controllers, for the engine chart's templates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from chartkit.bundled import chart_source_dir
from chartkit.charts.engine.high_availability import ONE_OR_THREE, TWO_REPLICAS
from chartkit.documents.reader import read_file
from chartkit.kyverno import releases
from chartkit.kyverno.versions import parse_version
from chartkit.model import Body

SOURCE = chart_source_dir("kyverno")


def describe() -> Body:
    """The names that templates and the catalogue of values may use, rules written out in full."""
    source: Body = read_file(SOURCE / "controllers.yaml")[0].body
    verbs = {name: words.split() for name, words in source["verbs"].items()}
    controllers = [_controller(entry, source["optional"], verbs) for entry in source["controllers"]]
    # The values that need a later Kyverno than the oldest that the chart installs.
    later_values: list[Body] = []
    for version, values in source["valuesSince"].items():
        number = parse_version(version, "Kyverno").number
        for path, default in values.items():
            owners = [row["key"] for row in controllers] if path.startswith("own.") else ["own"]
            for owner in owners:
                key = path.replace("own.", f"{owner}.", 1)
                text = json.dumps(json.dumps(default))
                later_values.append(
                    {"path": key, "default": text, "number": number, "version": version}
                )
    filters = source["filters"]
    resource_filters = [part for text in filters["everywhere"] for part in _filter(text)]
    for rows, controller in product(filters["controller"], controllers):
        for row in rows:
            [(key, text)] = row.items() if isinstance(row, dict) else [("component", row)]
            if controller[key]:
                for name, template in filters["names"].items():
                    included = template.replace("{component}", controller["component"])
                    text = text.replace("{" + name + "}", included)
                resource_filters += _filter(text)
    return {
        **source,
        "controllers": controllers,
        "since": {
            flag: parse_version(version, "Kyverno").number
            for version, flags in source["flagsSince"].items()
            for flag in flags
        },
        "later_values": later_values,
        "serves": [serve.number for serve in releases.current().serves],
        "served": ", ".join(map(str, releases.current().serves)),
        "two_replicas": f"{TWO_REPLICAS}; set {ONE_OR_THREE}",
        "verb_sets": verbs,
        "roles": {
            name: [_rule([*row, ""], verbs) for row in rows]
            for name, rows in source["roles"].items()
        },
        "resource_filters": resource_filters,
        "metrics_exposure": {
            f"kyverno_{metric}": {"disabledLabelDimensions": labels.split()}
            for labels, metrics in source["metrics"].items()
            for metric in metrics.split()
        },
    }


def _controller(entry: Mapping[str, Any], optional: str, verbs: Mapping[str, list[str]]) -> Body:
    additional = entry.get("additionalVerbs")
    extra = [_rule(row, verbs) for row in entry.get("extraResources", ())]
    keys = {"apiGroups": "groups", "resources": "resources", "verbs": "verbs"}
    return {
        **dict.fromkeys(optional.split()),
        **entry,
        "certificates": "issuer" in entry,
        "additionalVerbs": verbs[additional] if additional else None,
        "role": [_rule(row, verbs) for row in entry["role"]],
        "clusterRole": [_rule(row, verbs) for row in entry["clusterRole"]],
        "flowRules": [
            {**_rule(row[:3], verbs), "where": row[3]} for row in entry.get("flowRules", ())
        ],
        "extraResources": [{key: rule[own] for key, own in keys.items()} for rule in extra],
    }


def _rule(row: list[Any], verbs: Mapping[str, list[str]]) -> Body:
    groups, resources, words = row[:3]
    extra = row[3] if len(row) > 3 else {}
    status_rows: list[str] = []
    for name in resources.split():
        bare = name.removesuffix("+")
        status_rows.append(bare)
        if bare != name:
            status_rows.append(f"{bare}/status")
    return {
        "groups": ["" if group == "core" else group for group in groups.split()],
        "resources": status_rows,
        "verbs": verbs.get(words, words.split()),
        "when": extra.get("when"),
        "names": extra.get("names", "").split(),
    }


def _filter(text: str) -> Iterator[str]:
    kind, rest = text.split(",", 1)
    bare = kind.removesuffix("+")
    yield f"[{bare},{rest}]"
    if bare != kind:
        yield f"[{bare}/?*,{rest}]"
