"""Run the command line as `python -m ldpstats`."""

from ldpstats.cli import main

if __name__ == "__main__":
    main(prog_name="ldpstats")
