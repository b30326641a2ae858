"""ALFWorld: household tasks in text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from gymnasium.error import ResetNeeded

from agentenvs.alfworld.engine import Engine
from agentenvs.alfworld.prompt import TEMPLATE
from agentenvs.alfworld.tasks import CATEGORIES, SPLITS, ALFWorldTasks
from agentenvs.alfworld.textworld_engine import TextWorldEngine
from agentenvs.core import Outcome, TextEnv
from agentenvs.prompting.template import PromptTemplate
from agentenvs.tasks import Task

BACKENDS = ("textworld",)
WIN_REWARD = 10.0
_BANNER = "-= Welcome to TextWorld, ALFRED! =-"
_GOAL_PREFIX = "Your task is to: "


class ALFWorldEnv(TextEnv):
    """Household tasks in text: find, change and place objects in the rooms of ALFRED.

    ## Description

    ALFWorld (Shridhar et al., 2021, arXiv:2010.03768) turns the tasks of the ALFRED benchmark
    (Shridhar et al., 2020, arXiv:1912.01734) into text games. The agent walks through a room of
    some twenty receptacles (cabinets, a fridge, a desk) and a hundred objects, looks for what
    the task names, and has six kinds of tasks:

    | Category | Published name | Example of a goal |
    |---|---|---|
    | `pick_and_place_simple` | Pick | put some peppershaker on countertop. |
    | `look_at_obj_in_light` | Look | look at bowl under the desklamp. |
    | `pick_clean_then_place_in_recep` | Clean | put a clean cloth in drawer. |
    | `pick_heat_then_place_in_recep` | Heat | heat some egg and put it in diningtable. |
    | `pick_cool_then_place_in_recep` | Cool | cool some pan and put it in diningtable. |
    | `pick_two_obj_and_place` | Pick2 | put two soapbar in garbagecan. |

    Splits are those of the release: `train`, `valid_seen` (rooms known from training) and
    `valid_unseen` (new rooms). Games with movable receptacles or sliced objects, and games not
    marked as solvable, are skipped and counted in `env.unwrapped.tasks.skipped`.

    ## Action Space

    Any text. The commands that the game admits now are in `info["admissible_actions"]`, sorted
    as strings: `go to`, `open`, `close`, `take ... from`, `move ... to`, `clean ... with`,
    `heat ... with`, `cool ... with`, `slice ... with`, `use`, `examine`, `look`, `inventory`,
    `help`. They match exactly, letter case included; blanks around them are ignored.

    Games made since the data release 0.4 say `move X to Y`, older ones `put X in/on Y`. Both
    spellings are accepted in every game. Canonical is the game's own: it is the one that
    `admissible_actions` and `expert_action` show.

    Any other text is answered with "Nothing happens.", costs a step and has
    `info["action_valid"] = False`.

    ## Observation Space

    The text of the original engine, verbatim. The first observation describes the room and ends
    with the task; the engine's banner line is left out.

    ## Starting State

    The agent stands in the middle of the room with empty hands. A task always starts the same,
    whatever the seed; the seed picks the task unless `options={"task_id": ...}` names it.

    ## Rewards

    10 for the step that reaches the goal, 0 for any other.

    ## Episode End

    Terminates when the goal holds. `gymnasium.make` truncates after 50 steps.

    ## Information

    As :class:`agentenvs.core.TextEnv` describes. Here:

    - `won`: the goal holds now. `score` is 1.0 if so, else 0.0.
    - `goal`: the sentence after "Your task is to: " in the first observation.
    - `state_key`: digest of :meth:`facts` and of which objects were taken out of receptacles
      that share their place with another one, because `look` tells that. What was looked at or
      examined before has no influence on the future and none on the key.
    - `category`: one of the six above.

    ## Arguments

    - `split`: "train", "valid_seen" or "valid_unseen".
    - `data`: folder that holds `json_2.1.1` of an ALFWorld release, or that folder itself. None
      reads the environment variable `ALFWORLD_DATA`. It is only read.
    - `backend`: "textworld", the original engine, from `pip install "agentenvs[alfworld]"`. A step
      takes about 0.1 s. It serves one thread at a time: use processes for speed.
    - `categories`: the categories to draw tasks from; None for all six.
    - `render_mode`: None or "ansi".

    `expert_action` plays the walkthrough that the game file records. The train split records
    none in many releases; then it raises RuntimeError.

    ## Version History

    - v0: first version.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["ansi"],
        "render_fps": 1,
    }
    splits: ClassVar[tuple[str, ...]] = SPLITS
    categories: ClassVar[tuple[str, ...]] = CATEGORIES
    requires: ClassVar[str] = 'ALFWorld data (ALFWORLD_DATA) and pip install "agentenvs[alfworld]"'
    prompt_template: ClassVar[PromptTemplate] = TEMPLATE

    tasks: ALFWorldTasks

    def __init__(
        self,
        split: str = "train",
        data: str | os.PathLike[str] | None = None,
        backend: str = "textworld",
        categories: Sequence[str] | None = None,
        render_mode: str | None = None,
    ) -> None:
        if backend not in BACKENDS:
            raise ValueError(f"backend must be one of {BACKENDS}, got {backend!r}")
        super().__init__(ALFWorldTasks(split, data, categories), render_mode)
        self._engine: Engine = TextWorldEngine()
        self._text = ""
        self._task_sentence = ""
        # Number of walkthrough commands done; None once the episode has left the walkthrough.
        self._progress: int | None = 0

    def facts(self) -> frozenset[str]:
        """Returns the facts that commands can change and that still matter.

        Returns:
            Facts such as ``"holds(agent1, apple 1)"``.

        Raises:
            ResetNeeded: If no episode was started.
        """
        if self.task is None:
            raise ResetNeeded("there are no facts before reset()")
        return self._engine.facts()

    def expert_action(self) -> str:
        """Returns the next command of the walkthrough that the game file records.

        Raises:
            RuntimeError: If the game records no walkthrough, or the episode is not on it: the
                expert follows it from the start, and bears only with commands that change
                nothing in between.
            ResetNeeded: If no episode was started.
        """
        if self.task is None:
            raise ResetNeeded("the expert needs a running episode: call reset() first")
        walkthrough = self._engine.walkthrough
        if walkthrough is None:
            raise RuntimeError(
                f"the game of task {self.task.task_id!r} records no walkthrough, so there is no "
                "expert for it"
            )
        if self._progress is None:
            raise RuntimeError(
                "the expert only follows the recorded walkthrough from the start, and this "
                "episode has left it"
            )
        if self._progress == len(walkthrough):
            raise RuntimeError("the recorded walkthrough is at its end")
        return self._in_dialect(walkthrough[self._progress])

    def close(self) -> None:
        """Frees the engine; a second call does nothing."""
        self._engine.close()
        self._ended = True

    def _start(self, task: Task) -> None:
        text = self._engine.reset(self.tasks.game_file(task))
        self._text = text.removeprefix(_BANNER).lstrip("\n")
        self._task_sentence = self._text.rpartition(_GOAL_PREFIX)[2].strip()
        self._progress = 0

    def _act(self, action: str) -> Outcome:
        command = self._in_dialect(action.strip())
        valid = command in self._engine.admissible_commands
        expected = self._next_of_walkthrough()
        before = self._state()
        self._text = self._engine.step(command)
        if expected is not None and command == expected:
            assert self._progress is not None
            self._progress += 1
        elif self._state() != before:
            self._progress = None
        won = self._engine.won
        return Outcome(WIN_REWARD if won else 0.0, terminated=won, action_valid=valid)

    def _next_of_walkthrough(self) -> str | None:
        walkthrough = self._engine.walkthrough
        if walkthrough is None or self._progress is None or self._progress == len(walkthrough):
            return None
        return self._in_dialect(walkthrough[self._progress])

    def _in_dialect(self, command: str) -> str:
        """Returns the command in the game's spelling of "put down"."""
        if command in self._engine.admissible_commands:
            return command
        for verb, preposition, spelling in (
            ("put ", " in/on ", "move {} to {}"),
            ("move ", " to ", "put {} in/on {}"),
        ):
            thing, found, place = command.removeprefix(verb).partition(preposition)
            other = spelling.format(thing, place)
            if command.startswith(verb) and found and other in self._engine.admissible_commands:
                return other
        return command

    def _observation(self) -> str:
        return self._text

    def _state(self) -> Any:
        return [self._engine.facts(), self._engine.remembered()]

    def _admissible_actions(self) -> tuple[str, ...]:
        return self._engine.admissible_commands

    def _goal(self) -> str:
        return self._task_sentence

    def _won(self) -> bool:
        return self._engine.won
