"""Agents: what chooses actions, one batch of independent episodes at a time."""

from agentenvs.agents.base import Agent, AgentRequest, AgentResponse, AgentUnavailableError
from agentenvs.agents.expert import ExpertAgent
from agentenvs.agents.loading import ENTRY_POINT_GROUP, load_agent
from agentenvs.agents.random import RandomAgent

__all__ = [
    "ENTRY_POINT_GROUP",
    "Agent",
    "AgentRequest",
    "AgentResponse",
    "AgentUnavailableError",
    "ExpertAgent",
    "RandomAgent",
    "load_agent",
]
