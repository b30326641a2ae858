"""The games of an ALFWorld release as task sets."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentenvs.tasks import ListedTasks, Task

SPLITS = ("train", "valid_seen", "valid_unseen")
CATEGORIES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
RELEASE = "json_2.1.1"
# The wanted entries stand near the end of files of several hundred kB.
_TAIL_BYTES = 16_384


class ALFWorldTasks(ListedTasks):
    """The playable games of one split.

    A task id is the game's folder relative to the split,
    ``"<task type>-<object>-<movable>-<receptacle>-<scene>/trial_T..."``; the category is the task
    type that the game's ``traj_data.json`` states.

    Args:
        split: One of ``SPLITS``.
        data: Folder that holds ``json_2.1.1``, or that folder itself; None reads the environment
            variable ``ALFWORLD_DATA``.
        categories: The categories to keep; None for all six.

    Attributes:
        folder: The split's folder.
        skipped: Number of games left out, by reason: the published evaluation plays neither
            games with movable receptacles or sliced objects nor games not known as solvable.

    Raises:
        ValueError: If the split or a category does not exist, or no game is left.
        FileNotFoundError: If there is no data.
    """

    def __init__(
        self,
        split: str,
        data: str | os.PathLike[str] | None = None,
        categories: Sequence[str] | None = None,
    ) -> None:
        if split not in SPLITS:
            raise ValueError(f"split must be one of {SPLITS}, got {split!r}")
        wanted = CATEGORIES if categories is None else tuple(categories)
        unknown = set(wanted) - set(CATEGORIES)
        if unknown:
            raise ValueError(f"categories must be among {CATEGORIES}, got also {sorted(unknown)}")
        self.folder = _split_folder(split, data)
        games, skipped = _games(self.folder)
        self.skipped = dict(skipped)
        tasks = [task for task in games if task.category in wanted]
        if not tasks:
            raise ValueError(
                f"{self.folder} has no playable game of {wanted}; skipped: {self.skipped}"
            )
        super().__init__(
            split, tasks, tuple(category for category in CATEGORIES if category in wanted)
        )

    def game_file(self, task: Task) -> Path:
        """Returns the path of a task's ``game.tw-pddl``."""
        return self.folder / task.task_id / "game.tw-pddl"


def _split_folder(split: str, data: str | os.PathLike[str] | None) -> Path:
    how = (
        f"Give the folder that holds {RELEASE} of an ALFWorld release as data=... or in the "
        "environment variable ALFWORLD_DATA."
    )
    source = "data" if data is not None else "ALFWORLD_DATA"
    given = data if data is not None else os.environ.get("ALFWORLD_DATA")
    if not given:
        raise FileNotFoundError(f"no ALFWorld data: neither data nor ALFWORLD_DATA is set. {how}")
    root = Path(given).expanduser().resolve()
    release = root / RELEASE if (root / RELEASE).is_dir() else root
    if not (release / split).is_dir():
        raise FileNotFoundError(
            f"no ALFWorld data for split {split!r}: {source} is {str(given)!r}, and neither "
            f"{root / RELEASE / split} nor {root / split} is a folder. {how}"
        )
    return release / split


@lru_cache(maxsize=8)
def _games(folder: Path) -> tuple[tuple[Task, ...], tuple[tuple[str, int], ...]]:
    """Lists the playable games below a split's folder and counts the others by reason.

    The environments of a process share the list: the train split has some 8,800 folders.
    """
    tasks = []
    skipped: Counter[str] = Counter()
    for trajectory in sorted(folder.glob("*/*/traj_data.json")):
        task_id = trajectory.parent.relative_to(folder).as_posix()
        game = trajectory.with_name("game.tw-pddl")
        if "movable" in task_id or "Sliced" in task_id:
            skipped["movable receptacle or sliced object"] += 1
        elif not game.is_file():
            skipped["no game.tw-pddl"] += 1
        elif _entry(game, "solvable", "true|false") != "true":
            skipped["not solvable"] += 1
        else:
            category = _entry(trajectory, "task_type", r'"\w+"').strip('"')
            if category in CATEGORIES:
                tasks.append(Task(task_id, category))
            else:
                skipped["other task type"] += 1
    return tuple(tasks), tuple(sorted(skipped.items()))


def _entry(path: Path, key: str, pattern: str) -> str:
    """Returns the JSON text of a top-level entry; empty if there is no such entry.

    Reads the end of the file and parses the whole only if the entry is not found there once.
    Within a JSON string a quote has a backslash before it, so no text is taken for the entry.
    """
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _TAIL_BYTES))
        tail = file.read().decode("utf-8", "replace")
    found = re.findall(rf'"{key}"\s*:\s*({pattern})(?=\s*[,}}])', tail)
    if len(found) == 1:
        return str(found[0])
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not the JSON file that ALFWorld releases: {error}") from error
    return json.dumps(content[key]) if key in content else ""
