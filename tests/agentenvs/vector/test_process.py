"""What can go wrong with worker processes."""

from __future__ import annotations

import importlib.util
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from agentenvs.vector import GroupVectorEnv
from tests.agentenvs.vector.envs import COUNTER

# Four members in two workers: 0 and 1 (group 0), 2 and 3 (group 1).
SIZES = {"num_groups": 2, "group_size": 2, "num_workers": 2}


@pytest.fixture
def make():
    """Builds vector environments and closes them."""
    built = []

    def build(**kwargs):
        built.append(GroupVectorEnv(COUNTER, **{**SIZES, **kwargs}))
        return built[-1]

    yield build
    for env in built:
        env.close()


def pids(env: GroupVectorEnv) -> list[int]:
    return [worker.process.pid for worker in env._backend._workers]  # type: ignore[attr-defined]


def exists(pid: int) -> bool:
    """Tells whether a process exists, as a zombie too."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_members_run_in_other_processes_and_share_workers(make):
    env = make()
    assert len(set(pids(env))) == 2
    assert os.getpid() not in pids(env)


@pytest.mark.parametrize("action", ["exit", "unpicklable"])
def test_a_dead_worker_fails_its_running_members_and_is_replaced(make, action):
    env = make()
    first, _ = env.reset(seed=5)
    before = pids(env)
    _, rewards, _, truncations, infos = env.step(["inc", action, "inc", "inc"])
    assert np.isnan(rewards).tolist() == [True, True, False, False]
    assert truncations.tolist() == [True, True, False, False]
    assert infos["failed"].tolist() == [True, True, False, False]
    expected = "exit code 3" if action == "exit" else "TypeError: this text cannot be pickled"
    assert expected in infos["error"][0]
    assert expected in infos["error"][1]
    assert env.failed.tolist() == [True, True, False, False]
    assert env.active.tolist() == [False, False, True, True]
    assert env.num_restarts == 1
    after = pids(env)
    assert after[0] != before[0]
    assert after[1] == before[1]
    assert not exists(before[0])
    mask = np.array([True, True, False, False])
    assert env.reset(seed=5, options={"reset_mask": mask})[0][:2] == first[:2]
    assert np.isfinite(env.step(["inc"] * 4)[1]).all()


def test_kill_in_the_middle_of_a_step(make):
    env = make()
    env.reset(seed=5)
    env.send({0: "hang", 2: "inc"})
    assert [step.member for step in env.recv()] == [2]
    os.kill(pids(env)[0], signal.SIGKILL)
    steps = env.recv()
    # Member 1 had no action, but its episode is lost too, and that is reported.
    assert [(step.member, step.failed) for step in steps] == [(0, True), (1, True)]
    assert all(math.isnan(step.reward) and "exit code -9" in step.error for step in steps)
    assert env.pending == frozenset()


def test_a_finished_episode_does_not_fail_with_its_worker(make):
    env = make()
    env.reset(seed=5)
    assert env.step(["win", "inc", "inc", "inc"])[1][0] == 1.0
    _, rewards, terminations, _, infos = env.step(["-", "exit", "inc", "inc"])
    assert terminations.tolist() == [True, False, False, False]
    assert rewards[0] == 0.0
    assert math.isnan(rewards[1])
    assert infos["failed"].tolist() == [False, True, False, False]


def test_an_end_that_arrived_before_the_worker_died_counts(make):
    env = make()
    env.reset(seed=5)
    env.send({0: "win"})
    while not env._ready:  # until the answer is here, though nobody has asked for it
        env.send({})
    os.kill(pids(env)[0], signal.SIGKILL)
    steps = env.recv(min_members=4)
    while env.pending:
        steps += env.recv()
    assert (steps[0].member, steps[0].reward, steps[0].failed) == (0, 1.0, False)


def test_an_idle_worker_that_died_is_noticed_and_the_action_sent_is_not_lost(make):
    env = make()
    env.reset(seed=5)
    os.kill(pids(env)[0], signal.SIGKILL)
    env._backend._workers[0].process.wait()
    env.send({2: "inc"})
    assert env.pending == {0, 1, 2}, "failures are reported by recv, not dropped"
    # The caller cannot know yet.
    env.send({1: "inc"})
    with pytest.raises(ValueError, match="member 1 has an action outstanding"):
        env.send({1: "inc"})
    steps = env.recv(min_members=3)
    assert [(step.member, step.failed) for step in steps] == [(0, True), (1, True), (2, False)]
    assert env.active.tolist() == [False, False, True, True]


def test_a_hanging_environment_is_replaced_after_the_step_timeout(make):
    env = make(step_timeout=0.5)
    env.reset(seed=5)
    hanging = pids(env)[0]
    _, rewards, _, _, infos = env.step(["hang", "inc", "inc", "inc"])
    assert np.isnan(rewards).tolist() == [True, True, False, False]
    assert "members [0, 1] within step_timeout=0.5" in infos["error"][0]
    assert env.num_restarts == 1
    assert not exists(hanging)


def test_the_step_timeout_holds_for_one_step_not_for_all_of_a_worker(make):
    env = make(num_groups=1, group_size=20, num_workers=1, step_timeout=0.5)
    env.reset(seed=5)
    # 20 naps of 0.05 s in one worker take 1 s.
    _, rewards, _, _, infos = env.step(["nap"] * 20)
    assert np.isfinite(rewards).all()
    assert not infos["failed"].any()
    assert env.num_restarts == 0


def test_ready_members_do_not_wait_for_slow_ones(monkeypatch, make):
    monkeypatch.setattr("agentenvs.vector.process.CLOSE_TIMEOUT_S", 0.2)
    env = make()
    env.reset(seed=5)
    env.send({0: "inc", 3: "hang"})
    assert [step.member for step in env.recv()] == [0]
    env.send({0: "inc", 1: "inc"})
    got = env.recv(min_members=2)
    assert [step.member for step in got] == [0, 1]
    assert env.recv(timeout=0.05) == []
    assert env.pending == {3}
    env.close()


def test_actions_for_a_busy_worker_wait_their_turn(make):
    env = make()
    env.reset(seed=5)
    env.send({0: "nap"})
    env.send({1: "x" * 1_000_000})
    steps = env.recv(min_members=2)
    assert [step.member for step in steps] == [0, 1]
    assert [step.info["action_valid"] for step in steps] == [True, False]


def test_restarts_are_bounded(make):
    env = make(max_restarts=1)
    env.reset(seed=5)
    env.step(["exit", "inc", "inc", "inc"])
    env.reset(seed=5)
    with pytest.raises(RuntimeError, match=r"(?s)max_restarts=1 are used up.*exit code 3"):
        env.step(["inc", "inc", "exit", "inc"])
    before_close = pids(env)
    env.close()
    assert not any(exists(pid) for pid in before_close)


def test_a_worker_that_dies_in_a_reset_is_retried(make, tmp_path: Path):
    trap = tmp_path / "trap"
    env = make(env_kwargs={"trap": str(trap)})
    first, _ = env.reset(seed=5)
    trap.touch()
    assert env.reset(seed=5)[0] == first
    assert env.num_restarts == 1
    assert env.active.all()


def test_a_death_in_a_reset_is_reported_to_the_other_members(make, tmp_path: Path):
    trap = tmp_path / "trap"
    env = make(num_workers=1, env_kwargs={"trap": str(trap)})
    env.reset(seed=5)
    trap.touch()
    env.reset(seed=5, options={"reset_mask": np.array([True, True, False, False])})
    assert env.pending == {2, 3}
    steps = env.recv()
    assert [(step.member, step.failed) for step in steps] == [(2, True), (3, True)]
    assert env.active.tolist() == [True, True, False, False]


def test_a_worker_that_cannot_start_names_the_reason():
    with pytest.raises(
        RuntimeError, match=r"(?s)did not start.*unexpected keyword argument 'size'"
    ):
        GroupVectorEnv(COUNTER, 1, 2, env_kwargs={"size": 3})
    with pytest.raises(RuntimeError, match=r"(?s)did not start.*NoSuch"):
        GroupVectorEnv("agentenvs/NoSuch-v0", 1, 2)


def test_workers_see_the_current_environment_variables(make, monkeypatch, tmp_path: Path):
    log = tmp_path / "log"
    monkeypatch.setenv("COUNTER_LOG", str(log))
    env = make()
    env.reset(seed=5)
    env.step(["inc"] * 4)
    assert len(log.read_text().splitlines()) == 4


def test_close_ends_all_workers(make):
    env = make()
    env.reset(seed=5)
    env.send({0: "nap"})
    workers = pids(env)
    env.close()
    assert not any(exists(pid) for pid in workers)


def test_close_ends_a_hanging_worker(make, monkeypatch):
    monkeypatch.setattr("agentenvs.vector.process.CLOSE_TIMEOUT_S", 0.2)
    env = make()
    env.reset(seed=5)
    env.send({0: "hang"})
    workers = pids(env)
    env.close()
    assert not any(exists(pid) for pid in workers)


SCRIPT = """
import os, signal, sys
from agentenvs.vector import GroupVectorEnv

