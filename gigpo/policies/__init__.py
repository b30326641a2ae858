"""Policies: language models that generate responses and score them."""

from gigpo.policies.huggingface import HFPolicy, Response

__all__ = ["HFPolicy", "Response"]
