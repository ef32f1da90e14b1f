"""``privet --version``: which release this is, and whether its inner loops were compiled."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

IN_C = (  # as in setup.py
    "privet.evidence._calm",
    "privet.independence._counted",
    "privet.independence._tests",
    "privet.privacy.engines._counts",
    "privet.privacy.queries._moments",
    "privet.privacy.queries._white",
    "privet.scores._gains",
    "privet.search._climb",
    "privet.search._orient",
    "privet.search._pc",
    "privet.search._refine",
    "privet.search._rounds",
)
NOT_COMPILED = (
    "Not compiled: results are the same, but runs take up to 8 times as long. Install a C\n"
    "compiler and Python's headers (Debian: apt-get install gcc python3-dev), then install Privet\n"
    "again (in a clone: make clean demo)."
)


class Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import privet

        print(f"privet {privet.__version__}")
        if not all(map(find_spec, IN_C)):
            print(NOT_COMPILED)
        parser.exit()
