"""Draws Sokoban boards as images, with NumPy alone."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from agentenvs.sokoban.engine import (
    BOX,
    BOX_ON_TARGET,
    FLOOR,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
)

TILE = 16

_FLOOR = (222, 214, 190)
_GRAIN = (212, 203, 177)
_MORTAR = (70, 66, 74)
_BRICK = (142, 84, 70)
_BRICK_LIGHT = (165, 102, 84)
_TARGET = (203, 62, 62)
_WOOD = (196, 140, 70)
_WOOD_DARK = (120, 78, 34)
_DONE = (104, 168, 92)
_DONE_DARK = (46, 96, 50)
_SKIN = (240, 200, 160)
_SHIRT = (52, 98, 178)
_OUTLINE = (38, 38, 52)

Image = NDArray[np.uint8]
Colour = tuple[int, int, int]


def draw_board(text: str) -> Image:
    """Draws an observation.

    Args:
        text: The board, one row per line, cells separated by blanks.

    Returns:
        An image of shape (16 * rows, 16 * columns, 3), dtype uint8.
    """
    rows = [[_tile(symbol) for symbol in line.split()] for line in text.splitlines()]
    return np.concatenate([np.concatenate(row, axis=1) for row in rows], axis=0)


@cache
def _tile(symbol: str) -> Image:
    tile = np.empty((TILE, TILE, 3), dtype=np.uint8)
    if symbol == WALL:
        _draw_wall(tile)
        return tile
    tile[:] = _FLOOR
    tile[-1, :] = tile[:, -1] = _GRAIN
    if symbol in (TARGET, PLAYER_ON_TARGET):
        _draw_target(tile)
    if symbol == BOX:
        _draw_box(tile, _WOOD, _WOOD_DARK)
    elif symbol == BOX_ON_TARGET:
        _draw_box(tile, _DONE, _DONE_DARK)
    elif symbol in (PLAYER, PLAYER_ON_TARGET):
        _draw_player(tile)
    elif symbol not in (FLOOR, TARGET):
        raise ValueError(f"a board has no symbol {symbol!r}")
    return tile


def _disc(row: float, column: float, radius: float) -> NDArray[np.bool_]:
    rows, columns = np.mgrid[:TILE, :TILE]
    inside: NDArray[np.bool_] = (rows - row) ** 2 + (columns - column) ** 2 <= radius**2
    return inside


def _draw_wall(tile: Image) -> None:
    tile[:] = _BRICK
    for course in range(4):
        top = 4 * course
        tile[top, :] = _BRICK_LIGHT
        tile[top + 3, :] = _MORTAR
        joint = 3 if course % 2 else 11
        tile[top : top + 3, joint] = _MORTAR
        # Joints repeat every half tile, so that neighbouring tiles form one wall.
        tile[top : top + 3, (joint + 8) % TILE] = _MORTAR


def _draw_target(tile: Image) -> None:
    centre = (TILE - 1) / 2
    tile[_disc(centre, centre, 7.0) & ~_disc(centre, centre, 5.2)] = _TARGET
    tile[_disc(centre, centre, 2.3)] = _TARGET


def _draw_box(tile: Image, face: Colour, edge: Colour) -> None:
    tile[1:15, 1:15] = edge
    tile[2:14, 2:14] = face
    tile[3:13, 3] = tile[3:13, 12] = tile[3, 3:13] = tile[12, 3:13] = edge
    for step in range(4, 12):
        tile[step, step] = tile[step, TILE - 1 - step] = edge


def _draw_player(tile: Image) -> None:
    centre = (TILE - 1) / 2
    tile[_disc(12.5, centre, 4.6)] = _OUTLINE
    tile[_disc(12.5, centre, 3.6)] = _SHIRT
    tile[_disc(5.5, centre, 4.2)] = _OUTLINE
    tile[_disc(5.5, centre, 3.2)] = _SKIN
    tile[5:7, 6] = tile[5:7, 9] = _OUTLINE
    tile[15, :] = _GRAIN
