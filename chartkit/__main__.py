"""The command `chartkit`, also as `python -m chartkit` where its script is not on the PATH."""

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
    from chartkit.cli import main as run

    run()


if __name__ == "__main__":
    main()
