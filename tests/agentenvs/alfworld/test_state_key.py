import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentenvs.alfworld.env import ALFWorldEnv

from .conftest import BOWL, play

# In this room the desk and its three drawers share one place; bed 1 and bed 2 stand alone.
AT_DESK = ["go to desk 1"]
TAKE = ["go to desk 1", "take book 1 from desk 1"]


def test_way_and_glances_do_not_matter(train_env: ALFWorldEnv) -> None:
    direct = play(train_env, AT_DESK)
    facts = train_env.facts()
    detour = play(
        train_env,
        ["look", "go to bed 1", "go to shelf 1", "examine shelf 1", "inventory", *AT_DESK],
    )
    assert train_env.facts() == facts
    assert detour["state_key"] == direct["state_key"]
    assert play(train_env, ["go to bed 1"])["state_key"] != direct["state_key"]


def test_inventory_matters(train_env: ALFWorldEnv) -> None:
    empty = play(train_env, AT_DESK)
    book = play(train_env, TAKE)
    assert "holds(agent1, book 1)" in train_env.facts()
    pen = play(train_env, ["go to desk 1", "take pen 1 from desk 1"])
    assert len({info["state_key"] for info in (empty, pen, book)}) == 3


def test_wrong_command_keeps_the_key(train_env: ALFWorldEnv) -> None:
    info = play(train_env, AT_DESK)
    observation, reward, terminated, _, after = train_env.step("go to the moon")
    assert (observation, reward, terminated) == ("Nothing happens.", 0.0, False)
    assert not after["action_valid"]
    assert after["state_key"] == info["state_key"]
    assert after["observation_key"] != info["observation_key"]
    assert after["admissible_actions"] == info["admissible_actions"]


def test_round_trip_over_a_lone_receptacle_is_forgotten(train_env: ALFWorldEnv) -> None:
    direct = play(train_env, AT_DESK)
    trip = [*TAKE, "go to bed 2", "move book 1 to bed 2", "take book 1 from bed 2"]
    there_and_back = play(train_env, [*trip, "go to desk 1", "move book 1 to desk 1"])
    assert there_and_back["state_key"] == direct["state_key"]


def test_taking_from_a_shared_place_is_remembered(train_env: ALFWorldEnv) -> None:
    direct = play(train_env, AT_DESK)
    facts = train_env.facts()
    plain = train_env.step("look")[0]
    moved = play(
        train_env,
        [*TAKE, "move book 1 to drawer 2", "take book 1 from drawer 2", "move book 1 to desk 1"],
    )
    assert train_env.facts() == facts
    told = train_env.step("look")[0]
    # Same facts, another text: the keys have to differ.
    assert plain.endswith("Next to it, you see nothing.")
    assert told.endswith("Next to it, you see a book 1.")
    assert moved["state_key"] != direct["state_key"]


def test_equal_keys_mean_an_equal_future(train_env: ALFWorldEnv) -> None:
    future = ["look", "examine drawer 1", "move book 1 to drawer 2", "look", "inventory", "help"]

    def continuation(commands: list[str]) -> list[Any]:
        info = play(train_env, commands)
        return [info["state_key"]] + [train_env.step(command) for command in future]

    straight = continuation(TAKE)
    detour = continuation(["go to bed 1", "look", *TAKE, "go to bed 2", *AT_DESK])
    assert straight == detour


def random_walk_keeps_the_promise(
    env: ALFWorldEnv, task_id: str, words: tuple[str, ...], steps: int, seed: int
) -> int:
    """Walks at random among commands with these words; returns the number of revisited moves.

    Every (key, action) must lead to one outcome, wherever the walk comes from.
    """
    rng = random.Random(seed)
    seen: dict[tuple[str, str], Any] = {}
    keys: dict[str, tuple[str, ...]] = {}
    revisited = 0
    _, info = env.reset(options={"task_id": task_id})
    for index in range(steps):
        if index % 40 == 39:
            _, info = env.reset(options={"task_id": task_id})
        key = info["state_key"]
        assert keys.setdefault(key, info["admissible_actions"]) == info["admissible_actions"]
        chosen = [a for a in info["admissible_actions"] if any(word in a for word in words)]
        action = rng.choice(chosen)
        observation, reward, terminated, _, info = env.step(action)
        outcome = (observation, reward, terminated, info["state_key"])
        revisited += (key, action) in seen
        assert seen.setdefault((key, action), outcome) == outcome
        if terminated:
            _, info = env.reset(options={"task_id": task_id})
    return revisited


def test_random_walk(train_env: ALFWorldEnv) -> None:
    words = ("look", "book 1", "go to desk", "go to drawer 2", "go to bed 1", "inventory")
    assert random_walk_keeps_the_promise(train_env, BOWL, words, steps=40, seed=0) >= 5


@pytest.mark.oracle
def test_random_walk_in_a_kitchen(alfworld_data: Path) -> None:
    env = ALFWorldEnv("valid_unseen", alfworld_data, categories=["pick_heat_then_place_in_recep"])
    words = ("look", "mug 1", "fridge", "microwave", "cabinet 1", "inventory")
    task_id = env.tasks.panel(2)[1].task_id
    assert random_walk_keeps_the_promise(env, task_id, words, steps=300, seed=1) >= 40
    env.close()


def test_doors(alfworld_data: Path) -> None:
    env = ALFWorldEnv("valid_unseen", alfworld_data, categories=["pick_and_place_simple"])
    task_id = next(task.task_id for task in env.tasks if "Vase-None-Safe" in task.task_id)
    shut = play(env, ["go to safe 1"], task_id)
    opened = play(env, ["go to safe 1", "open safe 1"], task_id)
    assert "opened(safe 1)" in env.facts()
    again = play(env, ["go to safe 1", "open safe 1", "close safe 1"], task_id)
    assert again["state_key"] == shut["state_key"] != opened["state_key"]
    env.close()


def test_keys_are_equal_in_any_process(
    train_env: ALFWorldEnv, alfworld_data: Path, tmp_path: Path
) -> None:
    script = f"""
import json, os
from agentenvs.alfworld.env import ALFWorldEnv
env = ALFWorldEnv("train", {str(alfworld_data)!r})
keys = [env.reset(options={{"task_id": {BOWL!r}}})[1]["state_key"]]
keys += [env.step(command)[4]["state_key"] for command in {TAKE!r}]
env.close()
print(json.dumps([keys, os.environ.get("ALFWORLD_DATA"), os.listdir({str(tmp_path)!r})]))
"""
    assert os.environ.get("PYTHONHASHSEED") != "1"
    root = str(Path(__file__).parents[3])
    environment = {key: value for key, value in os.environ.items() if key != "ALFWORLD_DATA"}
    expected = [play(train_env, TAKE[:length])["state_key"] for length in range(3)]
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**environment, "PYTHONPATH": root, "PYTHONHASHSEED": "1", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    # Nor does the engine leave anything in the environment or the home folder.
    assert json.loads(done.stdout) == [expected, None, []]
