"""What :class:`agentenvs.alfworld.env.ALFWorldEnv` asks of an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Engine(Protocol):
    """Plays the games of ALFWorld (``game.tw-pddl``), one at a time.

    Everything an engine returns is a function of the game file and of the commands since
    ``reset``. Names are those that the agent reads, such as ``"apple 1"``.
    """

    def reset(self, game: Path) -> str:
        """Starts the game of that file and returns its introduction, banner included."""

    def step(self, command: str) -> str:
        """Carries out a command in the game's own dialect and returns the text it causes.

        A command that is not admissible changes nothing and returns ``"Nothing happens."``.
        """

    @property
    def admissible_commands(self) -> tuple[str, ...]:
        """The commands admitted now, sorted as strings."""

    @property
    def won(self) -> bool:
        """Whether the goal holds now; undoing the goal un-wins."""

    @property
    def walkthrough(self) -> tuple[str, ...] | None:
        """The winning commands that the game file records, None where it records none."""

    def facts(self) -> frozenset[str]:
        """Returns the facts that commands can change and that still matter.

        A fact matters if a precondition, the goal, a condition of the game's texts or the
        condition of an effect on such a fact reads its predicate. An example is
        ``"inreceptacle(apple 1, fridge 1)"``.
        """

    def remembered(self) -> frozenset[str]:
        """Returns the explicit negative facts behind future texts.

        ``look`` lists an object "next to" a receptacle only if it was once taken from there, so
        ``"not_inreceptacle(apple 1, shelf 1)"`` is something else than the lack of
        ``"inreceptacle(apple 1, shelf 1)"``.
        """

    def close(self) -> None:
        """Frees what the engine holds; a second call does nothing."""
