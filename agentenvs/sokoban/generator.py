"""Levels by reverse play: a function of their settings, split, category and index alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TypeVar

import numpy as np

from agentenvs.sokoban.engine import Boxes, Level, board, empty_board, offsets
from agentenvs.sokoban.solver import fewest_moves, fewest_pushes
from agentenvs.state_key import canonical_bytes

SPLITS: tuple[str, ...] = ("train", "valid", "test")
CATEGORIES: tuple[str, ...] = ("easy", "medium", "hard")

# Smallest and largest number of pushes of a solution with the fewest pushes.
PUSHES: dict[str, tuple[int, int | None]] = {"easy": (1, 2), "medium": (3, 4), "hard": (5, None)}

# The buckets, of 100, that belong to each split.
_SHARES: dict[str, range] = {"train": range(80), "valid": range(80, 90), "test": range(90, 100)}

# The reverse play goes this many pulls beyond the fewest that a category asks for, and keeps this
# many positions per pull: all of them with one box on a small board, a random choice otherwise.
_EXTRA_PULLS = 4
_BEAM = 16

MAX_BOARDS = 5_000

T = TypeVar("T")
# The boxes and the cells that the player can walk to.
Position = tuple[Boxes, int]


class _Draws:
    """Random integers that are the same under every NumPy version.

    NumPy fixes the output of its bit generators for good, but not that of ``Generator``'s methods.
    """

    def __init__(self, seed: bytes) -> None:
        sequence = np.random.SeedSequence(int.from_bytes(seed, "big"))
        self._bits = np.random.PCG64(sequence)

    def below(self, bound: int) -> int:
        """Draws from 0, ..., bound - 1; the bias is below bound / 2**64."""
        return (int(self._bits.random_raw()) * bound) >> 64

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draws ``count`` of the items without replacement, in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]


@lru_cache(maxsize=4096)
def generate_level(
    size: int, num_boxes: int, max_solution_steps: int, split: str, category: str, index: int
) -> Level:
    """Generates a level.

    Draws boards with a few random walls, plays each one backwards from its solved positions, and
    keeps the first position that belongs to the split, has a solution of at most
    ``max_solution_steps`` moves and takes the number of pushes of its category.

    Args:
        size: Rows and columns of the board, outer walls included.
        num_boxes: Number of boxes.
        max_solution_steps: Largest number of moves of a solution with the fewest moves.
        split: "train", "valid" or "test". No starting position of one split is, up to
            rotation and reflection, a starting position of another one.
        category: "easy", "medium" or "hard", see ``PUSHES``.
        index: Number of the level.

    Returns:
        The level, the same one on every machine.

    Raises:
        RuntimeError: If none of ``MAX_BOARDS`` boards has such a position.
    """
    settings = (size, num_boxes, max_solution_steps, split, category, index)
    seed = canonical_bytes(("agentenvs/Sokoban-v0", *settings))
    draws = _Draws(hashlib.blake2b(seed, digest_size=16).digest())
    fewest, most = PUSHES[category]
    # Every push is a move.
    most = max_solution_steps if most is None else min(most, max_solution_steps)
    for _ in range(MAX_BOARDS if fewest <= most else 0):
        for level in _candidates(draws, size, num_boxes, fewest, most):
            if split_of(level) != split:
                continue
            moves = fewest_moves(level, level.player, level.boxes, limit=max_solution_steps)
            if moves is None or len(moves) < fewest:
                continue
            pushes = fewest_pushes(level, level.player, level.boxes, limit=most)
            if pushes is not None and pushes >= fewest:
                return level
    raise RuntimeError(
        f"found no Sokoban level with size={size}, num_boxes={num_boxes}, "
        f"max_solution_steps={max_solution_steps}, split={split!r}, category={category!r} "
        f"(at least {fewest} pushes and at most {most}), index={index} on {MAX_BOARDS} boards; "
        "choose a larger board, more boxes, more solution steps or other categories"
    )


def canonical_form(level: Level) -> str:
    """Returns the least of the eight rotations and reflections of the starting board.

    Args:
        level: Any level.

    Returns:
        The symbols of the board row by row, without separators.
    """
    text = board(empty_board(level), level.targets, level.player, level.boxes)[::2]
    return "".join(min(symmetry(text) for symmetry in _symmetries(level.size)))


def split_of(level: Level) -> str:
    """Returns the split that a level belongs to; it depends on the canonical form alone."""
    digest = hashlib.blake2b(canonical_form(level).encode(), digest_size=8).digest()
    bucket = int.from_bytes(digest, "big") % 100
    return next(split for split, share in _SHARES.items() if bucket in share)


@lru_cache(maxsize=16)
def _symmetries(size: int) -> tuple[Callable[[str], tuple[str, ...]], ...]:
    cells = np.arange(size * size).reshape(size, size)
    turned = [np.rot90(cells, quarter) for quarter in range(4)]
    return tuple(
        itemgetter(*map(int, view.ravel())) for grid in turned for view in (grid, np.fliplr(grid))
    )


def _candidates(
    draws: _Draws, size: int, num_boxes: int, fewest: int, most: int
) -> Iterator[Level]:
    """Draws walls and targets and yields starting positions in random order.

    Plays backwards from the solved positions, one pull of a box after the other. What is first
    reached by ``n`` pulls is solved by ``n`` pushes, and by no fewer where the beam kept all.
    Sets of cells are integers here, cell ``n`` being bit ``n``.
    """
    steps = tuple(offsets(size).values())
    inside = [row * size + col for row in range(1, size - 1) for col in range(1, size - 1)]
    # There are few different boards with few walls, so the larger of two draws.
    most_blocks = len(inside) // 3
    num_blocks = max(draws.below(most_blocks + 1), draws.below(most_blocks + 1))
    blocks = draws.sample(inside, num_blocks)
    free = [cell for cell in inside if cell not in blocks]
    # Only the part around one free cell stays; nobody could ever enter the others.
    floor = _reachable(_mask(free), draws.sample(free, 1)[0], size)
    free = _members(floor)
    if len(free) < num_boxes + 2:
        return
    targets = tuple(sorted(draws.sample(free, num_boxes)))

    unoccupied = floor & ~_mask(targets)
    starts = {_reachable(unoccupied, cell, size) for cell in _members(unoccupied)}
    layer: list[Position] = [(targets, region) for region in sorted(starts)]
    seen = set(layer)
    found: list[Position] = []
    for pulls in range(1, min(most, fewest + _EXTRA_PULLS) + 1):
        following: list[Position] = []
        for boxes, region in layer:
            unoccupied = floor & ~_mask(boxes)
            for box in boxes:
                for offset in steps:
                    # The player stands beside the box and steps back, the box follows.
                    beside, player = box + offset, box + 2 * offset
                    if not (region >> beside & 1 and region >> player & 1):
                        continue
                    pulled = tuple(sorted(beside if other == box else other for other in boxes))
                    open_cells = unoccupied ^ (1 << beside | 1 << box)
                    after = (pulled, _reachable(open_cells, player, size))
                    if after not in seen:
                        seen.add(after)
                        following.append(after)
        layer = draws.sample(following, min(_BEAM, len(following)))
        if pulls >= fewest:
            found += layer
    walls = frozenset(range(size * size)).difference(free)
    starting = [(boxes, player) for boxes, region in found for player in _members(region)]
    while starting:
        boxes, player = starting.pop(draws.below(len(starting)))
        yield Level(size, walls, frozenset(targets), player, boxes)


def _mask(cells: Iterable[int]) -> int:
    return sum(1 << cell for cell in cells)


def _members(mask: int) -> list[int]:
    return [cell for cell in range(mask.bit_length()) if mask >> cell & 1]


def _reachable(open_cells: int, player: int, size: int) -> int:
    """Returns the cells that the player can walk to over open cells, its own among them."""
    region, grown = 0, 1 << player
    while grown != region:
        region = grown
        grown |= (region << 1 | region >> 1 | region << size | region >> size) & open_cells
    return region
