"""Evaluation on real environments: coverage, independence of batches, failures, tables."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import pytest
from rich.console import Console

from agentenvs.agents import AgentRequest, AgentResponse, ExpertAgent, RandomAgent
from agentenvs.core import Outcome
from agentenvs.evaluation import (
    CategoryRow,
    EpisodeRecord,
    category_table,
    episode_seed,
    evaluate,
    render_markdown,
    render_rich,
)
from agentenvs.sokoban.env import SokobanEnv
from agentenvs.statistics import wilson_interval
from agentenvs.tasks import Task

ENV_ID = "agentenvs/Sokoban-v0"
KWARGS: dict[str, Any] = {"split": "test", "categories": ["easy", "medium"]}


def panel(size: int) -> list[Task]:
    return SokobanEnv(**KWARGS).tasks.panel(size)


class Recorder:
    """Plays like the random agent and keeps what it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[AgentRequest]] = []

    def act(self, requests: Sequence[AgentRequest]) -> list[AgentResponse]:
        self.batches.append(list(requests))
        return RandomAgent().act(requests)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Half: centre 0.5, half-width 1.959964 sqrt(0.025 + 0.0096036) / 1.3841459 = 0.263406.
        (5, 10, 0.236594, 0.763406),
        # None of ten: 0 and z^2 / (n + z^2) = 3.841459 / 13.841459.
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        # (0.1 + 0.1920729 -+ 1.959964 sqrt(0.009 + 0.0096036)) / 1.3841459.
        (1, 10, 0.017876, 0.404150),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_interval(successes: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=2e-6)


def test_wilson_interval_at_another_level() -> None:
    # z = 1: (0.5 -+ sqrt(0.25 / 4 + 1 / 64) / 1.25 ... ) = (0.625 -+ 0.279508) / 1.25.
    assert wilson_interval(2, 4, z=1.0) == pytest.approx((0.276393, 0.723607), abs=1e-6)


@pytest.mark.parametrize("successes", [-1, 4])
def test_wilson_interval_rejects(successes: int) -> None:
    with pytest.raises(ValueError, match="between 0 and n = 3"):
        wilson_interval(successes, 3)


def record(category: str, **values: Any) -> EpisodeRecord:
    figures: dict[str, Any] = {
        "task_id": "t",
        "repeat": 0,
        "won": False,
        "score": 0.0,
        "episode_return": 0.0,
        "steps": 10,
        "invalid": 0,
        "unparsed": 0,
    }
    return EpisodeRecord(category=category, **{**figures, **values})


def test_category_table_weighs_by_episode_and_leaves_failures_out() -> None:
    episodes = [
        record("cool", won=True, score=1.0, episode_return=9.5, steps=5, invalid=1, unparsed=1),
        record("pick", won=True, score=1.0, episode_return=9.0, steps=10),
        record("pick", score=0.5, episode_return=-1.0, steps=30, invalid=9),
        record("pick", score=0.0, episode_return=1.0, steps=5, invalid=0),
        record("cool", failure="EOFError: gone"),
        record("look", failure="EOFError: gone"),
    ]
    rows = category_table(episodes, ("pick", "look", "heat", "cool"))
    assert [row.category for row in rows] == ["pick", "look", "cool", "All"]
    pick, look, cool, total = rows
    assert (pick.n, pick.successes, pick.failures) == (3, 1, 0)
    assert pick.success == pytest.approx(1 / 3)
    assert pick.mean_return == pytest.approx(3.0)
    assert pick.mean_steps == pytest.approx(15.0)
    assert pick.mean_score == pytest.approx(0.5)
    assert pick.invalid_rate == pytest.approx(9 / 45)
    assert (cool.n, cool.successes, cool.failures) == (1, 1, 1)
    assert cool.unparsed_rate == pytest.approx(0.2)
    assert (look.n, look.failures) == (0, 1)
    assert math.isnan(look.success)
    assert look.to_json()["success"] is None
    # Two of four episodes, not the mean of the categories' rates.
    assert (total.n, total.successes, total.failures) == (4, 2, 2)
    assert total.success == 0.5
    assert (total.success_low, total.success_high) == wilson_interval(2, 4)
    assert total.mean_return == pytest.approx(18.5 / 4)
    assert total.invalid_rate == pytest.approx(10 / 50)


