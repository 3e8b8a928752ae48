"""Files in object stores (`s3://`, `gs://`, …), by fsspec (extra `chartkit[remote]`).

Credentials, regions and endpoints are those of the store's own configuration, such as the
environment variables of AWS.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from chartkit.errors import ChartkitError, InputError, extra
from chartkit.model import Location
from chartkit.output.folders import path_below


def download(url: str, folder: Path) -> Path:
    """Download a file, or all files below a path, into a folder; return the file or the folder.

    Raise InputError for what is not there or cannot be read.
    """
    system, path = _system(url)
    with _errors(url):
        if system.isfile(path):
            file = path_below(folder, PurePosixPath(path).name)
            system.get_file(path, str(file))
            return file
        found = sorted(system.find(path))
        for each in found:
            file = path_below(folder, each.removeprefix(path.rstrip("/")).lstrip("/"))
            file.parent.mkdir(parents=True, exist_ok=True)
            system.get_file(each, str(file))
    if not found:
        raise InputError("no such file or folder", Location(url))
    return folder


def upload(url: str, pieces: Iterable[str]) -> None:
    """Write a text to a file of an object store, whole or not at all; raise InputError."""
    system, path = _system(url)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", delete=False) as file:
        try:
            file.writelines(pieces)
            file.close()
            with _errors(url):
                system.put_file(file.name, path)
        finally:
            os.unlink(file.name)


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        hint = f"{extra('remote')}, and s3fs, gcsfs or adlfs"
        raise InputError("needs fsspec, which is not installed", Location(url), hint) from None
    with _errors(url):
        system, path = url_to_fs(url)
    return system, str(path)


@contextmanager
def _errors(url: str) -> Iterator[None]:
    """Raise InputError for what a store's package raises, whose errors have no common class."""
    try:
        yield
    except ChartkitError:
        raise
    except FileNotFoundError:
        raise InputError("no such file or folder", Location(url)) from None
    except ImportError as error:
        raise InputError(f"needs a package: {error}", Location(url)) from None
    except Exception as error:  # noqa: BLE001 - a package of someone else may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"cannot be reached: {reason}", Location(url)) from None
