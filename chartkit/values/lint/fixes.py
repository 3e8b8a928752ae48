"""Fixes values files where that is safe: values that no template reads move to where one does.

A fix changes only what has no effect as it stands, so that nothing that works is lost. Comments and
order stay.
"""

from __future__ import annotations

import io

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.model import Body, Location
from chartkit.output.round_trip import loaded
from chartkit.schemas.json_schema import require_single_keys
from chartkit.values.lint.rules import RULES


def fix_values(text: str, file: str, defaults: Body) -> tuple[str, list[str]]:
    """Return a values file with every fix that applies, and the ids of the rules.

    file: its name in messages; defaults: the chart's own values. Raise InputError for a text that
    cannot be read, or not be edited without a change to other lines.
    """
    from ruamel.yaml.error import YAMLError

    documents = read_text(text, file)
    if len(documents) != 1:
        return text, []
    require_single_keys(documents[0])
    try:
        yaml, document = loaded(text)
    except YAMLError:
        hint = "edit it by hand: `chartkit explain` says how"
        message = "cannot be edited without a change to other lines"
        raise InputError(message, Location(file), hint) from None
    if not isinstance(document, dict):
        return text, []
    done = [rule.id for rule in RULES if rule.fixes and rule.fix(document, defaults)]
    if not done:
        return text, []
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue(), done
