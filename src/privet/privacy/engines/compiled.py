"""Counting that was compiled when Privet was installed, if it could be.

``_counts.c`` does what ``bitmaps.py``, ``packed.py`` and ``work.py`` do in arrays, several times as
fast.
"""

from __future__ import annotations

from typing import Any

try:
    from privet.privacy.engines import _counts  # type: ignore[attr-defined]
except ImportError:  # there was no compiler
    counts: Any = None
else:
    counts = _counts
