"""Tables per task category, for evaluation and for validation during training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from agentenvs.evaluation.episodes import EpisodeRecord
from agentenvs.statistics import wilson_interval


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """Figures of one category. Failed episodes are in ``failures`` and in nothing else.

    Attributes:
        category: The category, or ``"All"``.
        n: Number of episodes without failure. With 0, the rates and means are NaN.
        successes: Number of episodes won.
        success: ``successes / n``.
        success_low: Lower bound of the Wilson 95 % interval of ``success``.
        success_high: Upper bound.
        mean_return: Mean undiscounted return per episode.
        mean_steps: Mean number of actions per episode.
        mean_score: Mean task score per episode, in [0, 1].
        invalid_rate: Share of steps whose action the environment did not admit.
        unparsed_rate: Share of steps in whose response no action was found.
        failures: Number of episodes lost to failures of the environment.
    """

    category: str
    n: int
    successes: int
    success: float
    success_low: float
    success_high: float
    mean_return: float
    mean_steps: float
    mean_score: float
    invalid_rate: float
    unparsed_rate: float
    failures: int

    def to_json(self) -> dict[str, Any]:
        """Returns the row as JSON values, with null for NaN."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }


def category_table(
    episodes: Sequence[EpisodeRecord], categories: Sequence[str]
) -> list[CategoryRow]:
    """Returns one row per category that occurs, in the given order, and a row ``"All"``.

    Every episode weighs the same, whatever its category or batch; rates per step divide all
    counted steps of the row.

    Args:
        episodes: The episodes.
        categories: All categories of the environment in the order of its tables.

    Raises:
        ValueError: If an episode has another category.
    """
    unknown = {episode.category for episode in episodes} - set(categories)
    if unknown:
        raise ValueError(f"expected categories {tuple(categories)}, got also {sorted(unknown)}")
    rows = []
    for category in categories:
        members = [episode for episode in episodes if episode.category == category]
        if members:
            rows.append(_row(category, members))
    return [*rows, _row("All", episodes)]


def _row(category: str, episodes: Sequence[EpisodeRecord]) -> CategoryRow:
    counted = [episode for episode in episodes if not episode.failure]
    n = len(counted)
    successes = sum(episode.won for episode in counted)
    steps = sum(episode.steps for episode in counted)
    low, high = wilson_interval(successes, n)
    return CategoryRow(
        category=category,
        n=n,
        successes=successes,
        success=_ratio(successes, n),
        success_low=low,
        success_high=high,
        mean_return=_ratio(math.fsum(episode.episode_return for episode in counted), n),
        mean_steps=_ratio(steps, n),
        mean_score=_ratio(math.fsum(episode.score for episode in counted), n),
        invalid_rate=_ratio(sum(episode.invalid for episode in counted), steps),
        unparsed_rate=_ratio(sum(episode.unparsed for episode in counted), steps),
        failures=len(episodes) - n,
    )


def _ratio(total: float, count: int) -> float:
    return total / count if count else math.nan


_HEADINGS = (
    "Category",
    "n",
    "Success",
    "95 % interval",
    "Score",
    "Return",
    "Steps",
    "Invalid",
    "Unparsed",
    "Failures",
)


def _cells(row: CategoryRow) -> tuple[str, ...]:
    return (
        row.category,
        str(row.n),
        _percent(row.success),
        f"{_percent(row.success_low)} - {_percent(row.success_high)}" if row.n else "-",
        _number(row.mean_score, 3),
        _number(row.mean_return, 3),
        _number(row.mean_steps, 1),
        _percent(row.invalid_rate),
        _percent(row.unparsed_rate),
        str(row.failures),
    )


def _percent(rate: float) -> str:
    return "-" if math.isnan(rate) else f"{100 * rate:.1f} %"


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def render_markdown(rows: Sequence[CategoryRow]) -> str:
    """Returns the table in Markdown, ending in a line feed."""
    alignment = [":--", *["--:"] * (len(_HEADINGS) - 1)]
    lines = [_HEADINGS, alignment, *(_cells(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def render_rich(rows: Sequence[CategoryRow], title: str) -> Table:
    """Returns the table for a rich console; :func:`print_table` prints it at full width."""
    table = Table(title=title, box=SIMPLE, title_justify="left")
    for position, heading in enumerate(_HEADINGS):
        table.add_column(heading, justify="right" if position else "left", no_wrap=True)
    for row in rows:
        if row.category == "All":
            table.add_section()
        table.add_row(*_cells(row))
    return table


def print_table(table: Table) -> None:
    """Prints a table on standard output without cutting it, however narrow the terminal."""
    console = Console()
    needed = console.measure(table, options=console.options.update(width=1000)).maximum
    console.width = max(console.width, needed)
    console.print(table)
