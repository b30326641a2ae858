import copy
import json
import pickle
import shutil
import sys
import threading
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import agentenvs  # noqa: F401
from agentenvs.alfworld.env import ALFWorldEnv

from .conftest import BOWL, play

CD = "look_at_obj_in_light-CD-None-DeskLamp-327/trial_T20190909_032921_008718"
HOLD_BOOK = ["go to desk 1", "take book 1 from desk 1"]


def test_registered_with_fifty_steps(alfworld_data: Path) -> None:
    env = gymnasium.make("agentenvs/ALFWorld-v0", split="train", data=alfworld_data)
    assert env.spec is not None
    assert env.spec.max_episode_steps == 50
    assert isinstance(env.unwrapped, ALFWorldEnv)
    env.close()
    env.close()


def test_reset(train_env: ALFWorldEnv) -> None:
    observation, info = train_env.reset(seed=5, options={"task_id": BOWL})
    assert observation.startswith("You are in the middle of a room. Looking quickly around you,")
    assert observation.endswith("\n\nYour task is to: look at bowl under the desklamp.")
    assert info["goal"] == "look at bowl under the desklamp."
    assert info["category"] == "look_at_obj_in_light"
    assert info["task_id"] == BOWL
    assert (info["won"], info["score"], info["action_valid"]) == (False, 0.0, True)
    assert info["admissible_actions"][-3:] == ("help", "inventory", "look")
    assert train_env.reset(seed=6, options={"task_id": BOWL}) == (observation, info)


def test_unknown_task(train_env: ALFWorldEnv) -> None:
    with pytest.raises(KeyError, match="split 'train' has no task 'nowhere/trial'"):
        train_env.reset(options={"task_id": "nowhere/trial"})


def test_nothing_before_reset(alfworld_data: Path) -> None:
    env = ALFWorldEnv("train", alfworld_data)
    for call in (env.facts, env.expert_action, lambda: env.step("look")):
        with pytest.raises(ResetNeeded):
            call()
    env.close()
    env.close()


@pytest.mark.parametrize("command", ["move book 1 to bed 1", "put book 1 in/on bed 1"])
def test_both_spellings_of_put(train_env: ALFWorldEnv, command: str) -> None:
    info = play(train_env, [*HOLD_BOOK, "go to bed 1"])
    assert "move book 1 to bed 1" in info["admissible_actions"]
    observation, _, _, _, info = train_env.step(f"  {command} ")
    assert observation == "You move the book 1 to the bed 1."
    assert info["action_valid"]
    assert "inreceptacle(book 1, bed 1)" in train_env.facts()


@pytest.mark.parametrize("command", ["move book 1 to bed 1", "put book 1 in/on bed 1"])
def test_both_spellings_in_an_older_game(alfworld_data: Path, tmp_path: Path, command: str) -> None:
    source = alfworld_data / "json_2.1.1" / "train" / BOWL
    target = tmp_path / "train" / BOWL
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    game = json.loads((source / "game.tw-pddl").read_text())
    assert game["grammar"].count("move {o} to {r}") > 0
    game["grammar"] = game["grammar"].replace("move {o} to {r}", "put {o} in/on {r}")
    (target / "game.tw-pddl").write_text(json.dumps(game))
    before = sorted(tmp_path.rglob("*"))
    env = ALFWorldEnv("train", tmp_path)
    info = play(env, [*HOLD_BOOK, "go to bed 1"])
    assert "put book 1 in/on bed 1" in info["admissible_actions"]
    assert "move book 1 to bed 1" not in info["admissible_actions"]
    _, _, _, _, info = env.step(command)
    assert info["action_valid"]
    assert "inreceptacle(book 1, bed 1)" in env.facts()
    env.close()
    assert sorted(tmp_path.rglob("*")) == before


def test_any_text_is_an_action(train_env: ALFWorldEnv) -> None:
    commands = [
        "",
        "   ",
        "x" * 100_000,
        "put " + " in/on " * 20_000,
        "put pen 1 in/on",
        "move  to ",
        "go to bed 1\nlook",
        "gо to bed 1",  # A Cyrillic letter.
        "\x00\x07\x1b[2J",
        "\ud800 \U0001f916",
        "GO TO BED 1",
        "{r.name} #look# [x|y]",
        "__import__('os')",
    ]
    key = play(train_env, [])["state_key"]
    for command in commands:
        observation, reward, terminated, truncated, info = train_env.step(command)
        assert observation == "Nothing happens."
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert not info["action_valid"]
        assert info["state_key"] == key


