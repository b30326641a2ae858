"""Look-ups by environment id."""

from __future__ import annotations

import importlib

import gymnasium
from gymnasium.envs.registration import load_env_creator

from agentenvs.core import TextEnv


def env_class(env_id: str) -> type[TextEnv]:
    """Returns the class behind an environment id without creating an environment.

    Args:
        env_id: A registered id, or ``"module:id"`` where importing the module registers the id.

    Returns:
        The class, with its ``splits``, ``categories``, ``requires`` and ``prompt_template``.

    Raises:
        gymnasium.error.Error: If no such id is registered.
        TypeError: If the id belongs to something else than a :class:`TextEnv` subclass.
    """
    module, _, name = env_id.rpartition(":")
    if module:
        importlib.import_module(module)
    entry_point = gymnasium.spec(name).entry_point
    creator = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    if not (isinstance(creator, type) and issubclass(creator, TextEnv)):
        raise TypeError(f"expected {env_id!r} to name a TextEnv subclass, it names {creator!r}")
    return creator
