"""ruamel.yaml's round trip, for files that are rearranged: comments and order stay."""

from __future__ import annotations

from collections import Counter
from typing import Any

from chartkit.errors import InputError
from chartkit.model import Location, single_line
from chartkit.output.yaml_edit import NOT_EDITABLE


def loaded(text: str, file: str = "<text>", offset: int = 0) -> tuple[Any, Any]:
    """Return ruamel's reader, set to write as a text is written, and what it reads of it.

    file, offset: the text's file and the lines before it, for errors. Raise InputError for a text
    that ruamel refuses, though chartkit's reader may take it as Kubernetes does.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    try:
        document = yaml.load(text)
    except (YAMLError, ValueError, LookupError, AssertionError) as error:
        # The last three are ruamel's for a scalar that its tag does not fit, and for a version.
        raise _not_editable(error, file, offset) from None
    indentation = _list_indentation(document)
    yaml.indent(mapping=2, sequence=indentation + 2, offset=indentation)
    return yaml, document


def _not_editable(error: Exception, file: str, offset: int) -> InputError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem, _, _ = single_line(getattr(error, "problem", None) or str(error)).partition(" with ")
    location = Location(file, offset + mark.line + 1, mark.column + 1) if mark else Location(file)
    return InputError(f"{NOT_EDITABLE}: {problem}", location)


def _list_indentation(target: Any) -> int:
    """Return the indentation of most lists below their keys; 2 where there are none."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    counter: Counter[int] = Counter()
    todo = [target]
    while todo:
        value = todo.pop()
        if isinstance(value, CommentedSeq):
            todo.extend(value)
        if not isinstance(value, CommentedMap):
            continue
        todo.extend(value.values())
        for key, item in value.items():
            if isinstance(item, CommentedSeq) and item and not item.fa.flow_style():
                counter[item.lc.col - value.lc.key(key)[1]] += 1
    return 2 if not counter or counter.most_common(1)[0][0] else 0
