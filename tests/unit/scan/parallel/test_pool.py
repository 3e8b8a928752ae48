"""A pool gives every answer once and in order, whatever becomes of its processes."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forks")

_HEAD = """
import os, signal, sys, time
from pathlib import Path
from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.scan.parallel.pool import in_order
from chartkit.scan.parallel.workers import Pool

def square(number):
    time.sleep(0.001 * (number % 3))
    return number * number

"""


def _run(code: str, *arguments: str) -> str:
    """What a program prints that has one thread, as the command has."""
    command = [sys.executable, "-c", _HEAD + textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_answers_come_in_order_of_the_tasks(jobs: int) -> None:
    out = _run(f"print(list(in_order({jobs}, square, range(50))) == [n * n for n in range(50)])")
    assert out == "True\n"


def test_tasks_are_taken_as_they_are_needed() -> None:
    out = _run("""
    taken = 0
    def tasks():
        global taken
        for taken in range(1, 1001):
            yield taken
    answers = in_order(2, square, tasks())
    for _ in range(100):
        next(answers)
    print(taken <= 120)
    answers.close()
    """)
    assert out == "True\n"


def test_work_of_a_killed_worker_is_neither_lost_nor_doubled() -> None:
    out = _run("""
    with Pool(2, square) as pool:
        found = []
        for each in pool.map(range(200)):
            found.append(each)
            if len(found) in (10, 60, 61):
                os.kill(pool.processes[0], signal.SIGKILL)
    print(found == [n * n for n in range(200)])
    """)
    assert out == "True\n"


def test_task_that_ends_its_worker_is_tried_once_more(tmp_path: Path) -> None:
    out = _run(
        """
    def once(number):
        mark = Path(sys.argv[1], "mark")
        if number == 5 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number
    print(list(in_order(2, once, range(10))))
    """,
        str(tmp_path),
    )
    assert out == f"{list(range(10))}\n"


def test_task_that_ends_two_workers_is_an_error_of_one_line() -> None:
    out = _run("""
    def never(number):
        if number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return number
    found = []
    try:
        for each in in_order(2, never, range(10)):
            found.append(each)
    except Exception as error:
        print(found, type(error).__name__, error)
    """)
    said = "the process at 5 was ended from outside (signal 9), and so was a second one"
    hint = "the system ends what takes too much memory: use fewer --jobs"
    assert out == f"[0, 1, 2, 3, 4] ChartkitError {said} ({hint})\n"


def test_error_of_work_is_raised_in_its_turn() -> None:
    out = _run("""
    def refuses(number):
        if number == 7:
            raise InputError("is wrong", Location("file.yaml", 3), "correct it")
        if number == 8:
            return 1 / 0
        return number
    found = []
    try:
        for each in in_order(2, refuses, range(10)):
            found.append(each)
    except InputError as error:
        print(found, error)
    try:
        list(in_order(2, refuses, [8]))
    except Exception as error:
        print(type(error).__name__, "ZeroDivisionError" in str(error))
    """)
    assert out == f"{list(range(7))} file.yaml:3: is wrong (correct it)\nBugError True\n"


def test_no_process_is_left() -> None:
    out = _run("""
    answers = in_order(3, square, range(100))
    next(answers)
    answers.close()
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("none")
    """)
    assert out == "none\n"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells processes by /proc")
def test_workers_end_with_the_process_that_started_them() -> None:
    code = """
    with Pool(2, square) as pool:
        answers = pool.map(range(1000))
        next(answers)
        print(*pool.processes, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    command = [sys.executable, "-c", _HEAD + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    left = [int(each) for each in done.stdout.split()]
    assert left
    end = time.monotonic() + 20
    while left and time.monotonic() < end:
        time.sleep(0.01)
        left = [each for each in left if _runs(each)]
    assert not left


def _runs(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text("utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
