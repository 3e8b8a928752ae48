"""Why labels do not fit a selector: the part that they do not fit, on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from chartkit.engine.kubernetes.selectors import (
    LabelSelector,
    compile_selector,
    selector_parts,
    selector_problem,
    selector_text,
)
from chartkit.engine.why import MISSING, value_text
from chartkit.model import FieldPath, Json
from chartkit.safe_text import shown


class LabelMiss(NamedTuple):
    """A part of a selector that labels do not fit.

    path: of the part below the selector; key: of the label, empty for a part that Kubernetes
    refuses; value: of the label, MISSING for none; text: the reason in one sentence.
    """

    path: FieldPath
    key: str
    value: Json
    text: str


def label_miss(
    selector: LabelSelector, labels: Mapping[str, str], noun: str = "label"
) -> LabelMiss | None:
    """Return the first part of a selector that labels do not fit; None if they fit all.

    noun: what the labels are called.
    """
    for at, part in enumerate(selector_parts(selector)):
        if compile_selector(part)(labels):
            continue
        (key,) = (*part.labels, *(requirement.key for requirement in part.expressions))
        path: FieldPath = ("matchLabels", key)
        if part.expressions:
            path = ("matchExpressions", at - len(selector.labels))
            if problem := selector_problem(part):
                text = f"Kubernetes refuses the selector: {shown(problem)}"
                return LabelMiss(path, "", MISSING, text)
        value = labels.get(key, MISSING)
        text = f"{noun} {shown(key)} is {value_text(value)}"
        if part.expressions:
            return LabelMiss(path, key, value, f"{text}; wanted: {shown(selector_text(part))}")
        return LabelMiss(path, key, value, f"{text}, not {value_text(part.labels[key])}")
    return None
