"""The time that policies took, as a table and as rows for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from chartkit.model import Body
from chartkit.report.text.layout import table
from chartkit.safe_text import shown

Times = Iterable[tuple[tuple[str, str, str], tuple[int, int]]]
"""The runs of each policy, rule and context entry, and their nanoseconds."""

_HEADS: Final = ("POLICY, RULE, CONTEXT ENTRY", "OBJECTS", "TOTAL ms", "MEAN ms", "SHARE")
_MILLION: Final = 1_000_000


def timing_rows(times: Times) -> list[Body]:
    """Return rows for programs: each policy, then its rules with their context entries, the slowest
    first. share: the part of the time of all policies; an entry's time is part of its rule's."""
    spent = dict(times)
    policies: dict[str, dict[str, list[str]]] = {}
    for policy, rule, entry in spent:
        entries = policies.setdefault(policy, {}).setdefault(rule, [])
        entries += [entry] if entry else []
    totals = {
        policy: sum(spent[policy, rule, ""][1] for rule in rules)
        for policy, rules in policies.items()
    }
    whole = sum(totals.values()) or 1
    rows: list[Body] = []
    for policy in sorted(policies, key=lambda name: -totals[name]):
        rules = policies[policy]
        head = {} if list(rules) == [""] else _row({"policy": policy}, 0, totals[policy], whole)
        rows += [head] if head else []
        for rule in sorted(rules, key=lambda name: -spent[policy, name, ""][1]):
            names = {"policy": policy, "rule": rule} if rule else {"policy": policy}
            rows.append(_row(names, *spent[policy, rule, ""], whole))
            rows += [
                _row({**names, "entry": entry}, *spent[policy, rule, entry], whole)
                for entry in sorted(rules[rule], key=lambda name: -spent[policy, rule, name][1])
            ]
    return rows


def _row(names: Mapping[str, str], count: int, spent: int, whole: int) -> Body:
    """Return a row; count: how often it ran, 0 for what consists of others."""
    row: Body = {**names, "milliseconds": round(spent / _MILLION, 3)}
    if count:
        row |= {"objects": count, "mean": round(spent / _MILLION / count, 4)}
    return row | {"share": round(spent / whole, 4)}


def timing_lines(rows: Sequence[Body], width: int | None) -> list[str]:
    """Return the table of rows, rules and entries below their policies."""
    if not rows:
        return []
    cells = [
        [
            _name(row),
            str(row.get("objects", "")),
            f"{row['milliseconds']:.1f}",
            f"{row['mean']:.3f}" if "mean" in row else "",
            f"{row['share']:.1%}",
        ]
        for row in rows
    ]
    return ["", *table([_HEADS, *cells], width)]


def _name(row: Body) -> str:
    if "entry" in row:
        return f"    {shown(row['entry'])}"
    return f"  {shown(row['rule'])}" if "rule" in row else shown(row["policy"])
