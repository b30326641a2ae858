from __future__ import annotations

import pytest

from agentenvs.sokoban.engine import board, empty_board, move, offsets

from .boards import read_level

# One board with every symbol; 5 rows of 5.
BOARD = "# # # # #\n# S X _ #\n# O _ √ #\n# _ _ _ #\n# # # # #"


def test_board_draws_what_was_read() -> None:
    level = read_level(BOARD)
    assert level.player == 6
    assert level.boxes == (7, 13)
    assert level.targets == {6, 11, 13}
    assert board(empty_board(level), level.targets, level.player, level.boxes) == BOARD


def test_player_on_floor_is_drawn_as_p() -> None:
    level = read_level(BOARD)
    assert board(empty_board(level), level.targets, 16, (7, 13)) == (
        "# # # # #\n# O X _ #\n# O _ √ #\n# P _ _ #\n# # # # #"
    )


@pytest.mark.parametrize(
    ("player", "action", "expected"),
    [
        (6, "right", (7, (8, 13))),  # pushes the box over the floor
        (6, "down", (11, (7, 13))),  # walks
        (6, "up", (6, (7, 13))),  # wall
        (12, "up", (12, (7, 13))),  # box before a wall
        (8, "down", (13, (7, 18))),  # pushes a box off its target
        (12, "right", (12, (7, 13))),  # box before a wall
    ],
)
def test_move(player: int, action: str, expected: tuple[int, tuple[int, ...]]) -> None:
    level = read_level(BOARD)
    assert move(level.walls, player, level.boxes, offsets(5)[action]) == expected


def test_two_boxes_in_a_row_do_not_move() -> None:
    level = read_level(
        "# # # # # #\n# P X X _ #\n# O O _ _ #\n# _ _ _ _ #\n# _ _ _ _ #\n# # # # # #"
    )
    assert move(level.walls, level.player, level.boxes, 1) == (7, (8, 9))


def test_boxes_stay_sorted() -> None:
    level = read_level(
        "# # # # # #\n# _ _ X _ #\n# _ _ _ X #\n# _ O O _ #\n# _ _ _ P #\n# # # # # #"
    )
    assert level.boxes == (9, 16)
    # Pushed up, the second box comes to lie right of the first.
    assert move(level.walls, 22, level.boxes, -6) == (16, (9, 10))
    # Pushed down, the first box becomes the second.
    assert move(level.walls, 9, (15, 16), 6) == (15, (16, 21))
