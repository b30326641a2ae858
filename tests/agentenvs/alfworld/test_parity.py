"""The environment against recordings of the original engine."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentenvs.alfworld.env import ALFWorldEnv
from agentenvs.alfworld.tasks import CATEGORIES, SPLITS

BANNER = "-= Welcome to TextWorld, ALFRED! =-\n\n"


def task_of(play: dict[str, Any]) -> tuple[str, str]:
    split, _, rest = play["game"].partition("/")
    return split, rest.removesuffix("/game.tw-pddl")


def replay(env: ALFWorldEnv, play: dict[str, Any]) -> int:
    """Compares every step of a recording and returns the number of steps.

    An episode ends when it is won, some recordings go on: their rest is played on the engine.
    """
    first, *steps = play["steps"]
    observation, info = env.reset(options={"task_id": task_of(play)[1]})
    assert BANNER + observation == first["observation"]
    assert info["admissible_actions"] == tuple(first["admissible"])
    assert not info["won"]
    before, terminated = first, False
    for step in steps:
        if terminated:
            assert env._engine.step(step["command"]) == step["observation"]
            assert env._engine.admissible_commands == tuple(step["admissible"])
            assert env._engine.won == step["won"]
            continue
        observation, reward, terminated, truncated, info = env.step(step["command"])
        assert observation == step["observation"]
        assert terminated == info["won"] == step["won"]
        assert reward == (10.0 if step["won"] else 0.0)
        assert info["score"] == (1.0 if step["won"] else 0.0)
        assert info["admissible_actions"] == (() if terminated else tuple(step["admissible"]))
        assert info["action_valid"] == (step["command"].strip() in before["admissible"])
        assert not truncated
        before = step
    return len(steps)


def cheapest(plays: list[dict[str, Any]]) -> dict[str, Any]:
    """The play with the fewest admissible commands in all: each costs the engine time."""
    return min(plays, key=lambda play: sum(len(step["admissible"]) for step in play["steps"]))


@pytest.mark.parametrize("split", SPLITS)
def test_recording(split: str, alfworld_data: Path, recordings: list[dict[str, Any]]) -> None:
    plays = [play for play in recordings if task_of(play)[0] == split]
    won = [play for play in plays if any(step["won"] for step in play["steps"])]
    env = ALFWorldEnv(split, alfworld_data)
    assert replay(env, cheapest(won or plays)) >= 25
    env.close()


@pytest.mark.oracle
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("split", SPLITS)
def test_recordings_of_every_category(
    split: str, category: str, alfworld_data: Path, recordings: list[dict[str, Any]]
) -> None:
    plays = [
        play
        for play in recordings
        if task_of(play)[0] == split and task_of(play)[1].startswith(category)
    ]
    env = ALFWorldEnv(split, alfworld_data, categories=[category])
    first = cheapest(plays)
    compared = replay(env, first)
    assert compared >= 25
    # A second game where there are more to choose from, the one with a win if any.
    others = [play for play in plays if play["game"] != first["game"]]
    won = [play for play in others if any(step["won"] for step in play["steps"])]
    if split == "valid_unseen":
        assert replay(env, cheapest(won or others)) >= 25
    env.close()


@pytest.mark.oracle
def test_long_recording(alfworld_data: Path, recordings: list[dict[str, Any]]) -> None:
    plays = [play for play in recordings if task_of(play)[0] == "train" and len(play["steps"]) > 70]
    env = ALFWorldEnv("train", alfworld_data)
    assert replay(env, cheapest(plays)) == 76
    env.close()


def first_observations(alfworld_data: Path) -> dict[str, str]:
    content = json.loads((alfworld_data / "golden" / "first_observations.json").read_text())
    texts = {
        key.removeprefix("valid_unseen/").removesuffix("/game.tw-pddl"): text
        for key, text in content["observations"].items()
    }
    assert len(texts) == 30
    return texts


def test_first_observations(alfworld_data: Path) -> None:
    texts = first_observations(alfworld_data)
    env = ALFWorldEnv("valid_unseen", alfworld_data)
    for task in env.tasks.panel(2):
        observation, info = env.reset(options={"task_id": task.task_id})
        assert observation == texts[task.task_id]
        assert observation.endswith("\n\nYour task is to: " + info["goal"])
    env.close()


@pytest.mark.oracle
def test_all_first_observations(alfworld_data: Path) -> None:
    texts = first_observations(alfworld_data)
    env = ALFWorldEnv("valid_unseen", alfworld_data)
    assert {task.task_id for task in env.tasks} == set(texts)
    for task in env.tasks:
        assert env.reset(options={"task_id": task.task_id})[0] == texts[task.task_id]
    env.close()


def follow_expert(env: ALFWorldEnv, task_id: str) -> float:
    env.reset(options={"task_id": task_id})
    terminated, total = False, 0.0
    for _ in range(50):
        action = env.expert_action()
        _, reward, terminated, _, info = env.step(action)
        assert info["action_valid"], action
        total += reward
        if terminated:
            break
    assert terminated
    assert info["won"]
    return total


@pytest.mark.oracle
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_walkthrough_wins(split: str, category: str, alfworld_data: Path) -> None:
    env = ALFWorldEnv(split, alfworld_data, categories=[category])
    assert follow_expert(env, env.tasks[0].task_id) == 10.0
    env.close()


# Display names in the first split, raw ids in the second.
@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_walkthrough_of_lamp_task_wins(split: str, alfworld_data: Path) -> None:
    env = ALFWorldEnv(split, alfworld_data, categories=["look_at_obj_in_light"])
    assert follow_expert(env, env.tasks[1].task_id) == 10.0
    env.close()
