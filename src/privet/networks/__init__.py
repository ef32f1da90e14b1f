"""Benchmark networks as data, and simulators of random ones."""

from __future__ import annotations

from privet.networks.network import Network, available, load
from privet.networks.random import LinearGaussian, random_linear_gaussian, random_network

__all__ = [
    "LinearGaussian",
    "Network",
    "available",
    "load",
    "random_linear_gaussian",
    "random_network",
]
