"""`python -m chartkit`: the command where its script is not on the PATH."""

from chartkit.cli import main

if __name__ == "__main__":
    main()
