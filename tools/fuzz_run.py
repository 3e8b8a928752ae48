"""Runs inputs of commands in forked processes, within limits, and judges how they end."""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final
from unittest.mock import patch

from chartkit.cli import boundary
from chartkit.cli.main import main as chartkit
from chartkit.helm import backend as helm
from tools.fuzz_scenarios import Scenario
from tools.fuzz_servers import ANSWERS, REVIEW, api_server, review

SECONDS: Final = 5.0
MEGABYTES: Final = 500
_WALL: Final = 90
_HARD_SECONDS: Final = 60
_HARD_BYTES: Final = 4 << 30
_GROWN: Final = 250
"""Megabytes in use after an input, from which on a new process takes over."""
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_GOOD: Final = frozenset((0, 1, 2))
_DIGEST: Final = ".sha256"
"""The ending of files that are the digest of the one of the same name."""
_PEAK: Final = Path("/proc/self/clear_refs")
_NOW: Final = Path("/proc/self/statm")

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Input:
    """One input: a scenario with what was changed in it."""

    seed: int
    scenario: str
    arguments: list[str]
    files: dict[str, str]
    environment: dict[str, str]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code (None: not by itself), seconds of processor, memory in MB,
    and what was wrong, empty for nothing."""

    code: int | None
    seconds: float
    megabytes: int
    wrong: str = ""
    said: str = ""


class Places:
    """The folders in which commands run, one a scenario.

    A file that has the text that it had for the input before is not written again; what a command
    left behind, and what it changed, is removed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, dict[str, tuple[str, Stamp]]] = {}

    def enter(self, one: Input) -> Path:
        """Write an input's files, and return their folder."""
        place = self.folder / re.sub(r"\W+", "-", one.scenario)
        known = self._files.setdefault(one.scenario, {})
        place.mkdir(parents=True, exist_ok=True)
        for name, text in one.files.items():
            if name.endswith(_DIGEST):
                text = _digest(one.files[name.removesuffix(_DIGEST)])
            if name in known and known[name][0] == text:
                continue
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_content(name, text))
            known[name] = text, _stamp(os.stat(path))
        return place

    def leave(self, one: Input, place: Path) -> None:
        """Remove what is not as `enter` wrote it."""
        known = self._files[one.scenario]
        gone = dict(known)
        folders = {str(parent) for name in known for parent in Path(name).parents}
        todo = [("", str(place))]
        while todo:
            prefix, path = todo.pop()
            for each in os.scandir(path):
                name = prefix + each.name
                if each.is_dir(follow_symlinks=False):
                    if name in folders:
                        todo.append((f"{name}/", each.path))
                    else:
                        shutil.rmtree(each.path, ignore_errors=True)
                elif name in known and _stamp(each.stat(follow_symlinks=False)) == known[name][1]:
                    del gone[name]
                else:
                    os.unlink(each.path)
        for name in gone:
            del known[name]

    def outside(self) -> str:
        """Return what a command wrote next to its folder, and remove it."""
        own = {re.sub(r"\W+", "-", name) for name in self._files}
        found = [each for each in os.scandir(self.folder) if each.name not in {*own, "cache"}]
        for each in found:
            if each.is_dir(follow_symlinks=False):
                shutil.rmtree(each.path, ignore_errors=True)
            else:
                os.unlink(each.path)
        return f"wrote outside of its folder: {found[0].name}" if found else ""


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _content(name: str, text: str) -> bytes:
    """Return the bytes of a file; those of a compressed one in members, and at times damaged."""
    content = text.encode("utf-8", "surrogatepass")
    if not name.endswith(".gz"):
        return content
    pick = random.Random(content)
    cuts = sorted({0, *(pick.randint(0, len(content)) for _ in range(pick.choice((0, 1, 50))))})
    parts = [content[at:end] for at, end in zip(cuts, [*cuts[1:], len(content)], strict=True)]
    packed = b"".join(gzip.compress(part, mtime=0) for part in parts)
    at = pick.randint(0, len(packed))
    damaged = (packed, packed[:at], packed[:at] + pick.randbytes(3) + packed[at:], packed + b"\0x")
    return pick.choice((packed, packed, *damaged))


def _stamp(about: os.stat_result) -> Stamp:
    return about.st_ino, about.st_size, about.st_mtime_ns


def run_here(one: Input, places: Places) -> Ended:
    """Run an input in this process, with its files in the folder of its scenario."""
    place = places.enter(one)
    os.chdir(place)
    os.environ.update(
        {"HOME": str(place), "XDG_CACHE_HOME": str(places.folder / "cache"), **one.environment}
    )
    written = io.BytesIO(), io.BytesIO()
    streams = [io.TextIOWrapper(each, "utf-8", write_through=True) for each in written]
    with contextlib.suppress(OSError):
        _PEAK.write_text("5")
    start = time.process_time()
    with (
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
        _around(one, places.folder),
    ):
        code, fault = _run(one.arguments)
    seconds = time.process_time() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    out, err = (each.getvalue() for each in written)
    os.chdir(places.folder)
    places.leave(one, place)
    for name in one.environment:
        os.environ.pop(name, None)
    wrong = fault or _fault_of(one, code, out, err) or places.outside()
    return Ended(code, seconds, megabytes, wrong, err.decode("utf-8", "replace")[:2_000])


