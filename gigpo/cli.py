"""Command line of the learner: ``gigpo train``, ``gigpo sft`` and ``gigpo eval``."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from gigpo.config import Config, ConfigError, load_config


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        argv: Arguments without the program's name; None for the process's.

    Returns:
        Exit status: 0, or 2 for bad input with a one-line message on standard error.
    """
    parser = argparse.ArgumentParser(
        prog="gigpo", description="Train and evaluate language agents with GiGPO."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("train", "train a policy; tables, metrics and checkpoints go to `out`"),
        ("sft", "clone an environment's expert; the model goes to `out`/model"),
        ("eval", "evaluate a model per category on the recipe's panel"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument(
            "recipe", type=Path, help="YAML file with fields of gigpo.config.Config"
        )
        command.add_argument("overrides", nargs="*", metavar="key=value", help="fields to override")
    arguments = parser.parse_args(argv)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    try:
        config = load_config(arguments.recipe, arguments.overrides)
        {"train": _train, "sft": _sft, "eval": _eval}[arguments.command](config)
    except (ConfigError, ValueError, KeyError, OSError, ModuleNotFoundError) as error:
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"gigpo: {message}", file=sys.stderr)
        return 2
    return 0


def _train(config: Config) -> None:
    from gigpo.report import print_summary
    from gigpo.trainer import Trainer

    console = Console()
    evaluation = Trainer(config, console).run()
    print_summary(console, config, evaluation)


def _sft(config: Config) -> None:
    from gigpo.build import build_policy
    from gigpo.rollout import make_prompt_builder
    from gigpo.sft import clone_expert, play_expert

    console = Console()
    steps = list(play_expert(config, config.sft_tasks))
    policy = build_policy(config, steps)
    loss = clone_expert(config, policy, make_prompt_builder(config, policy), steps)
    console.print(f"{len(steps)} expert steps, final loss {loss:.4f}, saved to {config.out}/model")


def _eval(config: Config) -> None:
    from agentenvs.evaluation import evaluate, print_table, render_rich
    from gigpo.agent import PolicyAgent
    from gigpo.build import build_policy
    from gigpo.rollout import env_arguments, make_prompt_builder
    from gigpo.trainer import evaluation_panel

    policy = build_policy(config)
    agent = PolicyAgent(
        policy,
        make_prompt_builder(config, policy),
        config.eval_temperature,
        config.max_response_tokens,
    )
    evaluation = evaluate(
        config.env,
        agent,
        tasks=evaluation_panel(config),
        env_kwargs=env_arguments(config, config.eval_split),
        batch_size=config.eval_batch_size,
        seed=config.seed,
        out=Path(config.out),
        agent_name=config.model,
    )
    print_table(render_rich(evaluation.rows, evaluation.title))


if __name__ == "__main__":
    sys.exit(main())
