"""`python -m streams.cli`: the same as the command `sager`."""

from streams.cli import main

if __name__ == "__main__":
    main()
