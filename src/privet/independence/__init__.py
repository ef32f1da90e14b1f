"""Tests of independence that know the noise of the evidence."""
