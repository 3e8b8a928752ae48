import pytest

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.testing.reader import read_api_calls, read_global_entries

GOOD_CALLS = """\
- {url: "https://a.example.org/x", response: {body: {}}}
- {url: "https://a.example.org/x", method: POST, response: {body: {}, statusCode: 404}}
- {urlPath: /api/v1/pods, method: get, response: {body: {items: []}}}
"""
GOOD_ENTRIES = """\
- {name: a, data: {x: 1}, fieldPath: x}
- {name: b, resources: [{kind: Pod}], projections: [{name: count, path: "length(@)"}]}
- {name: c, resourceFiles: [sub/../c.yaml]}
"""


def test_good_ones_stay_as_they_are() -> None:
    (calls,) = read_text(GOOD_CALLS)
    assert list(read_api_calls(calls, calls.body)) == calls.body
    (entries,) = read_text(GOOD_ENTRIES)
    assert list(read_global_entries(entries, entries.body)) == entries.body


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "must be a mapping"),
        ("[{response: {body: {}}}]", "needs either url or urlPath"),
        ("[{url: 'http://a', urlPath: /b, response: {body: {}}}]", "needs either url or urlPath"),
        ("[{url: 1, response: {body: {}}}]", "url must be a text"),
        ("[{url: 'ftp://a', response: {body: {}}}]", "absolute http or https URL"),
        ("[{url: 'http://[', response: {body: {}}}]", "absolute http or https URL"),
        ("[{urlPath: api, response: {body: {}}}]", "urlPath must start with /"),
        ("[{urlPath: /a, method: PUT, response: {body: {}}}]", "method must be GET or POST"),
        ("[{urlPath: /a}]", "has no response"),
        ("[{urlPath: /a, response: []}]", "must be a mapping"),
        ("[{urlPath: /a, response: {body: []}}]", "response.body must be a mapping"),
        ("[{urlPath: /a, response: {body: {}, statusCode: 99}}]", "between 100 and 599"),
        ("[{urlPath: /a, response: {body: {}, statusCode: yes}}]", "between 100 and 599"),
        (
            "[{urlPath: /a, response: {body: {}}}, {urlPath: /a, response: {body: {}}}]",
            "is a second answer for /a",
        ),
    ],
)
def test_calls_that_are_wrong(text: str, message: str) -> None:
    (document,) = read_text(f"apiCallResponses: {text}\n", "t.yaml")
    with pytest.raises(InputError, match=message) as caught:
        read_api_calls(document, document.body["apiCallResponses"])
    assert str(caught.value).startswith("t.yaml:1:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[x]", "must be a mapping"),
        ("[{data: {}}]", "has no name"),
        ("[{name: a, data: {}}, {name: a, data: {}}]", "is a second entry 'a'"),
        ("[{name: a}]", "needs one of data, resources, resourceFiles"),
        ("[{name: a, data: {}, resources: []}]", "needs one of data"),
        ("[{name: a, data: []}]", "must be a mapping"),
        ("[{name: a, resources: {}}]", "resources must be a list"),
        ("[{name: a, resources: [1]}]", "must be a mapping"),
        ("[{name: a, resourceFiles: [/etc/x]}]", "at or below the test's folder"),
        ("[{name: a, resourceFiles: [b/../../x]}]", "at or below the test's folder"),
        ("[{name: a, data: {}, fieldPath: 1}]", "fieldPath must be a text"),
        ("[{name: a, data: {}, projections: {}}]", "projections must be a list"),
        ("[{name: a, data: {}, projections: [{name: b}]}]", "a projection needs a path"),
    ],
)
def test_entries_that_are_wrong(text: str, message: str) -> None:
    (document,) = read_text(f"globalContextEntries: {text}\n", "t.yaml")
    with pytest.raises(InputError, match=message):
        read_global_entries(document, document.body["globalContextEntries"])
