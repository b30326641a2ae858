from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from agentenvs.vector import GroupVectorEnv
from gigpo.batch import Batch
from gigpo.build import build_policy
from gigpo.checkpoint import list_checkpoints
from gigpo.config import Config, ConfigError
from gigpo.rollout import RolloutCollector, env_arguments, make_prompt_builder
from gigpo.tracking import read_metrics
from gigpo.trainer import Trainer
from gigpo.update import Updater

MakeConfig = Callable[..., Config]


def collect(config: Config, iteration: int = 0) -> tuple[RolloutCollector, Batch]:
    policy = build_policy(config)
    envs = GroupVectorEnv(
        config.env,
        num_groups=config.num_groups,
        group_size=config.group_size,
        backend=config.backend,
        env_kwargs=env_arguments(config, "train"),
    )
    collector = RolloutCollector(envs, policy, make_prompt_builder(config, policy), config)
    try:
        return collector, collector.collect(iteration)
    finally:
        envs.close()


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {k: v.clone() for k, v in trainer.policy.model.state_dict().items()}


def assert_same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> None:
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert torch.equal(value, right[name]), name


def test_rollout_has_one_row_per_step_in_columns(make_config: MakeConfig) -> None:
    config = make_config(num_groups=3, group_size=4)
    _, batch = collect(config)
    assert len(batch.trajectories) == 12
    assert len(batch) == sum(t.length for t in batch.trajectories)
    for column in (batch.prompts, batch.responses, batch.logprobs, batch.rewards, batch.valid):
        assert len(column) == len(batch)
    for index, trajectory in enumerate(batch.trajectories):
        rows = [row for row, t in enumerate(batch.trajectory) if t == index]
        assert [batch.step[row] for row in rows] == list(range(trajectory.length))
        assert sum(batch.rewards[row] for row in rows) == pytest.approx(trajectory.episode_return)
        assert trajectory.group == index // 4
        assert trajectory.task_id == batch.trajectories[4 * (index // 4)].task_id
    # Members of a group start from one state, so their first prompts are equal too.
    firsts = [batch.prompts[row] for row in range(12)]
    assert all(firsts[4 * g + i] == firsts[4 * g] for g in range(3) for i in range(4))


def test_nothing_is_generated_for_finished_members(make_config: MakeConfig) -> None:
    config = make_config(num_groups=8, group_size=4, max_episode_steps=15)
    collector, batch = collect(config)
    lengths = [t.length for t in batch.trajectories]
    assert len(set(lengths)) > 1, "members must end at different times for this test to mean much"
    assert collector.wasted_generations == 0
    # One generation per step row, and no row after the end of an episode.
    assert len(batch.responses) == sum(lengths)


def test_rollouts_are_equal_in_one_and_many_processes(make_config: MakeConfig) -> None:
    _, serial = collect(make_config(), iteration=3)
    _, process = collect(make_config(backend="process", num_workers=2), iteration=3)
    assert serial.responses == process.responses
    assert serial.state_keys == process.state_keys
    assert serial.rewards == process.rewards


def test_iterations_draw_other_tasks_and_other_tokens(make_config: MakeConfig) -> None:
    _, first = collect(make_config(), iteration=0)
    _, second = collect(make_config(), iteration=1)
    assert first.trajectories[0].task_id != second.trajectories[0].task_id
    assert first.responses != second.responses


def test_training_moves_parameters_and_starts_at_ratio_one(make_config: MakeConfig) -> None:
    config = make_config(kl_coef=0.01)
    trainer = Trainer(config)
    before = weights(trainer)
    trainer.run()
    after = weights(trainer)
    assert all(not torch.equal(value, after[name]) for name, value in before.items())
    records = [r for r in read_metrics(Path(config.out)) if "update/rows" in r]
    assert len(records) == 2
    for record in records:
        assert record["update/sampler_logprob_gap"] < 1e-3
        assert record["update/first_ratio_deviation"] < 1e-5
        assert record["rollout/wasted_generations"] == 0
        shares = [v for k, v in record.items() if k.startswith("time/") and k.endswith("_share")]
        assert 0.9 < sum(shares) <= 1.0 + 1e-9
    # At first the policy is the reference; after the first update it is not.
    assert records[0]["update/parameter_change"] > 0


def test_grpo_is_gigpo_with_omega_zero_step_for_step(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    """With omega = 0 neither the grouping nor gamma has any influence on any weight."""
    runs = []
    for name, overrides in (
        ("gigpo", {"omega": 0.0, "grouping": "state_key"}),
        ("grpo", {"omega": 0.0, "grouping": "observation_key", "gamma": 0.5}),
    ):
        trainer = Trainer(make_config(**overrides, out=str(tmp_path / name)))
        trainer.run()
        runs.append((weights(trainer), read_metrics(tmp_path / name)))
    assert_same(runs[0][0], runs[1][0])
    for left, right in zip(runs[0][1], runs[1][1], strict=True):
        for key in left:
            if key.startswith(("rollout/", "update/", "eval/")):
                assert left[key] == right[key], key
    with_steps = Trainer(make_config(omega=1.0, out=str(tmp_path / "steps")))
    with_steps.run()
    assert any(
        not torch.equal(value, runs[0][0][name]) for name, value in weights(with_steps).items()
    )


def test_grpo_update_equals_a_plain_grpo_update(make_config: MakeConfig) -> None:
    """The whole update against GRPO written out: advantages, loss, accumulation, AdamW."""
    config = make_config(omega=0.0, kl_coef=0.0, mini_batch_size=10_000, micro_batch_size=5)
    _, batch = collect(config)
    policy = build_policy(config)
    updater = Updater(policy, None, config)
    updater.update(batch, batch.advantages(config).total, 0)

    plain = build_policy(config)
    optimizer = torch.optim.AdamW(plain.model.parameters(), lr=1e-3, weight_decay=0.0)
    returns = np.array([t.episode_return for t in batch.trajectories]).reshape(2, 4)
    spread = returns.std(1, ddof=1, keepdims=True)
    relative = (returns - returns.mean(1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    per_row = relative.reshape(-1)[batch.trajectory] - 0.1 * ~np.array(batch.valid)
    scores = plain.score(batch.prompts, batch.responses, 1.0)
    # At ratio 1 the gradient of the clipped objective is that of A * log pi.
    weight = torch.tensor(per_row, dtype=torch.float32)[:, None] * scores.mask
    (-(weight * scores.logprobs).sum() / scores.mask.sum()).backward()
    torch.nn.utils.clip_grad_norm_(plain.model.parameters(), 1.0)
    optimizer.step()
    for ours, theirs in zip(policy.model.parameters(), plain.model.parameters(), strict=True):
        # Adam's first step has size lr whatever the gradient's size: compare where it is clear.
        clear = theirs.grad.abs() > 1e-6
        assert torch.allclose(ours[clear], theirs[clear], atol=1e-5)


def test_micro_batches_do_not_change_the_update(make_config: MakeConfig) -> None:
    """1 x 16 rows = 4 x 4 rows, with unequal lengths and a partial last mini-batch."""
    _, batch = collect(make_config())
    gradients = []
    for micro in (1, 3, 16):
        config = make_config(micro_batch_size=micro, mini_batch_size=16, learning_rate=0.0)
        policy = build_policy(config)
        norms = Updater(policy, None, config).update(batch, batch.advantages(config).total, 0)
        gradients.append(norms["update/grad_norm"])
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-4)
    assert gradients[0] == pytest.approx(gradients[2], rel=1e-4)


def test_failed_episodes_train_nothing(make_config: MakeConfig) -> None:
    config = make_config(kl_coef=0.0)
    _, batch = collect(config)
    batch.trajectories[1].error = "worker died"
    batch.drop_failed()
    assert 1 not in batch.trajectory
    assert len(batch) == sum(t.length for t in batch.trajectories if t.error is None)
    advantages = batch.advantages(config)
    metrics = Updater(build_policy(config), None, config).update(batch, advantages.total, 0)
    assert metrics["update/rows"] == len(batch)
    assert batch.metrics()["rollout/failed_episodes"] == 1
    assert batch.metrics()["rollout/episodes"] == 7
    for trajectory in batch.trajectories:
        trajectory.error = "all of them"
    batch.drop_failed()
    assert len(batch) == 0
    assert "rollout/success" not in batch.metrics()
    assert batch.advantages(config).total.shape == (0,)


def test_mini_batches_are_even_shares(make_config: MakeConfig) -> None:
    """129 rows at 64 are 43 + 43 + 43, not 64 + 64 + 1: a lone row would get a full step."""
    config = make_config(mini_batch_size=64, num_groups=6, kl_coef=0.0)
    _, batch = collect(config)
    assert len(batch) > 129
    keep = slice(0, 129)
    for name in ("prompts", "responses", "logprobs", "trajectory", "rewards", "valid"):
        setattr(batch, name, getattr(batch, name)[keep])
    sizes: list[int] = []

    class Recording(Updater):
        def _optimizer_step(self, mini: np.ndarray, *arguments: Any) -> float:
            sizes.append(len(mini))
            return super()._optimizer_step(mini, *arguments)

    Recording(build_policy(config), None, config).update(batch, np.ones(129), 0)
    assert sizes == [43, 43, 43]


def test_a_gradient_that_is_not_finite_changes_nothing(make_config: MakeConfig) -> None:
    config = make_config(kl_coef=0.0)
    _, batch = collect(config)
    policy = build_policy(config)
    before = {k: v.clone() for k, v in policy.model.state_dict().items()}
    with pytest.raises(FloatingPointError, match="left unchanged"):
        Updater(policy, None, config).update(batch, np.full(len(batch), np.nan), 0)
    assert_same(before, policy.model.state_dict())


def test_warmup_raises_the_learning_rate_linearly(make_config: MakeConfig) -> None:
    config = make_config(warmup_steps=4, learning_rate=1e-3, mini_batch_size=10_000)
    _, batch = collect(config)
    updater = Updater(build_policy(config), None, config)
    rates = [
        updater.update(batch, batch.advantages(config).total, i)["update/learning_rate"]
        for i in range(5)
    ]
    assert rates == pytest.approx([0.25e-3, 0.5e-3, 0.75e-3, 1e-3, 1e-3])


def test_a_finished_run_is_not_overwritten(make_config: MakeConfig) -> None:
    config = make_config(iterations=1)
    Trainer(config).run()
    with pytest.raises(ConfigError, match="resume=true"):
        Trainer(config)


def test_resume_refuses_other_settings(make_config: MakeConfig) -> None:
    Trainer(make_config(iterations=1)).run()
    with pytest.raises(ConfigError, match=r"omega: 1.0 -> 0.5"):
        Trainer(make_config(iterations=2, resume=True, omega=0.5))


def test_a_killed_run_resumes_to_identical_parameters(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    """kill -9 in the middle of a run; the resumed run equals one that was never interrupted."""
    settings: dict[str, Any] = {"iterations": 4, "checkpoint_every": 1, "kl_coef": 0.01}
    whole = Trainer(make_config(**settings, out=str(tmp_path / "whole")))
    whole.run()

    killed = make_config(**settings, out=str(tmp_path / "killed"))
    recipe = tmp_path / "killed.yaml"
    killed.save(recipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "gigpo.cli", "train", str(recipe)],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 300
    while len(list_checkpoints(killed.out)) < 1 and time.monotonic() < deadline:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = list_checkpoints(killed.out)
    assert 1 <= len(done) <= 3, done

    resumed = Trainer(make_config(**settings, out=killed.out, resume=True))
    assert 1 <= resumed.iteration <= 3
    resumed.run()
    assert_same(weights(whole), weights(resumed))
    left, right = read_metrics(tmp_path / "whole"), read_metrics(tmp_path / "killed")
    assert [r["iteration"] for r in left] == [r["iteration"] for r in right]
    for one, two in zip(left, right, strict=True):
        for key in one:
            if not key.startswith("time/"):
                assert one[key] == two[key], key


def test_the_command_line_trains_evaluates_and_reports(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    recipe = tmp_path / "r.yaml"
    make_config(iterations=1, kl_coef=0.0, out=str(tmp_path / "cli")).save(recipe)
    command = [sys.executable, "-m", "gigpo.cli"]
    train = subprocess.run(
        [*command, "train", str(recipe), "seed=3"], capture_output=True, text=True, check=True
    )
    assert "| All | 6 |" in train.stdout
    assert "generations spent on finished members: 0" in train.stdout.replace("\n", " ")
    assert "environment and advantages together" in train.stdout.replace("\n", " ")
    out = tmp_path / "cli"
    assert (out / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "table.md").is_file()
    assert yaml.safe_load((out / "config.yaml").read_text())["seed"] == 3
    assert list((out / "tensorboard").iterdir())
    checkpoint = list_checkpoints(str(out))[-1]
    evaluated = subprocess.run(
        [*command, "eval", str(recipe), f"model={checkpoint}", f"out={tmp_path / 'eval'}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "easy" in evaluated.stdout
    wrong = subprocess.run(
        [*command, "train", str(recipe), "omgea=1"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("gigpo: unknown keys ['omgea']")