env = GroupVectorEnv({id!r}, 2, 2, num_workers=2)
env.reset(seed=5)
print(*[worker.process.pid for worker in env._backend._workers], flush=True)
{end}
"""


@pytest.mark.parametrize(
    "end", ["sys.exit(0)", "raise KeyError('x')", "os.kill(os.getpid(), signal.SIGKILL)"]
)
def test_workers_die_with_their_parent(tmp_path: Path, end: str):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(id=COUNTER, end=end))
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    workers = [int(pid) for pid in done.stdout.split()]
    assert len(workers) == 2
    while any(exists(pid) for pid in workers):  # bounded by the timeout of the test
        time.sleep(0.01)
    if end.startswith("sys"):
        assert done.returncode == 0
        assert done.stderr == ""


def test_torch_threads_in_the_parent_are_safe(tmp_path: Path):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs the extra: pip install 'agentenvs[learner]'")
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "from agentenvs.vector import GroupVectorEnv\n"
        "torch.ones(800, 800) @ torch.ones(800, 800)\n"
        f"env = GroupVectorEnv({COUNTER!r}, 2, 2, num_workers=2)\n"
        "env.reset(seed=5)\n"
        "print(env.step(['win'] * 4)[1].sum())\n"
        "env.close()\n"
    )
    root = Path(__file__).parents[3]
    output = subprocess.check_output(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(root)},
        text=True,
        timeout=300,
    )
    assert output == "4.0\n"
