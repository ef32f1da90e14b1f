from __future__ import annotations

import pytest

from privet.privacy.together.lock import Lock
from tests.helpers.studies import Study, found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study that no test charges."""
    return found(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def lock(shared: Study) -> Lock:
    return shared.lock
