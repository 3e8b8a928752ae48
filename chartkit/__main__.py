"""The command `chartkit`, also as `python -m chartkit` where its script is not on the PATH."""

import atexit
import os
import sys

from chartkit import __version__


def main() -> None:
    """Run the command line and exit; `--version` alone is answered before that is imported."""
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        try:
            sys.stdout.write(f"chartkit {__version__}\n")
            sys.stdout.flush()
        except OSError:
            # The command line says which, in its own way.
            pass
        else:
            return
    codes: list[int] = []
    # What is registered first runs last.
    atexit.register(_end, codes)
    from chartkit.cli import main as run

    try:
        run()
    except SystemExit as ended:
        if isinstance(ended.code, int):
            codes.append(ended.code)
        raise


def _end(codes: list[int]) -> None:
    """End the process with its exit code, if there is one, and leave its memory to the system: to
    free object by object takes a tenth of a small scan."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        # Python says so, in its own way.
        return
    if codes:
        os._exit(codes[-1])


if __name__ == "__main__":
    main()
