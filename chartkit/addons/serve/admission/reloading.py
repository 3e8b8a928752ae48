"""The judge of a server, replaced as a whole when what it was made of changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from chartkit.addons.serve.admission.judge import Judge
from chartkit.addons.serve.admission.served_policies import Served
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.errors import Bugs, ChartkitError
from chartkit.model import Location


class Source(Protocol):
    """The origin of policies. It can be sent to another process."""

    def load(self) -> Served:
        """Return the policies as they are now; raise ChartkitError where they cannot be used."""
        ...

    def changed(self) -> bool:
        """Report whether anything changed since it was last loaded, or since the last call."""
        ...

    def close(self) -> None:
        """Stop to look for changes."""
        ...


class PolicyReloader:
    """Loads policies, looks for changes in a thread of its own, and keeps the last set that could
    be used."""

    def __init__(
        self,
        source: Source,
        log: Log,
        poll: float,
        reloaded: Callable[[bool], object] = lambda _is_used: None,
    ) -> None:
        """poll: seconds between looks; reloaded: called for each new set, with whether it is used.
        Raise ChartkitError where there is none to begin with."""
        self._source = source
        self._log = log
        self._poll = poll
        self._reloaded = reloaded
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.served = source.load()
        self.judge = Judge(self.served)

    def start(self) -> None:
        """Look for changes from now on."""
        self._thread = threading.Thread(target=self._watch, name="policies", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look for no more changes."""
        self._stop.set()
        self._source.close()

    def reload(self) -> bool:
        """Load the policies again; return whether the new set is used, and log why it is not."""
        is_used = self._load()
        self._reloaded(is_used)
        return is_used

    def _load(self) -> bool:
        try:
            with Bugs(Location("<reload>")):
                served = self._source.load()
                judge = Judge(served)
        except (ChartkitError, OSError) as error:
            self._log.error("policies not reloaded: those from before stay", error=str(error))
            return False
        self.served, self.judge = served, judge
        self._log.info("policies reloaded", policies=len(served.policies), notes=[*served.notes])
        return True

    def _watch(self) -> None:
        while not self._stop.wait(self._poll):
            with self._log.guarded("policies", "policies are not looked at"):
                if self._source.changed():
                    self.reload()
