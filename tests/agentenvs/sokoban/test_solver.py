from __future__ import annotations

import dataclasses
import random

import pytest

from agentenvs.sokoban.engine import ACTIONS, Level, move, offsets
from agentenvs.sokoban.generator import CATEGORIES, generate_level
from agentenvs.sokoban.solver import fewest_moves, fewest_pushes, push_distances

from .boards import read_level, search_slowly

DEADLOCK = "# # # # # #\n# X _ _ _ #\n# _ _ _ _ #\n# _ _ P _ #\n# _ _ _ O #\n# # # # # #"
# Two moves solve it, each a push.
STRAIGHT = "# # # # # #\n# _ _ _ _ #\n# P X _ O #\n# _ _ _ _ #\n# _ _ _ _ #\n# # # # # #"


def sample_positions() -> list[Level]:
    """Starting positions of generated levels, and what random play makes of them."""
    rng = random.Random(5)
    levels = []
    for index in range(25):
        for category in CATEGORIES:
            for size, num_boxes in ((6, 1), (6, 2)):
                level = generate_level(size, num_boxes, 15, "train", category, index)
                player, boxes = level.player, level.boxes
                for _ in range(12):
                    offset = offsets(size)[rng.choice(ACTIONS)]
                    player, boxes = move(level.walls, player, boxes, offset)
                levels += [level, dataclasses.replace(level, player=player, boxes=boxes)]
    return levels


def test_solutions_are_optimal() -> None:
    levels = sample_positions()
    assert len(levels) == 300
    unsolvable = 0
    for level in levels:
        solution = fewest_moves(level, level.player, level.boxes)
        pushes = fewest_pushes(level, level.player, level.boxes)
        expected = search_slowly(level)
        if expected is None:
            assert solution is None
            assert pushes is None
            unsolvable += 1
            continue
        assert solution is not None
        assert len(solution) == expected
        assert pushes == search_slowly(level, push_only=True)
        player, boxes = level.player, level.boxes
        for action in solution:
            player, boxes = move(level.walls, player, boxes, offsets(level.size)[action])
        assert set(boxes) == level.targets
    assert 10 < unsolvable < 150


def test_hand_written_levels() -> None:
    level = read_level(STRAIGHT)
    assert fewest_moves(level, level.player, level.boxes) == ("right", "right")
    assert fewest_pushes(level, level.player, level.boxes) == 2
    solved = (level.player, tuple(level.targets))
    assert fewest_moves(level, *solved) == ()
    assert fewest_pushes(level, *solved) == 0
    dead = read_level(DEADLOCK)
    assert fewest_moves(dead, dead.player, dead.boxes) is None
    assert fewest_pushes(dead, dead.player, dead.boxes) is None


@pytest.mark.parametrize(("limit", "found"), [(1, False), (2, True)])
def test_limit_is_inclusive(limit: int, found: bool) -> None:
    level = read_level(STRAIGHT)
    assert (fewest_moves(level, level.player, level.boxes, limit) is not None) is found
    assert (fewest_pushes(level, level.player, level.boxes, limit) is not None) is found


def test_push_distances() -> None:
    # The target, cell 16, lies beside the right wall. A box cannot leave row 1, row 4 and column 1
    # (the player would have to stand in the wall), so six cells remain, counted by hand.
    expected = {16: 0, 15: 1, 22: 1, 14: 2, 21: 2, 20: 3}
    assert push_distances(read_level(STRAIGHT)) == expected