def test_category_table_rejects_an_unknown_category() -> None:
    with pytest.raises(ValueError, match="got also"):
        category_table([record("cool")], ("pick",))


NAN = math.nan
NOTHING = CategoryRow("", 0, 0, NAN, 0.0, 1.0, NAN, NAN, NAN, NAN, NAN, 0)
ROWS = [
    CategoryRow("easy", 8, 2, 0.25, 0.0715, 0.5907, 1.5, 12.25, 0.3, 0.125, 0.0, 0),
    replace(NOTHING, category="hard", failures=1),
]


def test_render_markdown() -> None:
    assert render_markdown(ROWS) == (
        "| Category | n | Success | 95 % interval | Score | Return | Steps | Invalid | Unparsed "
        "| Failures |\n"
        "| :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n"
        "| easy | 8 | 25.0 % | 7.1 % - 59.1 % | 0.300 | 1.500 | 12.2 | 12.5 % | 0.0 % | 0 |\n"
        "| hard | 0 | - | - | - | - | - | - | - | 1 |\n"
    )


def test_render_rich_holds_every_cell() -> None:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(render_rich(ROWS, "A title"))
    text = capture.get()
    for cell in ("A title", "easy", "25.0 %", "7.1 % - 59.1 %", "1.500", "Failures"):
        assert cell in text


def test_expert_wins_everything() -> None:
    result = evaluate(ENV_ID, ExpertAgent(), tasks=panel(40), env_kwargs=KWARGS, progress=False)
    easy, medium, total = result.rows
    assert (easy.category, medium.category, total.category) == ("easy", "medium", "All")
    assert (easy.n, medium.n, total.n) == (20, 20, 40)
    assert easy.success == medium.success == total.success == 1.0
    assert total.invalid_rate == total.unparsed_rate == 0.0
    assert total.failures == 0
    # A solution of s steps with one box earns 11 - 0.1 s.
    assert total.mean_return == pytest.approx(11 - 0.1 * total.mean_steps)
    assert result.coverage == "40 of 40 tasks"


def test_figures_do_not_depend_on_the_batch_size() -> None:
    results = [
        evaluate(
            ENV_ID,
            RandomAgent(),
            tasks=panel(30),
            env_kwargs=KWARGS,
            batch_size=batch_size,
            repeats=2,
            progress=False,
        )
        for batch_size in (1, 7, 64)
    ]
    assert results[0].episodes == results[1].episodes == results[2].episodes
    assert results[0].rows == results[1].rows == results[2].rows
    # The agent is not trivial here: some episodes are won, some are lost.
    assert 0 < results[0].rows[-1].successes < 60


def test_every_task_once_per_repeat_with_its_own_seed() -> None:
    agent = Recorder()
    tasks = panel(10)
    result = evaluate(
        ENV_ID, agent, tasks=tasks, env_kwargs=KWARGS, batch_size=4, repeats=3, progress=False
    )
    assert max(len(batch) for batch in agent.batches) == 4
    first = [request for batch in agent.batches for request in batch if request.step == 0]
    assert Counter(request.task_id for request in first) == {task.task_id: 3 for task in tasks}
    assert len({request.seed for request in first}) == 30
    assert [(e.repeat, e.task_id) for e in result.episodes] == [
        (repeat, task.task_id) for repeat in range(3) for task in tasks
    ]
    assert result.coverage == "10 of 10 tasks, 3 times each"


