from __future__ import annotations

import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from agentenvs.sokoban.env import SokobanEnv
from agentenvs.sokoban.render import draw_board


@pytest.mark.parametrize("size", [6, 8])
def test_image_has_a_tile_per_cell(size: int) -> None:
    env = gymnasium.make("agentenvs/Sokoban-v0", size=size, render_mode="rgb_array")
    env.reset(seed=0)
    image = env.render()
    assert isinstance(image, np.ndarray)
    assert image.shape == (16 * size, 16 * size, 3)
    assert image.dtype == np.uint8


def test_all_tiles_differ() -> None:
    image = draw_board("# _ O X √ P S")
    assert image.shape == (16, 112, 3)
    tiles = np.split(image, 7, axis=1)
    for left, right in itertools.combinations(tiles, 2):
        assert (left != right).any(axis=2).sum() >= 15


def test_tiles_lie_where_the_board_says() -> None:
    image = draw_board("# _ O\nX P #")
    assert (image[:16, :16] == image[16:, 32:]).all()
    assert (image[16:, :16] == draw_board("X")).all()


def test_unknown_symbols_are_refused() -> None:
    with pytest.raises(ValueError, match="'Q'"):
        draw_board("# Q")


def test_image_follows_the_play() -> None:
    env = SokobanEnv(render_mode="rgb_array")
    env.reset(options={"task_id": "train-easy-000000"})
    before = env.render()
    env.step(env.expert_action())
    assert (env.render() != before).any()


def test_ansi_is_the_observation() -> None:
    env = SokobanEnv(render_mode="ansi")
    observation, _ = env.reset(seed=3)
    assert env.render() == observation
    env = SokobanEnv()
    env.reset(seed=3)
    assert env.render() is None


def test_no_image_before_the_first_reset() -> None:
    with pytest.raises(ResetNeeded, match="reset"):
        SokobanEnv(render_mode="rgb_array").render()
