"""Optimal solutions of Sokoban positions by A* search."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from agentenvs.sokoban.engine import Boxes, Level, offsets

Position = tuple[int, Boxes]


def fewest_moves(
    level: Level, player: int, boxes: Boxes, limit: int | None = None
) -> tuple[str, ...] | None:
    """Finds a solution with the fewest moves, pushes included.

    The search is exact, so its time grows with the number of positions within reach: well under
    a millisecond for one box on a board of size 6, seconds for many boxes on a large board.

    Args:
        level: The board.
        player: The player's cell.
        boxes: The boxes' cells, ascending.
        limit: Gives up on solutions of more moves than this; None for no limit.

    Returns:
        The actions, always the same ones for the same position; empty if it is solved; None if
        there is no solution within the limit.
    """
    path = _search(level, player, boxes, walk_cost=1, limit=limit)
    return None if path is None else tuple(action for action, _ in path)


def fewest_pushes(level: Level, player: int, boxes: Boxes, limit: int | None = None) -> int | None:
    """Counts the pushes of a solution with the fewest pushes, however far the player walks.

    Args:
        level: The board.
        player: The player's cell.
        boxes: The boxes' cells, ascending.
        limit: Gives up on solutions of more pushes than this; None for no limit.

    Returns:
        The number of pushes; None if there is no solution within the limit.
    """
    path = _search(level, player, boxes, walk_cost=0, limit=limit)
    return None if path is None else sum(pushed for _, pushed in path)


def push_distances(level: Level) -> dict[int, int]:
    """Counts the pushes that bring a lone box from each cell to its nearest target.

    Returns:
        Pushes per cell. A box on a cell that is missing can never reach a target.
    """
    distances = dict.fromkeys(sorted(level.targets), 0)
    queue = deque(distances)
    steps = tuple(offsets(level.size).values())
    while queue:
        cell = queue.popleft()
        for offset in steps:
            # The box came from `before`, pushed by a player who stood behind it.
            before = cell - offset
            if before in distances or before in level.walls or before - offset in level.walls:
                continue
            distances[before] = distances[cell] + 1
            queue.append(before)
    return distances


def _search(
    level: Level, player: int, boxes: Boxes, walk_cost: int, limit: int | None
) -> list[tuple[str, bool]] | None:
    """Finds a cheapest solution where a push costs 1 and a walk ``walk_cost``.

    The estimate of the remaining cost is the sum of the boxes' push distances. A step changes it
    by at most its own cost, so a position is reached at its least cost when it is first expanded.

    Returns:
        The actions and whether each one pushed a box, or None.
    """
    distances = push_distances(level)
    walls, targets = level.walls, level.targets
    steps = tuple(offsets(level.size).items())
    if any(box not in distances for box in boxes):
        return None
    estimate = sum(distances[box] for box in boxes)
    bound = float("inf") if limit is None else limit
    start: Position = (player, boxes)
    costs: dict[Position, int] = {start: 0}
    parents: dict[Position, tuple[Position, str]] = {}
    closed: set[Position] = set()
    # The serial number makes ties deterministic; of equals, the latest and so deepest goes first.
    serial = 0
    heap = [(estimate, serial, estimate, start)]
    while heap:
        _, _, estimate, position = heappop(heap)
        if position in closed:
            continue
        closed.add(position)
        player, boxes = position
        if estimate == 0 and targets.issuperset(boxes):
            return _trace(parents, position)
        cost = costs[position]
        for action, offset in steps:
            ahead = player + offset
            if ahead in walls:
                continue
            if ahead in boxes:
                beyond = ahead + offset
                if beyond in boxes or beyond not in distances:
                    continue
                following = (ahead, tuple(sorted(beyond if b == ahead else b for b in boxes)))
                remaining = estimate + distances[beyond] - distances[ahead]
                new_cost = cost + 1
            else:
                following = (ahead, boxes)
                remaining = estimate
                new_cost = cost + walk_cost
            total = new_cost + remaining
            if total > bound or new_cost >= costs.get(following, total + 1):
                continue
            costs[following] = new_cost
            parents[following] = (position, action)
            serial -= 1
            heappush(heap, (total, serial, remaining, following))
    return None


def _trace(
    parents: dict[Position, tuple[Position, str]], position: Position
) -> list[tuple[str, bool]]:
    path = []
    while position in parents:
        before, action = parents[position]
        path.append((action, before[1] != position[1]))
        position = before
    path.reverse()
    return path
