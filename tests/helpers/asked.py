"""The question of a release, where a test knows of which kind it is."""

from __future__ import annotations

from typing import TypeVar

from privet.privacy.queries.base import Release

Kind = TypeVar("Kind")


def asked(release: Release, kind: type[Kind]) -> Kind:
    assert isinstance(release.query, kind)
    return release.query