def test_requests_hold_the_episode() -> None:
    agent = Recorder()
    (task,) = panel(1)
    result = evaluate(ENV_ID, agent, tasks=[task], env_kwargs=KWARGS, progress=False, seed=5)
    requests = [request for (request,) in agent.batches]
    assert len(requests) == result.episodes[0].steps
    env = gymnasium.make(ENV_ID, **KWARGS)
    observation, info = env.reset(seed=1, options={"task_id": task.task_id})
    for step, request in enumerate(requests):
        assert (request.env_id, request.task_id, request.step) == (ENV_ID, task.task_id, step)
        assert request.seed == episode_seed(5, task.task_id, 0)
        assert request.observation == observation
        assert request.goal == info["goal"]
        assert request.admissible_actions == info["admissible_actions"]
        assert len(request.history) == step
        if step:
            assert request.history[:-1] == requests[step - 1].history
            assert request.history[-1].observation == requests[step - 1].observation
            assert request.history[-1].action == RandomAgent().act([requests[step - 1]])[0].action
        action = RandomAgent().act([request])[0].action
        observation, *_, info = env.step(action)


def test_another_step_limit_and_invalid_actions() -> None:
    class Mute:
        def act(self, requests: Sequence[AgentRequest]) -> list[AgentResponse]:
            return [
                AgentResponse("", parsed=False) if request.step else AgentResponse("jump")
                for request in requests
            ]

    result = evaluate(
        ENV_ID,
        Mute(),
        tasks=panel(3),
        env_kwargs={**KWARGS, "max_episode_steps": 4},
        progress=False,
    )
    assert [(e.steps, e.invalid, e.unparsed, e.won) for e in result.episodes] == [
        (4, 4, 3, False)
    ] * 3
    assert result.rows[-1].invalid_rate == 1.0
    assert result.rows[-1].unparsed_rate == 0.75
    assert result.settings["max_episode_steps"] == 4


class FlakySokoban(SokobanEnv):
    """Sokoban that raises at the third action of chosen tasks, as often as told."""

    faults: ClassVar[dict[str, int]] = {}
    built: ClassVar[int] = 0
    closed: ClassVar[int] = 0

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        type(self).built += 1

    def _start(self, task: Task) -> None:
        super()._start(task)
        self._num_actions = 0

    def _act(self, action: str) -> Outcome:
        assert self.task is not None
        self._num_actions += 1
        task_id = self.task.task_id
        if self._num_actions == 3 and self.faults.get(task_id, 0):
            self.faults[task_id] -= 1
            raise ConnectionError("the engine is gone")
        return super()._act(action)

    def close(self) -> None:
        type(self).closed += 1
        super().close()


@pytest.fixture
def flaky_id() -> Iterator[str]:
    env_id = "test/FlakySokoban-v0"
    gymnasium.register(id=env_id, entry_point=FlakySokoban, max_episode_steps=15)
    FlakySokoban.faults.clear()
    FlakySokoban.built = FlakySokoban.closed = 0
    yield env_id
    del gymnasium.registry[env_id]


@pytest.mark.parametrize("batch_size", [1, 5])
def test_failures_are_retried_once_and_never_count_as_losses(
    flaky_id: str, batch_size: int, tmp_path: Path
) -> None:
    kwargs: dict[str, Any] = {"split": "test", "categories": ["medium"]}
    tasks = SokobanEnv(**kwargs).tasks.panel(6)
    once, twice = tasks[1].task_id, tasks[4].task_id
    FlakySokoban.faults.update({once: 1, twice: 2})
    result = evaluate(
        flaky_id,
        ExpertAgent(),
        tasks=tasks,
        env_kwargs=kwargs,
        batch_size=batch_size,
        out=tmp_path,
        progress=False,
    )
    healthy = evaluate(ENV_ID, ExpertAgent(), tasks=tasks, env_kwargs=kwargs, progress=False)
    assert FlakySokoban.faults == {once: 0, twice: 0}
    # The retried episode is as if nothing had happened.
    assert result.episodes[:4] == healthy.episodes[:4]
    assert result.episodes[5] == healthy.episodes[5]
    assert result.episodes[4].failure == "ConnectionError: the engine is gone"
    total = result.rows[-1]
    assert (total.n, total.successes, total.success, total.failures) == (5, 5, 1.0, 1)
    assert result.coverage == "5 of 6 tasks"
    assert FlakySokoban.built == FlakySokoban.closed
    saved = json.loads((tmp_path / "evaluation.json").read_text())
    assert saved["episodes"][4]["won"] is None
    assert saved["episodes"][4]["failure"] == "ConnectionError: the engine is gone"


