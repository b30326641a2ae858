from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Several test processes share the cores; more threads than cores make torch crawl.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from gigpo.build import build_policy
from gigpo.config import Config, from_mapping
from gigpo.policies import HFPolicy
from gigpo.rollout import make_prompt_builder
from gigpo.sft import clone_expert, play_expert

TINY: dict[str, Any] = {
    "env": "agentenvs/Sokoban-v0",
    "env_kwargs": {"categories": ["easy"]},
    "model": "tiny",
    "tiny_layers": 1,
    "tiny_hidden": 32,
    "profile": "compact",
    "history_length": 0,
    "max_prompt_tokens": 96,
    "max_response_tokens": 4,
    "max_episode_steps": 6,
    "num_groups": 2,
    "group_size": 4,
    "mini_batch_size": 16,
    "micro_batch_size": 8,
    "learning_rate": 1e-3,
    "num_threads": 1,
    "device": "cpu",
    "iterations": 2,
    "eval_split": "valid",
    "eval_episodes": 6,
    "eval_every": 0,
    "sft_tasks": 24,
    "sft_steps": 60,
    "sft_batch_size": 32,
    "sft_learning_rate": 3e-3,
}


@pytest.fixture(scope="session")
def cloned_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that has learnt the answer format by behaviour cloning."""
    out = tmp_path_factory.mktemp("sft")
    config = from_mapping({**TINY, "out": str(out)})
    steps = list(play_expert(config, config.sft_tasks))
    policy = build_policy(config, steps)
    clone_expert(config, policy, make_prompt_builder(config, policy), steps)
    return out / "model"


@pytest.fixture
def make_config(cloned_model: Path, tmp_path: Path) -> Callable[..., Config]:
    """Builds a small training configuration that starts from the cloned model."""

    def build(**overrides: Any) -> Config:
        values = {**TINY, "model": str(cloned_model), "out": str(tmp_path / "run"), **overrides}
        return from_mapping(values)

    return build


@pytest.fixture
def policy(make_config: Callable[..., Config]) -> HFPolicy:
    return build_policy(make_config())