@contextlib.contextmanager
def _around(one: Input, folder: Path) -> Iterator[None]:
    """Have an API server answer, and leave out what would take most of the time."""
    with contextlib.ExitStack() as stack:
        if ANSWERS in one.files:
            kubeconfig = folder / "cache" / "kubeconfig"
            kubeconfig.parent.mkdir(exist_ok=True)
            stack.enter_context(api_server(Path(), kubeconfig))
            stack.enter_context(patch.dict(os.environ, {"KUBECONFIG": str(kubeconfig)}))
        for name in one.left_out:
            stack.enter_context(patch(name, lambda *_: []))
        yield


def _run(arguments: Sequence[str]) -> tuple[int | None, str]:
    try:
        if arguments[:1] == [REVIEW]:
            raise SystemExit(boundary.run(lambda: review(arguments[1:])))
        chartkit(list(arguments))
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0, ""
    except BaseException as error:  # noqa: BLE001 - whatever leaves the command is a finding
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        return None, f"{type(error).__name__} left the command at {where}"
    return 0, ""


def _fault_of(one: Input, code: int | None, out: bytes, err: bytes) -> str:
    if code not in _GOOD:
        said = re.sub(r"'[^']*'|\"[^\"]*\"|\d{3,}", "…", err.decode("utf-8", "replace"))
        return f"exit {code}: {said[-300:]}"
    try:
        text = (out + err).decode("utf-8")
    except UnicodeDecodeError:
        return "output is not UTF-8"
    if _CONTROL.search(text):
        return "a control character in the output"
    if one.arguments[-2:] == ["-o", "json"] and out and code != 2:
        try:
            json.loads(out, parse_constant=_no_constant)
        except ValueError as error:
            return f"JSON that is none: {type(error).__name__}"
    return ""


def _no_constant(text: str) -> None:
    raise ValueError(text)


def run_batch(inputs: Sequence[Input], folder: Path) -> Generator[Ended, None, None]:
    """Run inputs in one forked process, and yield how they end as they do; fewer where the process
    ended before the last. It ends with this iterator."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        _run_all(inputs, folder, writer)
    os.close(writer)
    try:
        with os.fdopen(reader, encoding="utf-8") as results:
            for line in results:
                if line.endswith("\n"):
                    yield Ended(**json.loads(line))
    except GeneratorExit:
        os.kill(process, signal.SIGKILL)
        raise
    finally:
        _, status, used = os.wait4(process, 0)
        shutil.rmtree(folder / str(process), ignore_errors=True)
    code = os.waitstatus_to_exitcode(status)
    if code:
        seconds = used.ru_utime + used.ru_stime
        yield Ended(None, seconds, used.ru_maxrss // 1024, f"the process ended with {code}")


def _run_all(inputs: Sequence[Input], folder: Path, writer: int) -> None:
    """Run inputs, one line of JSON each, and end the process; early where it has grown."""
    # Ctrl-C of the terminal is for the fuzzer alone, which ends after this batch.
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _limit()
    places = Places(folder / str(os.getpid()))
    with os.fdopen(writer, "w", encoding="utf-8") as results:
        for one in inputs:
            signal.alarm(_WALL)
            signal.setitimer(signal.ITIMER_PROF, _HARD_SECONDS)
            json.dump(asdict(run_here(one, places)), results)
            results.write("\n")
            results.flush()
            if _megabytes_now() > _GROWN:
                break
    helm.close()
    os._exit(0)


def _megabytes_now() -> int:
    try:
        pages = int(_NOW.read_text().split()[1])
    except OSError:
        return 0
    return (pages * resource.getpagesize()) >> 20


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_HARD_BYTES, _HARD_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
    devnull = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(devnull, number)


def judged(inputs: Sequence[Input], folder: Path) -> Generator[tuple[Input, Ended], None, None]:
    """Run inputs; what seems to break something runs again alone, and is judged by that."""
    at = 0
    while at < len(inputs):
        with contextlib.closing(run_batch(inputs[at:], folder)) as batch:
            for ended in batch:
                one = inputs[at]
                at += 1
                if ended.wrong or ended.seconds > SECONDS or ended.megabytes > MEGABYTES:
                    [ended] = run_batch([one], folder)
                yield one, _with_limits(ended)


def _with_limits(ended: Ended) -> Ended:
    if ended.wrong:
        return ended
    if ended.seconds > SECONDS:
        return replace(ended, wrong=f"more than {SECONDS:.0f} s of processor")
    if ended.megabytes > MEGABYTES:
        return replace(ended, wrong=f"more than {MEGABYTES} MB")
    return ended


def prepare(scenarios: Sequence[Scenario]) -> None:
    """Import what commands need, by running those without Helm as they are, so that forks share
    it."""
    with tempfile.TemporaryDirectory() as folder:
        places = Places(Path(folder))
        for one in scenarios:
            if one.starts_helm:
                continue
            run_here(
                Input(
                    0,
                    one.name,
                    list(one.arguments[0]),
                    dict(one.files),
                    dict(one.environment),
                    one.left_out,
                ),
                places,
            )
    # Some that do not start Helm have made its folder.
    helm.close()
    threads = Path("/proc/self/task")
    if threads.exists() and len(list(threads.iterdir())) > 1:
        raise RuntimeError("a command has started a thread, which no fork has")
    gc.collect()
    gc.freeze()
