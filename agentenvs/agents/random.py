"""The agent that chooses blindly: the floor of every comparison."""

from __future__ import annotations

from collections.abc import Sequence

from agentenvs.agents.base import AgentRequest, AgentResponse, AgentUnavailableError
from agentenvs.state_key import state_key


class RandomAgent:
    """Chooses uniformly among the admissible actions.

    The choice is a function of ``(seed, task_id, step)`` and the list, so figures depend neither
    on the batch size nor on the order of episodes.
    """

    def act(self, requests: Sequence[AgentRequest]) -> list[AgentResponse]:
        """Returns one random admissible action per request.

        Raises:
            AgentUnavailableError: If a request has no admissible actions (an open language).
        """
        return [AgentResponse(_choose(request)) for request in requests]


def _choose(request: AgentRequest) -> str:
    actions = request.admissible_actions
    if not actions:
        raise AgentUnavailableError(
            f"the random agent needs admissible actions; {request.env_id} lists none at step "
            f"{request.step} of task {request.task_id!r}"
        )
    # A 128-bit digest modulo the list length is uniform up to a bias of 2**-100.
    number = int(state_key([request.seed, request.task_id, request.step]), 16)
    return actions[number % len(actions)]
