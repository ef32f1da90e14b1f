"""What is made of rows one by one, compiled when Privet was installed, if it could be.

``_moments.c`` and ``_white.c`` do what ``moments.py`` and ``white.py`` do in arrays, several times
as fast.
"""

from __future__ import annotations

from typing import Any

try:
    from privet.privacy.queries import _moments, _white  # type: ignore[attr-defined]
except ImportError:  # there was no compiler
    moments: Any = None
    white: Any = None
else:
    moments, white = _moments, _white
