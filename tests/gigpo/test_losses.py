from __future__ import annotations

import math

import pytest
import torch

from gigpo.losses import TokenLoss, token_loss


def loss_of(ratio: float, advantage: float, reference_gap: float | None = None) -> TokenLoss:
    logprob = torch.tensor([[-1.0]])
    return token_loss(
        logprob,
        logprob - math.log(ratio),
        torch.tensor([advantage]),
        None if reference_gap is None else logprob + reference_gap,
        clip_low=0.2,
        clip_high=0.28,
        dual_clip=3.0,
    )


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected", "clipped"),
    [
        (1.0, 2.0, -2.0, 0.0),
        (1.2, 2.0, -2.4, 0.0),  # below 1 + clip_high = 1.28
        (1.5, 2.0, -2.56, 1.0),  # clipped to 1.28
        (0.5, 2.0, -1.0, 0.0),  # the pessimistic bound keeps the unclipped term
        (0.5, -2.0, 1.6, 1.0),  # clipped to 0.8
        (1.5, -2.0, 3.0, 0.0),
        (4.0, -2.0, 6.0, 1.0),  # dual clip: 4 * 2 = 8 is bounded by 3 * 2
        (0.9, 0.0, 0.0, 0.0),
    ],
)
def test_policy_term_by_hand(
    ratio: float, advantage: float, expected: float, clipped: float
) -> None:
    loss = loss_of(ratio, advantage)
    assert loss.policy.item() == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert loss.clipped.item() == clipped
    assert loss.ratio.item() == pytest.approx(ratio, rel=1e-5)


@pytest.mark.parametrize("gap", [-0.7, 0.0, 0.4])
def test_k3_estimator_by_hand(gap: float) -> None:
    # exp(q - p) - (q - p) - 1 with q - p = gap
    assert loss_of(1.0, 1.0, gap).kl.item() == pytest.approx(math.exp(gap) - gap - 1, abs=1e-6)


def test_k3_estimates_the_divergence_without_bias() -> None:
    policy = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    reference = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    loss = token_loss(
        policy.log()[None],
        policy.log()[None],
        torch.zeros(1, dtype=torch.float64),
        reference.log()[None],
        clip_low=0.2,
        clip_high=0.2,
        dual_clip=3.0,
    )
    exact = float((policy * (policy / reference).log()).sum())
    assert float((policy * loss.kl[0]).sum()) == pytest.approx(exact, abs=1e-12)


def test_gradient_at_ratio_one_is_the_policy_gradient() -> None:
    logprobs = torch.tensor([[-1.0, -2.0], [-0.5, -3.0]], requires_grad=True)
    advantages = torch.tensor([1.5, -0.5])
    loss = token_loss(
        logprobs, logprobs.detach(), advantages, None, clip_low=0.2, clip_high=0.2, dual_clip=3.0
    )
    loss.policy.sum().backward()
    assert logprobs.grad is not None
    assert torch.allclose(logprobs.grad, -advantages[:, None].expand(2, 2))


def test_no_gradient_where_clipped() -> None:
    logprobs = torch.tensor([[0.0]], requires_grad=True)
    loss = token_loss(
        logprobs,
        torch.tensor([[-1.0]]),  # ratio e
        torch.tensor([1.0]),
        None,
        clip_low=0.2,
        clip_high=0.2,
        dual_clip=3.0,
    )
    loss.policy.sum().backward()
    assert logprobs.grad is not None
    assert logprobs.grad.item() == 0.0