def test_winning_ends_the_episode(alfworld_data: Path) -> None:
    env = ALFWorldEnv("valid_seen", alfworld_data, categories=["look_at_obj_in_light"])
    task_id = env.tasks[1].task_id
    env.reset(options={"task_id": task_id})
    rewards = []
    for _ in range(4):
        # Commands that change nothing do not disturb the expert.
        assert env.step("inventory")[1] == 0.0
        assert env.step("no such thing")[1] == 0.0
        _, reward, terminated, _, info = env.step(env.expert_action())
        rewards.append(reward)
    assert rewards == [0.0, 0.0, 0.0, 10.0]
    assert terminated
    assert (info["won"], info["score"], info["admissible_actions"]) == (True, 1.0, ())
    with pytest.raises(ResetNeeded):
        env.step("look")
    with pytest.raises(RuntimeError, match="at its end"):
        env.expert_action()

    play(env, ["go to shelf 1"], task_id)
    with pytest.raises(RuntimeError, match="only follows the recorded walkthrough from the start"):
        env.expert_action()
    env.close()


def test_expert_without_walkthrough(train_env: ALFWorldEnv) -> None:
    play(train_env, [])
    with pytest.raises(RuntimeError, match="records no walkthrough"):
        train_env.expert_action()


def test_copies_and_pickles_go_on_alike(train_env: ALFWorldEnv) -> None:
    play(train_env, HOLD_BOOK)
    twins = [copy.deepcopy(train_env), pickle.loads(pickle.dumps(train_env))]
    for command in ("go to bed 1", "move book 1 to bed 1", "look"):
        expected = train_env.step(command)
        assert [twin.step(command) for twin in twins] == [expected, expected]
    for twin in twins:
        twin.close()
        twin.close()
        assert twin.reset(options={"task_id": BOWL}) == train_env.reset(options={"task_id": BOWL})
        twin.close()


def test_two_environments_in_threads(alfworld_data: Path) -> None:
    games = {BOWL: ["go to desk 1", "look", "inventory"], CD: ["look", "help", "inventory"]}
    results: dict[str, list[Any]] = {BOWL: [], CD: []}

    def run(task_id: str) -> None:
        env = ALFWorldEnv("train", alfworld_data)
        for _ in range(2):
            steps = [env.reset(options={"task_id": task_id})]
            steps += [env.step(command) for command in games[task_id]]  # type: ignore[misc]
            results[task_id].append(steps)
        env.close()

    threads = [threading.Thread(target=run, args=(task_id,)) for task_id in games]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for task_id, (first, second) in results.items():
        assert first == second
        assert first[0][1]["task_id"] == task_id
    assert results[BOWL][0][1][0].startswith("You arrive at desk 1.")


def test_process_is_left_as_it_was(alfworld_data: Path) -> None:
    argv, stdout = list(sys.argv), sys.stdout
    fast_downward = import_module("fast_downward")
    cache = import_module("mementos.core")._memento_cache
    translate = fast_downward.pddl2sas
    env = ALFWorldEnv("train", alfworld_data)
    sizes = []
    for task_id in (BOWL, CD, BOWL, CD, BOWL):
        play(env, ["look"], task_id)
        sizes.append(len(cache))
    env.close()
    assert sizes[4] == sizes[2]
    assert sys.argv == argv
    assert sys.stdout is stdout
    assert fast_downward.pddl2sas is translate


def test_interpreters_are_reused(alfworld_data: Path) -> None:
    interpreters = []
    for _ in range(2):
        env = ALFWorldEnv("train", alfworld_data)
        env.reset(options={"task_id": BOWL})
        interpreters.append(id(env._engine._pddl))  # type: ignore[attr-defined]
        env.close()
    assert interpreters[0] == interpreters[1]


def test_gymnasium_checker_has_no_complaint(alfworld_data: Path) -> None:
    env = gymnasium.make(
        "agentenvs/ALFWorld-v0",
        split="train",
        data=alfworld_data,
        categories=["look_at_obj_in_light"],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_render(alfworld_data: Path) -> None:
    env = ALFWorldEnv("train", alfworld_data, render_mode="ansi")
    observation, _ = env.reset(options={"task_id": BOWL})
    assert env.render() == observation
    env.close()
