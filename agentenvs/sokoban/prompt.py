"""The fixed texts of the Sokoban prompt."""

from __future__ import annotations

from agentenvs.prompting.template import PromptTemplate

TEMPLATE = PromptTemplate(
    role=(
        "You play Sokoban: you walk on a grid and push boxes until every box stands on a target."
    ),
    rules="""\
The grid is shown one row per line, from top to bottom, with these symbols, or as the row and \
column of each thing, counted from 0 at the outer wall:
# wall
_ empty floor
O target without a box
X box beside the targets
√ box on a target
P you
S you, standing on a target
An action moves you one cell: up, down, left or right.
If a box is in that cell, you push it one cell further in the same direction. This works only \
if the cell behind the box is free: a wall or a second box blocks it, and then nothing moves.
You can push boxes but never pull them, so a box in a corner that is no target is lost.""",
    constant_goal=True,
)
