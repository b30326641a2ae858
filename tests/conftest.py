"""Fixtures that several test modules share."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of test data, which is read in place."""
    folder = os.environ.get("AGENTENVS_TEST_DATA")
    if folder is None:
        pytest.skip("needs the folder of test data, named by AGENTENVS_TEST_DATA")
    return Path(folder)


@pytest.fixture(scope="session")
def env_kwargs(request: pytest.FixtureRequest) -> Callable[[str], dict[str, Any]]:
    """Gives the arguments with which an environment runs here; skips where it cannot."""

    def kwargs_of(env_id: str) -> dict[str, Any]:
        if env_id != "agentenvs/ALFWorld-v0":
            return {}
        if importlib.util.find_spec("textworld") is None:
            pytest.skip("needs the extra: pip install 'agentenvs[alfworld]'")
        return {"data": str(request.getfixturevalue("test_data") / "alfworld")}

    return kwargs_of
