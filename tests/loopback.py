"""Servers on loopback for tests, and waiting for what their threads do.

They run in the test's own process, which may stand still for a while: a queue of connections as
short as Python's overflows meanwhile, and the kernel resets what stood in it.
"""

import time
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import Final

_QUEUE: Final = 256
_PAUSE: Final = 0.01
LONGEST: Final = 300
"""Seconds that no machine stands still for: what is not there then does not come."""


class LoopbackServer(ThreadingHTTPServer):
    """A server whose threads keep nobody waiting when it ends."""

    request_queue_size = _QUEUE
    daemon_threads = True
    block_on_close = False


def at_length(reached: Callable[[], bool]) -> bool:
    """Whether something comes true that another thread does, given as much time as it takes.

    A client that gives up soon may be gone before the server's thread has read what it sent.
    """
    end = time.monotonic() + LONGEST
    while not reached() and time.monotonic() < end:
        time.sleep(_PAUSE)
    return reached()
