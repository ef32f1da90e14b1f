"""Benchmark networks as data, and simulators of random ones."""

from __future__ import annotations

from privet.networks.generated import LinearGaussian, random_linear_gaussian, random_network
from privet.networks.network import Network, available, load

__all__ = [
    "LinearGaussian",
    "Network",
    "available",
    "load",
    "random_linear_gaussian",
    "random_network",
]
