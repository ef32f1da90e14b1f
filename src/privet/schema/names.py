"""Names of data sets and sites: how one is written, and when two are the same.

A budget is kept under a name. So names that a reader cannot tell apart must be one name, or one
data set would have two budgets.
"""

from __future__ import annotations

import re
import unicodedata

# Unicode's default ignorable characters that are no format characters (category Cf): joiners,
# fillers and variation selectors, which leave no mark either.
IGNORED = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
UNSEEN = ("Cf", "Cc")
UNNAMED = "table"  # what a data set is called that nobody has named
# Of a site; in these nobody mistakes one label for another.
SITE = re.compile("[a-z0-9-]{1,40}")
SITE_RULE = "must be 1 to 40 of the letters a-z, digits and hyphens"


def clean_name(name: str) -> str:
    """The name as a schema takes it: one spelling, no spaces around it."""
    return unicodedata.normalize("NFC", name).strip()


def name_key(name: str) -> str:
    """What names are compared by: without case, width, and characters that cannot be seen.

    Each step may make work for another, so they are repeated until nothing changes. Letters of
    two alphabets that look alike stay apart.
    """
    while (key := _folded(name)) != name:
        name = key
    return key


def same_name(a: str, b: str) -> bool:
    return name_key(a) == name_key(b)


def _folded(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    spaced = " ".join(folded.split())  # before the unseen go, since tabs are among them
    seen = (c for c in IGNORED.sub("", spaced) if unicodedata.category(c) not in UNSEEN)
    return unicodedata.normalize("NFKC", "".join(seen))
