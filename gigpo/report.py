"""What a finished run shows: the table before and after, and the learning curve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from rich.console import Console

from agentenvs.evaluation import Evaluation, print_table, render_rich
from gigpo.config import Config
from gigpo.tracking import read_metrics

mpl.use("Agg")
import matplotlib.pyplot as plt

_BLUE, _ORANGE, _GREY, _GREEN = "#2f6fab", "#d9822b", "#6b7280", "#3c8d5a"
_TIMES = ("generate", "env", "prompt", "advantage", "update")


def print_summary(console: Console, config: Config, final: Evaluation) -> None:
    """Prints the tables before and after training and the cost of an iteration.

    Also writes the learning curve to ``<out>/learning_curve.png`` and the comparison to
    ``<out>/table.md``.

    Args:
        console: Where to print.
        config: The run's configuration.
        final: The evaluation of the trained policy.
    """
    out = Path(config.out)
    start = json.loads((out / "evaluation_start" / "evaluation.json").read_text())["table"]
    lines = _comparison(start, [row.to_json() for row in final.rows])
    (out / "table.md").write_text("\n".join(lines) + "\n")
    print_table(render_rich(final.rows, f"after {config.iterations} iterations"))
    console.print("success on the held-out panel, Wilson 95 % intervals:")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    records = [record for record in read_metrics(out) if "time/iteration_seconds" in record]
    if records:
        console.print(cost_line(records), markup=False, soft_wrap=True)
        plot_learning_curve(config, out / "learning_curve.png")
        console.print(f"learning curve: {out / 'learning_curve.png'}", soft_wrap=True)
    console.print(f"metrics, tables and checkpoints: {out}", soft_wrap=True)


def cost_line(records: Sequence[dict[str, Any]]) -> str:
    """Returns where the time of the recorded iterations went, weighted by time."""
    total = sum(record["time/iteration_seconds"] for record in records)
    shares = {
        name: sum(r[f"time/{name}_share"] * r["time/iteration_seconds"] for r in records) / total
        for name in _TIMES
    }
    text = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
    wasted = int(sum(record["rollout/wasted_generations"] for record in records))
    return (
        f"time per iteration {total / len(records):.2f} s: {text}; environment and advantages "
        f"together {shares['env'] + shares['advantage']:.1%}; generations spent on finished "
        f"members: {wasted}"
    )


def _comparison(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    """Returns a Markdown table of success per category before and after."""

    def cell(row: dict[str, Any]) -> str:
        if row["success"] is None:
            return "-"
        low, high = 100 * row["success_low"], 100 * row["success_high"]
        return f"{100 * row['success']:.1f} % [{low:.1f}, {high:.1f}]"

    later = {row["category"]: row for row in after}
    lines = ["| category | n | before | after |", "|---|---|---|---|"]
    for row in before:
        new = later[row["category"]]
        lines.append(f"| {row['category']} | {row['n']} | {cell(row)} | {cell(new)} |")
    return lines


def plot_learning_curve(config: Config, path: Path) -> None:
    """Draws success, return and step-group use over the iterations of a run.

    Args:
        config: The run's configuration; metrics are read from its ``out``.
        path: PNG file to write.
    """
    records = read_metrics(Path(config.out))
    train = [record for record in records if "rollout/success" in record]
    if not train:
        return
    evaluations = [record for record in records if "eval/success" in record]
    x = np.array([record["iteration"] for record in train])
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.2), width_ratios=(1.6, 1), constrained_layout=True
    )

    success = np.array([record["rollout/success"] for record in train])
    left.plot(x, 100 * success, color=_BLUE, alpha=0.25, linewidth=1)
    left.plot(x, 100 * _smooth(success), color=_BLUE, linewidth=2, label="training tasks (mean)")
    if evaluations:
        rows = [_all_row(record["eval/table"]) for record in evaluations]
        rates = np.array([row["success"] for row in rows])
        errors = np.array(
            [
                [row["success"] - row["success_low"] for row in rows],
                [row["success_high"] - row["success"] for row in rows],
            ]
        )
        left.errorbar(
            [record["iteration"] for record in evaluations],
            100 * rates,
            yerr=100 * np.clip(errors, 0, None),
            color=_ORANGE,
            marker="o",
            capsize=3,
            linewidth=2,
            label=f"held-out {config.eval_split} panel, n = {rows[-1]['n']} (95 % interval)",
        )
    left.set(xlabel="iteration", ylabel="success rate (%)", ylim=(0, 100))
    left.set_title(f"{config.env.split('/')[-1]}: {algorithm_name(config)}", loc="left")
    left.legend(frameon=False, loc="lower right")

    recurring = np.array([record["groups/recurring_share"] for record in train])
    right.plot(x, 100 * _smooth(recurring), color=_GREEN, linewidth=2)
    right.set(xlabel="iteration", ylabel="share of steps in recurring states (%)", ylim=(0, 100))
    right.yaxis.label.set_color(_GREEN)
    twin = right.twinx()
    lengths = np.array([record["rollout/episode_length"] for record in train])
    twin.plot(x, _smooth(lengths), color=_GREY, linewidth=2)
    twin.set_ylabel("steps per episode")
    twin.yaxis.label.set_color(_GREY)
    twin.set_ylim(bottom=0)
    right.set_title("anchor states and episode length", loc="left")
    for axes in (left, right, twin):
        axes.spines["top"].set_visible(False)
    for axes in (left, right):
        axes.grid(alpha=0.2)
    twin.spines["left"].set_visible(False)
    left.spines["right"].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def algorithm_name(config: Config) -> str:
    """Returns the usual name of the configured algorithm."""
    if config.omega:
        return f"GiGPO, omega {config.omega:g}, F_norm {config.norm}"
    return "RLOO" if config.baseline == "leave_one_out" and config.norm == "none" else "GRPO"


def _all_row(table: list[dict[str, Any]]) -> dict[str, Any]:
    return next(row for row in table if row["category"] == "All")


def _smooth(values: np.ndarray, window: int = 5) -> np.ndarray:
    """Centred moving mean with shorter windows at both ends, same length."""
    half = window // 2
    return np.array([values[max(0, i - half) : i + half + 1].mean() for i in range(len(values))])
