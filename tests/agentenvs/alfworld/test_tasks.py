import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentenvs.alfworld.env import ALFWorldEnv
from agentenvs.alfworld.tasks import CATEGORIES, SPLITS, ALFWorldTasks


def make_game(
    split: Path, name: str, task_type: str, solvable: bool | None = True, tail: str = ""
) -> None:
    """Writes the two files that the manifest reads, in the order of the released ones."""
    folder = split / name / "trial_T1"
    folder.mkdir(parents=True)
    trajectory = {"images": [], "task_type": task_type, "turk_annotations": {"anns": [tail]}}
    (folder / "traj_data.json").write_text(json.dumps(trajectory, indent=4))
    game = {"pddl_domain": "", "grammar": 'say "solvable": false, ', "pddl_problem": ""}
    if solvable is not None:
        game["solvable"] = solvable  # type: ignore[assignment]
    (folder / "game.tw-pddl").write_text(json.dumps(game))


@pytest.fixture
def release(tmp_path: Path) -> Path:
    train = tmp_path / "json_2.1.1" / "train"
    make_game(train, "look_at_obj_in_light-CD-None-DeskLamp-2", "look_at_obj_in_light")
    # The folder's name does not decide the category, and a long annotation hides the entry from
    # a reader of the file's end.
    make_game(train, "a-Mug-None-Desk-1", "pick_and_place_simple", tail='"task_type": "x",' * 2000)
    make_game(train, "pick_and_place_simple-AppleSliced-None-Desk-1", "pick_and_place_simple")
    make_game(train, "pick_and_place_with_movable_recep-Cup-Pan-Desk-1", "pick_and_place_simple")
    make_game(train, "pick_and_place_simple-Pen-None-Desk-1", "pick_and_place_simple", False)
    make_game(train, "pick_and_place_simple-Pan-None-Desk-1", "pick_and_place_simple", None)
    make_game(train, "pick_and_fly-Pan-None-Desk-1", "pick_and_fly")
    make_game(train, "pick_and_place_simple-Cup-None-Desk-1", "pick_and_place_simple")
    next(train.glob("*Cup-None*/trial_T1/game.tw-pddl")).unlink()
    return tmp_path


def test_manifest_is_sorted_and_counts_what_it_skips(release: Path) -> None:
    tasks = ALFWorldTasks("train", release)
    assert [(task.task_id, task.category) for task in tasks] == [
        ("a-Mug-None-Desk-1/trial_T1", "pick_and_place_simple"),
        ("look_at_obj_in_light-CD-None-DeskLamp-2/trial_T1", "look_at_obj_in_light"),
    ]
    assert tasks.skipped == {
        "movable receptacle or sliced object": 2,
        "not solvable": 2,
        "other task type": 1,
        "no game.tw-pddl": 1,
    }


def test_data_may_be_the_release_folder_or_the_variable(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = ALFWorldTasks("train", release / "json_2.1.1")
    monkeypatch.setenv("ALFWORLD_DATA", str(release))
    assert list(ALFWorldTasks("train")) == list(inner) == list(ALFWorldTasks("train", str(release)))
    game = inner.game_file(inner[0])
    assert game == release / "json_2.1.1/train/a-Mug-None-Desk-1/trial_T1/game.tw-pddl"


def test_categories_filter_in_published_order(release: Path) -> None:
    tasks = ALFWorldTasks("train", release, ("look_at_obj_in_light", "pick_and_place_simple"))
    assert tasks.categories == ("pick_and_place_simple", "look_at_obj_in_light")
    only = ALFWorldTasks("train", release, ["look_at_obj_in_light"])
    assert [task.category for task in only] == ["look_at_obj_in_light"]
    with pytest.raises(ValueError, match=r"no playable game of .*heat"):
        ALFWorldTasks("train", release, ["pick_heat_then_place_in_recep"])
    with pytest.raises(ValueError, match=r"got also \['fly'\]"):
        ALFWorldTasks("train", release, ["fly"])


def test_missing_data_says_what_where_and_how(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"ALFWORLD_DATA.*json_2\.1\.1.*data="):
        ALFWorldTasks("train")
    with pytest.raises(FileNotFoundError, match=r"nowhere/json_2\.1\.1/train.*json_2\.1\.1.*data="):
        ALFWorldTasks("train", tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="'valid_seen'"):
        ALFWorldTasks("valid_seen", release)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError, match=r"ALFWORLD_DATA is '.*gone'"):
        ALFWorldTasks("train")


def test_bad_arguments(release: Path) -> None:
    with pytest.raises(ValueError, match=r"split must be one of .*got 'test'"):
        ALFWorldEnv("test", release)
    with pytest.raises(ValueError, match=r"backend must be one of .*textworld.*got 'java'"):
        ALFWorldEnv("train", release, backend="java")
    with pytest.raises(KeyError, match="no task 'x'"):
        ALFWorldTasks("train", release).find("x")


def test_broken_file_is_named(tmp_path: Path) -> None:
    split = tmp_path / "train"
    make_game(split, "a-Mug-None-Desk-1", "pick_and_place_simple")
    (split / "a-Mug-None-Desk-1" / "trial_T1" / "game.tw-pddl").write_text("{")
    with pytest.raises(ValueError, match=r"a-Mug-None-Desk-1/trial_T1/game\.tw-pddl is not"):
        ALFWorldTasks("train", tmp_path)


def test_missing_extra_is_named_and_import_is_cheap(release: Path) -> None:
    script = f"""
import sys
from agentenvs.alfworld.env import ALFWorldEnv
assert not {{"textworld", "alfworld", "fast_downward"}} & set(sys.modules)
sys.modules["textworld"] = None
try:
    ALFWorldEnv("train", {str(release)!r})
except ImportError as error:
    print(error)
"""
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 'pip install "agentenvs[alfworld]"' in done.stdout


def test_released_games(alfworld_data: Path) -> None:
    splits = {split: ALFWorldTasks(split, alfworld_data) for split in SPLITS}
    assert {split: len(tasks) for split, tasks in splits.items()} == {
        "train": 12,
        "valid_seen": 18,
        "valid_unseen": 30,
    }
    ids = [task.task_id for tasks in splits.values() for task in tasks]
    assert len(set(ids)) == 60
    for split, tasks in splits.items():
        assert [task.task_id for task in tasks] == sorted(task.task_id for task in tasks)
        per_category = {"train": 2, "valid_seen": 3, "valid_unseen": 5}[split]
        for category in CATEGORIES:
            assert sum(task.category == category for task in tasks) == per_category
        for task in tasks:
            trajectory = tasks.game_file(task).with_name("traj_data.json")
            assert json.loads(trajectory.read_text())["task_type"] == task.category
            assert task.task_id.startswith(task.category)
