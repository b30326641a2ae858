"""Runs an agent on a panel of tasks."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import agentenvs
from agentenvs.agents import Agent
from agentenvs.evaluation.episodes import EpisodeRecord, EpisodeRunner, episode_seed
from agentenvs.evaluation.table import CategoryRow, category_table, render_markdown
from agentenvs.registry import env_class
from agentenvs.state_key import state_key
from agentenvs.tasks import Task


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of :func:`evaluate`.

    Attributes:
        settings: Everything that decides the figures, and ``panel_hash``, the digest of the
            panel's task ids and categories in canonical order.
        episodes: One record per task and repeat, repeat by repeat in panel order.
        rows: One row per category that occurs and the row ``"All"``.
    """

    settings: dict[str, Any]
    episodes: tuple[EpisodeRecord, ...]
    rows: tuple[CategoryRow, ...]

    @property
    def coverage(self) -> str:
        """How much of the panel has a result, such as ``"200 of 200 tasks"``."""
        failed = {episode.task_id for episode in self.episodes if episode.failure}
        total, repeats = self.settings["num_tasks"], self.settings["repeats"]
        text = f"{total - len(failed)} of {total} tasks"
        return text if repeats == 1 else f"{text}, {repeats} times each"

    @property
    def title(self) -> str:
        """A heading that names the agent, the environment and the coverage."""
        return f"{self.settings['agent']} on {self.settings['env_id']}: {self.coverage}"

    def save(self, folder: Path) -> None:
        """Writes ``evaluation.json`` and ``table.md``.

        Args:
            folder: Created if need be; earlier results in it are replaced.
        """
        folder.mkdir(parents=True, exist_ok=True)
        content = {
            "settings": self.settings,
            "coverage": self.coverage,
            "table": [row.to_json() for row in self.rows],
            "episodes": [episode.to_json() for episode in self.episodes],
        }
        text = json.dumps(content, indent=2, ensure_ascii=False, default=str)
        (folder / "evaluation.json").write_text(text + "\n", encoding="utf-8")
        table = f"{self.title}\n\n{render_markdown(self.rows)}"
        (folder / "table.md").write_text(table, encoding="utf-8")


def evaluate(
    env_id: str,
    agent: Agent,
    *,
    tasks: Sequence[Task],
    env_kwargs: Mapping[str, Any] | None = None,
    batch_size: int = 32,
    repeats: int = 1,
    seed: int = 0,
    out: Path | str | None = None,
    progress: bool = True,
    agent_name: str = "agent",
) -> Evaluation:
    """Plays every task of a panel exactly once per repeat.

    Task, repeat and seed decide an episode, whatever else is in progress: with an agent whose
    answers do not depend on the batch, the figures do not depend on ``batch_size``. An exception
    from an environment is retried once and then recorded as a failure, which is neither a
    success nor a loss; an exception from the agent ends the evaluation.

    Args:
        env_id: Registered id of the environment.
        agent: Chooses the actions.
        tasks: The panel, such as ``env.unwrapped.tasks.panel(200)``.
        env_kwargs: Keywords of ``gymnasium.make``: the environment's own, and
            ``max_episode_steps`` for another step limit.
        batch_size: Largest number of episodes in progress, and so of requests to the agent.
        repeats: Number of episodes per task, with different seeds.
        seed: Seed of the whole evaluation.
        out: Folder for ``evaluation.json`` and ``table.md``; None to write nothing.
        progress: Whether to show a progress bar with the running success, where standard
            error is a terminal.
        agent_name: Name of the agent in the results.

    Returns:
        Settings, episodes and the table.

    Raises:
        KeyError: If a task is not in the split that the environment was made with.
        TypeError: If the id belongs to something other than a text environment.
        ValueError: If the panel is empty or names a task twice, a number is out of range, or
            the agent returns another number of responses than requests.
    """
    if batch_size < 1 or repeats < 1:
        raise ValueError(
            f"batch_size and repeats must be at least 1, got {batch_size} and {repeats}"
        )
    if not tasks or len({task.task_id for task in tasks}) < len(tasks):
        raise ValueError(
            f"a panel holds at least one task and each once, got {len(tasks)} tasks with "
            f"{len({task.task_id for task in tasks})} different ids"
        )
    categories = env_class(env_id).categories
    env_kwargs = dict(env_kwargs or {})
    settings = {
        "env_id": env_id,
        "agent": agent_name,
        **_describe_env(env_id, env_kwargs, tasks),
        "num_tasks": len(tasks),
        "panel_hash": state_key(sorted([task.task_id, task.category] for task in tasks)),
        "repeats": repeats,
        "seed": seed,
        "batch_size": batch_size,
        "agentenvs_version": agentenvs.__version__,
    }
    jobs = [(task, repeat) for repeat in range(repeats) for task in tasks]
    runners = [EpisodeRunner(env_id, env_kwargs) for _ in range(min(batch_size, len(jobs)))]
    try:
        episodes = _play(runners, agent, jobs, seed, progress)
    finally:
        for runner in runners:
            runner.close()
    rows = category_table(episodes, categories)
    evaluation = Evaluation(settings, tuple(episodes), tuple(rows))
    if out is not None:
        evaluation.save(Path(out))
    return evaluation


def _describe_env(env_id: str, env_kwargs: dict[str, Any], tasks: Sequence[Task]) -> dict[str, Any]:
    """Returns the settings that only a built environment knows; checks that it has the tasks."""
    env = gymnasium.make(env_id, disable_env_checker=True, **env_kwargs)
    try:
        task_set = env.get_wrapper_attr("tasks")
        for task in tasks:
            task_set.find(task.task_id)
        return {
            "env_kwargs": env_kwargs,
            "split": task_set.split,
            "task_set_hash": task_set.content_hash,
            "max_episode_steps": env.spec.max_episode_steps if env.spec else None,
        }
    finally:
        env.close()


def _play(
    runners: list[EpisodeRunner],
    agent: Agent,
    jobs: list[tuple[Task, int]],
    seed: int,
    progress: bool,
) -> list[EpisodeRecord]:
    """Keeps every runner busy until all jobs are done; records come in the order of jobs."""
    records: dict[int, EpisodeRecord] = {}
    waiting = deque(enumerate(jobs))
    active: list[EpisodeRunner] = []
    idle = list(runners)
    with _progress_bar(progress) as bar:
        bar_id = bar.add_task("success -", total=len(jobs))
        while len(records) < len(jobs):
            while idle and waiting:
                index, (task, repeat) = waiting.popleft()
                runner = idle.pop()
                runner.begin(index, task, repeat, episode_seed(seed, task.task_id, repeat))
                active.append(runner)
            playing = [runner for runner in active if runner.record is None]
            if playing:
                responses = agent.act([runner.request() for runner in playing])
                if len(responses) != len(playing):
                    raise ValueError(
                        f"the agent must answer {len(playing)} requests, got {len(responses)}"
                    )
                for runner, response in zip(playing, responses, strict=True):
                    runner.step(response)
            for runner in active:
                if runner.record is not None:
                    records[runner.index] = runner.record
                    idle.append(runner)
            active = [runner for runner in active if runner.record is None]
            bar.update(bar_id, completed=len(records), description=_running_success(records))
    return [records[index] for index in range(len(jobs))]


def _running_success(records: dict[int, EpisodeRecord]) -> str:
    counted = [record.won for record in records.values() if not record.failure]
    return f"success {100 * sum(counted) / len(counted):.1f} %" if counted else "success -"


def _progress_bar(shown: bool) -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not (shown and console.is_terminal),
    )
