"""The environment's own expert as an agent: the ceiling of every comparison."""

from __future__ import annotations

from collections.abc import Sequence

from agentenvs.agents.base import AgentRequest, AgentResponse, AgentUnavailableError


class ExpertAgent:
    """Plays what the environment's expert says.

    Where the expert loses its way within an episode, the response is an empty action with
    ``parsed`` False and the expert's message as ``text``. An expert that knows no way from the
    start does not exist for that task: a success rate of 0 would say otherwise, so it raises.
    """

    def act(self, requests: Sequence[AgentRequest]) -> list[AgentResponse]:
        """Returns the expert's action per request.

        Raises:
            AgentUnavailableError: If a request offers no access to the expert, or the expert
                knows no way to the goal from the start of an episode.
        """
        return [_ask(request) for request in requests]


def _ask(request: AgentRequest) -> AgentResponse:
    if request.expert_action is None:
        raise AgentUnavailableError(
            f"the expert agent needs requests with expert_action, got None for {request.env_id}"
        )
    try:
        return AgentResponse(request.expert_action())
    except RuntimeError as error:
        if request.step == 0:
            raise AgentUnavailableError(
                f"{request.env_id} has no expert for task {request.task_id!r}: {error}"
            ) from error
        return AgentResponse("", text=str(error), parsed=False)