def test_an_environment_that_always_fails_ends(flaky_id: str) -> None:
    tasks = SokobanEnv(split="test", categories=["medium"]).tasks.panel(3)
    FlakySokoban.faults.update({task.task_id: 100 for task in tasks})
    result = evaluate(
        flaky_id, ExpertAgent(), tasks=tasks, env_kwargs={"split": "test"}, progress=False
    )
    assert [row.n for row in result.rows] == [0, 0]
    assert result.rows[-1].failures == 3
    assert set(FlakySokoban.faults.values()) == {98}


def test_saved_files(tmp_path: Path) -> None:
    tasks = panel(6)
    result = evaluate(
        ENV_ID,
        RandomAgent(),
        tasks=tasks,
        env_kwargs=KWARGS,
        seed=3,
        out=tmp_path / "new" / "folder",
        progress=False,
        agent_name="random",
    )
    saved = json.loads((tmp_path / "new" / "folder" / "evaluation.json").read_text())
    assert saved["settings"] == result.settings
    assert saved["settings"]["env_kwargs"] == KWARGS
    assert saved["settings"]["seed"] == 3
    assert saved["settings"]["max_episode_steps"] == 15
    assert saved["settings"]["split"] == "test"
    assert saved["coverage"] == "6 of 6 tasks"
    assert [episode["task_id"] for episode in saved["episodes"]] == [t.task_id for t in tasks]
    assert saved["table"][-1]["n"] == 6
    assert set(saved["episodes"][0]) == {
        "task_id", "category", "repeat", "won", "score", "return", "steps", "invalid",
        "unparsed", "failure",
    }  # fmt: skip
    table = (tmp_path / "new" / "folder" / "table.md").read_text()
    assert table == (
        "random on agentenvs/Sokoban-v0: 6 of 6 tasks\n\n" + render_markdown(result.rows)
    )


def test_panel_hash_ignores_order_only() -> None:
    def digest(tasks: list[Task]) -> str:
        result = evaluate(
            ENV_ID,
            ExpertAgent(),
            tasks=tasks,
            env_kwargs={**KWARGS, "max_episode_steps": 1},
            progress=False,
        )
        return result.settings["panel_hash"]

    tasks = panel(4)
    assert digest(tasks) == digest(tasks[::-1])
    assert digest(tasks) != digest(tasks[:3])


def test_bad_arguments() -> None:
    tasks = panel(2)

    def run(tasks: list[Task], env_id: str = ENV_ID, **kwargs: Any) -> None:
        evaluate(env_id, RandomAgent(), tasks=tasks, env_kwargs=KWARGS, progress=False, **kwargs)

    with pytest.raises(ValueError, match="batch_size"):
        run(tasks, batch_size=0)
    with pytest.raises(ValueError, match="repeats"):
        run(tasks, repeats=0)
    with pytest.raises(ValueError, match="at least one task"):
        run([])
    with pytest.raises(ValueError, match="each once"):
        run([tasks[0], tasks[0]])
    with pytest.raises(KeyError, match="has no task 'nowhere'"):
        run([Task("nowhere", "easy")])
    with pytest.raises(TypeError, match="TextEnv"):
        run(tasks, env_id="CartPole-v1")


def test_an_agent_must_answer_every_request() -> None:
    class Lazy:
        def act(self, requests: Sequence[AgentRequest]) -> list[AgentResponse]:
            return []

    with pytest.raises(ValueError, match="must answer 2 requests, got 0"):
        evaluate(ENV_ID, Lazy(), tasks=panel(2), env_kwargs=KWARGS, progress=False)
