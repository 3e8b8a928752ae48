import pytest

from chartkit.helm.chart_folder import IgnoreRules


@pytest.mark.parametrize(
    ("rules", "name", "folder", "expected"),
    [
        ("", "a.txt", False, False),
        ("", "templates/.hidden", False, True),
        ("*.txt", "a/b.txt", False, True),
        ("*.txt", "a/b.txtx", False, False),
        ("/a.txt", "a.txt", False, True),
        ("/a.txt", "b/a.txt", False, False),
        ("a/*.txt", "a/b.txt", False, True),
        ("a/*.txt", "a/b/c.txt", False, False),
        ("dir/", "dir", True, True),
        ("dir/", "dir", False, False),
        ("?.txt", "a.txt", False, True),
        ("[a-c].txt", "b.txt", False, True),
        ("[^a-c].txt", "b.txt", False, False),
        ("\\*.txt", "a.txt", False, False),
        ("\\*.txt", "*.txt", False, True),
        ("# a.txt\n\n", "a.txt", False, False),
        ("\ufeffa.txt", "a.txt", False, True),
        ("!a.txt", "a.txt", False, False),
        ("!a.txt", "b.txt", False, True),
        ("!dir/", "a.txt", False, True),
        ("a.txt\n**/b\n*.txt", "c.txt", False, False),
        ("[\n*.txt", "c.txt", False, False),
    ],
)
def test_ignore_rules(rules: str, name: str, folder: bool, expected: bool) -> None:
    assert IgnoreRules(rules)(name, folder) is expected
