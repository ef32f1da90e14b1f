"""Local privacy: a row never leaves its device as it is.

    from privet.local import Randomizer

    report = Randomizer(schema, epsilon=4).report({"age": 37, "smoker": "no"})

Every person's device randomises its own answers and sends one report; `privet discover` finds the
graph from the reports. What a collector needs is imported when first used: a device needs none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privet.local.device.channel import Channel, Matrix, RandomizedResponse
from privet.local.device.exposure import Levels
from privet.local.device.protocol import Protocol
from privet.local.device.randomizer import Randomizer
from privet.local.device.recipes import plan_protocol

if TYPE_CHECKING:
    from privet.local.collector.collect import collect, denoise, views
    from privet.local.collector.minimum_chi2 import minimum_chi2

__all__ = [
    "Channel",
    "Levels",
    "Matrix",
    "Protocol",
    "RandomizedResponse",
    "Randomizer",
    "collect",
    "denoise",
    "minimum_chi2",
    "plan_protocol",
    "views",
]

_COLLECTOR = {
    "collect": "collect",
    "denoise": "collect",
    "minimum_chi2": "minimum_chi2",
    "views": "collect",
}


def __getattr__(name: str) -> Any:
    if name not in _COLLECTOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.collector.{_COLLECTOR[name]}"), name)
