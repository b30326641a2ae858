"""Groups of environments that share a task and a seed, stepped in one or many processes."""

from agentenvs.vector.group import GroupVectorEnv
from agentenvs.vector.host import MemberStep
from agentenvs.vector.starts import GroupMismatchError

__all__ = ["GroupMismatchError", "GroupVectorEnv", "MemberStep"]
