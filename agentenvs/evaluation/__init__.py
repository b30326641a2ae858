"""Evaluation: fixed panels, every task exactly once per repeat, tables per task category."""

from agentenvs.evaluation.episodes import EpisodeRecord, episode_seed
from agentenvs.evaluation.run import Evaluation, evaluate
from agentenvs.evaluation.table import (
    CategoryRow,
    category_table,
    print_table,
    render_markdown,
    render_rich,
)

__all__ = [
    "CategoryRow",
    "EpisodeRecord",
    "Evaluation",
    "category_table",
    "episode_seed",
    "evaluate",
    "print_table",
    "render_markdown",
    "render_rich",
]
