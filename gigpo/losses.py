"""Token losses of the policy update, Eq. 9 of the GiGPO paper.

Notation: B step rows, R response positions. All tensors are (B, R) unless said otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class TokenLoss:
    """Per-token terms of the loss and what is logged about them, each (B, R).

    Attributes:
        policy: Clipped policy-gradient loss.
        kl: k3 estimate of KL(policy || reference), non-negative.
        ratio: Importance ratio pi / pi_old.
        clipped: 1.0 where clipping decided the loss.
    """

    policy: torch.Tensor
    kl: torch.Tensor
    ratio: torch.Tensor
    clipped: torch.Tensor


def token_loss(
    logprobs: torch.Tensor,
    old_logprobs: torch.Tensor,
    advantages: torch.Tensor,
    reference_logprobs: torch.Tensor | None,
    *,
    clip_low: float,
    clip_high: float,
    dual_clip: float,
) -> TokenLoss:
    """Computes the terms of Eq. 9 for each token.

    The policy term is ``-min(r A, clip(r, 1 - clip_low, 1 + clip_high) A)``. For negative
    advantages it is bounded by ``-dual_clip * A`` (dual-clip PPO, Ye et al. 2020), since a ratio
    without an upper bound would otherwise dominate the batch. The KL term is Schulman's k3
    estimator ``exp(q - p) - (q - p) - 1`` with p the policy's and q the reference's
    log-probability.

    Args:
        logprobs: Log-probabilities of the sampled tokens, with gradient.
        old_logprobs: The same under the policy that sampled them.
        advantages: (B,) one advantage per step row, shared by its tokens.
        reference_logprobs: The same under the reference model; None for no KL term.
        clip_low: Lower clipping range.
        clip_high: Upper clipping range.
        dual_clip: Bound c > 1.

    Returns:
        The terms, not yet masked or aggregated.
    """
    row_advantages = advantages[:, None]
    ratio = (logprobs - old_logprobs).exp()
    unclipped = -row_advantages * ratio
    bounded = -row_advantages * ratio.clamp(1 - clip_low, 1 + clip_high)
    policy = torch.maximum(unclipped, bounded)
    ceiling = -row_advantages * dual_clip
    over = (row_advantages < 0) & (policy > ceiling)
    clipped = (bounded > unclipped) | over
    policy = torch.where(over, ceiling.expand_as(policy), policy)
    if reference_logprobs is None:
        kl = torch.zeros_like(logprobs)
    else:
        difference = reference_logprobs - logprobs
        kl = difference.exp() - difference - 1
    return TokenLoss(policy, kl, ratio, clipped.float())
