"""What the owner of a table may see of it: exact, paid by nobody, and not to be sent."""

from __future__ import annotations

from privet.privacy.engines.fit import ColumnFit, Fit, fit

__all__ = ["ColumnFit", "Fit", "fit"]
