"""The columnar batch: one row per environment step of a rollout."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from itertools import compress

import numpy as np

from gigpo.advantages import Advantages, compute_advantages
from gigpo.config import Config
from gigpo.grouping import group_by_key, group_by_similarity


@dataclass(slots=True)
class Trajectory:
    """One episode of a group member.

    Attributes:
        group: Index of its group.
        task_id: The task.
        category: The task's category.
        won: Success.
        score: Task score in [0, 1].
        episode_return: Undiscounted sum of rewards.
        length: Number of steps.
        error: Why the environment or its worker failed; None if it did not. A failed episode
            trains nothing and counts in no rate.
    """

    group: int
    task_id: str
    category: str
    won: bool = False
    score: float = 0.0
    episode_return: float = 0.0
    length: int = 0
    error: str | None = None


@dataclass(slots=True)
class Batch:
    """Step rows as columns of equal length, and the trajectories they belong to.

    Attributes:
        prompts: Prompt token ids.
        responses: Response token ids.
        logprobs: Sampler's log-probabilities per response token, float32.
        trajectory: Index into ``trajectories``.
        step: Time index within the trajectory, from 0.
        state_keys: Canonical state key before the action.
        observation_keys: Observation key before the action.
        observations: Observation text before the action.
        rewards: Reward of the step.
        parsed: Whether the response held a well-formed action.
        valid: Whether it was parsed and the environment admitted the action.
        truncated: Whether the response hit the token limit.
        shortened: Whether the prompt lost history or more to the token limit.
        trajectories: All trajectories, failed ones too.
    """

    prompts: list[list[int]] = field(default_factory=list)
    responses: list[list[int]] = field(default_factory=list)
    logprobs: list[np.ndarray] = field(default_factory=list)
    trajectory: list[int] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    state_keys: list[str] = field(default_factory=list)
    observation_keys: list[str] = field(default_factory=list)
    observations: list[str] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    parsed: list[bool] = field(default_factory=list)
    valid: list[bool] = field(default_factory=list)
    truncated: list[bool] = field(default_factory=list)
    shortened: list[bool] = field(default_factory=list)
    trajectories: list[Trajectory] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def groups(self) -> np.ndarray:
        """Group of each row, int64 (rows,)."""
        return np.array([self.trajectories[t].group for t in self.trajectory], dtype=np.int64)

    def drop_failed(self) -> None:
        """Removes the rows of failed trajectories: they train nothing and enter no statistic."""
        keep = [self.trajectories[t].error is None for t in self.trajectory]
        for column in fields(self):
            if column.name != "trajectories":
                values = getattr(self, column.name)
                setattr(self, column.name, list(compress(values, keep)))

    def step_groups(self, grouping: str, similarity_threshold: float) -> np.ndarray:
        """Returns the step group of each row (Eq. 6), int64 (rows,).

        Args:
            grouping: ``state_key``, ``observation_key`` or ``similarity``.
            similarity_threshold: Least similarity of two observations in one group.
        """
        if grouping == "similarity":
            return group_by_similarity(self.groups, self.observations, similarity_threshold)
        keys = self.state_keys if grouping == "state_key" else self.observation_keys
        return group_by_key(self.groups, keys)

    def advantages(self, config: Config) -> Advantages:
        """Computes the group-in-group advantages of the rows, Eq. 3 to 8."""
        step_groups = None
        if config.omega != 0:
            step_groups = self.step_groups(config.grouping, config.similarity_threshold)
        return compute_advantages(
            groups=self.groups,
            trajectories=np.array(self.trajectory, dtype=np.int64),
            rewards=np.array(self.rewards, dtype=np.float64),
            steps=np.array(self.step, dtype=np.int64),
            step_groups=step_groups,
            valid=np.array(self.valid, dtype=bool),
            gamma=config.gamma,
            omega=config.omega,
            norm=config.norm,
            baseline=config.baseline,
            invalid_action_penalty=config.invalid_action_penalty,
            compat=config.compat,
        )

    def metrics(self) -> dict[str, float]:
        """Summarises the rollout.

        Returns:
            Counts, and means over the episodes or steps that did not fail; the means are left
            out where all failed.
        """
        done = [t for t in self.trajectories if t.error is None]
        counts = {
            "rollout/episodes": float(len(done)),
            "rollout/failed_episodes": float(len(self.trajectories) - len(done)),
            "rollout/steps": float(len(self)),
            "rollout/shortened_prompts": float(sum(self.shortened)),
            "rollout/response_tokens": float(sum(len(response) for response in self.responses)),
            "rollout/prompt_tokens": float(sum(len(prompt) for prompt in self.prompts)),
        }
        if not done:
            return counts
        return counts | {
            "rollout/success": sum(t.won for t in done) / len(done),
            "rollout/score": sum(t.score for t in done) / len(done),
            "rollout/return": sum(t.episode_return for t in done) / len(done),
            "rollout/episode_length": sum(t.length for t in done) / len(done),
            "rollout/parsed": sum(self.parsed) / len(self),
            "rollout/valid": sum(self.valid) / len(self),
            "rollout/truncated_responses": sum(self.truncated) / len(self),
        }

    def group_metrics(self, grouping: str, similarity_threshold: float) -> dict[str, float]:
        """Summarises the step groups.

        Returns:
            ``groups/recurring_share``: share of rows whose state occurs at least twice in its
            group; ``groups/mean_size``: mean size of step groups; ``groups/size_K``: number of
            step groups of 1, 2, 3-4, 5-8 and 9+ rows.
        """
        sizes = np.bincount(self.step_groups(grouping, similarity_threshold))
        sizes = sizes[sizes > 0]
        edges = {"1": (1, 1), "2": (2, 2), "3_4": (3, 4), "5_8": (5, 8), "9_up": (9, len(self))}
        histogram = {
            f"groups/size_{name}": float(((sizes >= low) & (sizes <= high)).sum())
            for name, (low, high) in edges.items()
        }
        return {
            "groups/recurring_share": float(sizes[sizes > 1].sum() / max(len(self), 1)),
            "groups/mean_size": float(sizes.mean()) if len(sizes) else 0.0,
            **histogram,
        }

    def category_success(self) -> dict[str, tuple[int, int]]:
        """Returns (wins, episodes) by category, in order of first appearance."""
        episodes = Counter(t.category for t in self.trajectories if t.error is None)
        wins = Counter(t.category for t in self.trajectories if t.error is None and t.won)
        return {category: (wins[category], count) for category, count in episodes.items()}
