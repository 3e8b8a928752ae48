from __future__ import annotations

import os

import pytest

from chartkit.addons.operate.install.library import readable, warnings_once

WARNING = 'I1121 20:14:39.148627    2465 warnings.go:107] "Warning: old kind"'
INFO = "I1121 20:14:39.148627    2465 reflector.go:107] listing"
ERROR = "E1121 20:14:39.148627    2465 reflector.go:107] failed"


def test_lines_of_gos_client() -> None:
    shown: set[str] = set()
    lines = [WARNING, INFO, ERROR, WARNING, "panic: no", "W1121 20:14:39.1 1 warnings.go:1] plain"]
    assert [readable(line, shown) for line in lines] == [
        "warning of the API server: old kind",
        "",
        ERROR,
        "",
        "panic: no",
        "warning of the API server: plain",
    ]


def test_what_is_written_meanwhile(capfd: pytest.CaptureFixture[str]) -> None:
    shown: set[str] = set()
    for _ in range(2):
        with warnings_once(shown):
            os.write(2, f"{WARNING}\n{INFO}\nother\n".encode())
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "warning of the API server: old kind\nother\nother\nafter\n"


def test_standard_error_comes_back_after_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="x"), warnings_once(set()):
        raise ValueError("x")
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"
