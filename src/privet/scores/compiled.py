"""Scores that were compiled when Privet was installed, if they could be.

``_gains.c`` does what ``tables.py`` does in arrays, several times as fast where tables are small.
"""

from __future__ import annotations

from typing import Any

try:
    from privet.scores import _gains  # type: ignore[attr-defined]
except ImportError:  # there was no compiler
    gains: Any = None
else:
    gains = _gains
