"""Regular expressions, URLs, versions and keys of patches."""

import pytest

from chartkit.engine.cel.library.kubernetes.urls import UrlValue
from chartkit.go.url import parse_url
from tests.unit.engine.cel.library.kubernetes.expressions import comes_to


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("text.find('[0-9]+')", '"123"'),
        ("text.find('x')", '""'),
        ("text.find('(\\\\w+) (\\\\w+)')", '"abc 123"'),
        ("text.findAll('[0-9]+')", '["123", "456"]'),
        ("text.findAll('[0-9]+', 1)", '["123"]'),
        ("text.findAll('[0-9]+', 0)", "[]"),
        ("text.findAll('[0-9]+', -5)", '["123", "456"]'),
        ("'aaa'.findAll('a*')", '["aaa"]'),
        ("'baab'.findAll('a*')", '["", "aa", ""]'),
        ("'aé'.findAll('')", '["", "", ""]'),
        (
            "text.find(pattern)",
            "error: Illegal regex: error parsing regexp: missing closing ]: `[`",
        ),
        ("jsonpatch.escapeKey('a/b~1')", '"a~1b~01"'),
    ],
)
def test_regular_expressions_and_keys(expression: str, expected: str) -> None:
    assert comes_to(expression, text="abc 123 456", pattern="[") == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("url('HTTPS://u:p@h:1/p?q#f')", 'url("https://u:p@h:1/p?q#f")'),
        ("url('/path').getHost()", '""'),
        ("url('https://[::1]:80/').getPort()", '"80"'),
        ("url('https://h/a b').getEscapedPath()", '"/a%20b"'),
        ("url('https://h/%7ea').getEscapedPath()", '"/%7ea"'),
        ("url('https://h').getEscapedPath()", '""'),
        ("url('https://h/?k=v&k=w&z=&bad=%zz&c;d').getQuery()", '{"k": ["v", "w"], "z": [""]}'),
        ("url('mailto:a@b.c').getScheme()", '"mailto"'),
        ("isURL('*')", "true"),
        ("isURL('a')", "false"),
        ("isURL('https://a/#%zz')", "false"),
        ("url('/a') == url('/a')", "true"),
        ("dyn(url('/a')) == dyn('/a')", "error: no such overload"),
        ("dyn(url('/a')) != dyn('/a')", "true"),
        ("dyn(url('/a')) == null", "false"),
        (
            "url('https://a:b:c/')",
            'error: URL parse error during conversion from string: parse "https://a:b:c/": '
            'invalid port ":b:c" after host',
        ),
        (
            "url('')",
            'error: URL parse error during conversion from string: parse "": empty url',
        ),
    ],
)
def test_kubernetes_texts_urls(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("http:/p", "http:/p"),
        ("http:///p", "http:///p"),
        ("http://h?", "http://h?"),
        ("http://u:@h", "http://u:@h"),
        ("http://u%2Fx@h", "http://u%2Fx@h"),
        ("http://h/a'b", "http://h/a'b"),
        ("http://h/ö", "http://h/%C3%B6"),
        ("http://h/p#a b", "http://h/p#a%20b"),
        ("http://[fe80::1%25en0]/", "http://[fe80::1%25en0]/"),
        ("a/b:c", "a/b:c"),
        ("*", "*"),
    ],
)
def test_urls_are_written_as_go_writes_them(text: str, written: str) -> None:
    url = UrlValue(parse_url(text))
    assert str(url) == written
    assert url == UrlValue(parse_url(text))
    assert hash(url) == hash(UrlValue(parse_url(text)))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("semver('1.2.3-alpha.1+build.5')", 'semver("1.2.3-alpha.1+build.5")'),
        ("semver('v01.02', true)", 'semver("1.2.0")'),
        ("semver('00.0.0-rc', true)", 'semver("0.0.0-rc")'),
        ("semver('1-rc', true)", "error: short version cannot contain PreRelease/Build meta data"),
        ("semver('v1.2.3')", 'error: Invalid character(s) found in major number "v1"'),
        ("semver('18446744073709551615.0.0').major()", "-1"),
        ("semver('1.2.3') == semver('1.2.3+build')", "true"),
        ("semver('1.10.0').compareTo(semver('1.9.0'))", "1"),
        ("semver('1.0.0-alpha.1').isLessThan(semver('1.0.0-alpha.beta'))", "true"),
        ("semver('1.0.0').isGreaterThan(semver('1.0.0-rc'))", "true"),
        ("isSemver('1.2.3-')", "false"),
        ("isSemver('v1', true)", "true"),
        ("isSemver('v1', false)", "false"),
        ("dyn(semver('1.2.3')) == dyn('1.2.3')", "error: no such overload"),
    ],
)
def test_kubernetes_texts_versions(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected
