"""Local privacy, the side of the device: nobody else ever sees a row.

    from privet.local import Randomizer

    report = Randomizer(schema, epsilon=4).report({"age": 37, "smoker": "no"})

Every person's device randomises its own answers and sends one report; `privet discover` finds the
graph from the reports.
"""

from __future__ import annotations

from privet.local.device.channel import Channel, Matrix, RandomizedResponse
from privet.local.device.exposure import Levels
from privet.local.device.protocol import Protocol
from privet.local.device.randomizer import Randomizer
from privet.local.device.recipes import plan_protocol

__all__ = [
    "Channel",
    "Levels",
    "Matrix",
    "Protocol",
    "RandomizedResponse",
    "Randomizer",
    "plan_protocol",
]
