"""The policy update on one batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gigpo.batch import Batch
from gigpo.config import Config
from gigpo.losses import token_loss
from gigpo.policies import HFPolicy
from gigpo.rollout import STREAM_SHUFFLE, stream


class Updater:
    """Minimises the clipped token loss of Eq. 9 with AdamW.

    Args:
        policy: Trained in place.
        reference: The frozen initial policy for the KL term; None for no such term.
        config: The loss and optimizer settings.

    Attributes:
        optimizer: AdamW over the policy's parameters.
        global_step: Number of optimizer steps so far.
    """

    def __init__(self, policy: HFPolicy, reference: HFPolicy | None, config: Config) -> None:
        self.policy = policy
        self.reference = reference
        self.config = config
        self.optimizer = torch.optim.AdamW(
            policy.model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.global_step = 0

    def update(self, batch: Batch, advantages: np.ndarray, iteration: int) -> dict[str, float]:
        """Makes ``ppo_epochs`` passes over the rows of a batch.

        Every token of a mini-batch has the same weight, however the mini-batch is cut into
        micro-batches (token-mean aggregation).

        Args:
            batch: The rollout.
            advantages: (rows,) one advantage per row.
            iteration: Decides the order of rows.

        Returns:
            Metrics of the update, weighted by token.

        Raises:
            FloatingPointError: If a gradient is not finite; the weights are left as they were.
        """
        rows = np.arange(len(batch))
        if len(rows) == 0:
            return {"update/rows": 0.0}
        sampler = {row: torch.from_numpy(batch.logprobs[row]) for row in rows.tolist()}
        old = sampler
        metrics: dict[str, float] = {"update/rows": float(len(rows))}
        if self.config.old_logprobs == "recomputed":
            old = self._logprobs(self.policy, batch, rows)
            gap = max(float((old[row] - sampler[row]).abs().max()) for row in sampler)
            metrics["update/sampler_logprob_gap"] = gap
        reference = None
        if self.reference is not None:
            reference = self._logprobs(self.reference, batch, rows)

        self.policy.model.train()
        sums = _Sums()
        grad_norms: list[float] = []
        for epoch in range(self.config.ppo_epochs):
            order = stream(self.config.seed, STREAM_SHUFFLE, iteration, epoch).permutation(rows)
            # Even shares: AdamW would give a small remainder the weight of a full mini-batch.
            for mini in np.array_split(order, -(-len(order) // self.config.mini_batch_size)):
                grad_norm = self._optimizer_step(mini, batch, advantages, old, reference, sums)
                if not grad_norms:
                    # Nothing has moved yet, so every ratio should be 1.
                    metrics["update/first_ratio_deviation"] = sums.ratio_deviation
                grad_norms.append(grad_norm)
        self.policy.model.eval()
        metrics.update(sums.means())
        metrics["update/grad_norm"] = float(np.mean(grad_norms))
        metrics["update/learning_rate"] = self.optimizer.param_groups[0]["lr"]
        metrics["update/global_step"] = float(self.global_step)
        if self.reference is not None:
            metrics["update/parameter_change"] = self._parameter_change(self.reference)
        return metrics

    def _optimizer_step(
        self,
        mini: np.ndarray,
        batch: Batch,
        advantages: np.ndarray,
        old: dict[int, torch.Tensor],
        reference: dict[int, torch.Tensor] | None,
        sums: _Sums,
    ) -> float:
        """Accumulates the mini-batch's gradient, clips it and steps; returns its norm."""
        config = self.config
        num_tokens = sum(len(batch.responses[row]) for row in mini)
        for micro in _micro_batches(mini, batch, config.micro_batch_size):
            scores = self.policy.score(
                [batch.prompts[row] for row in micro],
                [batch.responses[row] for row in micro],
                config.temperature,
                entropy="on" if config.entropy_coef else "detached",
            )
            width = scores.mask.shape[1]
            device = scores.mask.device
            loss = token_loss(
                scores.logprobs,
                _stack(old, micro, width, device),
                torch.as_tensor(advantages[micro], dtype=torch.float32, device=device),
                None if reference is None else _stack(reference, micro, width, device),
                clip_low=config.clip_low,
                clip_high=config.clip_high,
                dual_clip=config.dual_clip,
            )
            per_token = (
                loss.policy + config.kl_coef * loss.kl - config.entropy_coef * scores.entropy
            )
            ((per_token * scores.mask).sum() / num_tokens).backward()
            sums.add(
                scores.mask,
                policy_loss=loss.policy,
                kl=loss.kl,
                entropy=scores.entropy,
                clip_fraction=loss.clipped,
                ratio=loss.ratio,
            )
        grad_norm = float(
            torch.nn.utils.clip_grad_norm_(self.policy.model.parameters(), config.max_grad_norm)
        )
        if not np.isfinite(grad_norm):
            self.optimizer.zero_grad()
            raise FloatingPointError(
                f"the gradient norm is {grad_norm} at optimizer step {self.global_step}; "
                "the weights were left unchanged"
            )
        warmup = min(1.0, (self.global_step + 1) / max(1, config.warmup_steps))
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate * warmup
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.global_step += 1
        return grad_norm

    @torch.no_grad()
    def _logprobs(
        self, policy: HFPolicy, batch: Batch, rows: np.ndarray
    ) -> dict[int, torch.Tensor]:
        """Scores the responses of the rows without gradients; one tensor per row, on CPU."""
        policy.model.eval()
        result: dict[int, torch.Tensor] = {}
        for micro in _micro_batches(rows, batch, self.config.micro_batch_size):
            scores = policy.score(
                [batch.prompts[row] for row in micro],
                [batch.responses[row] for row in micro],
                self.config.temperature,
            )
            for index, row in enumerate(micro):
                result[row] = scores.logprobs[index, : len(batch.responses[row])].cpu()
        return result

    def _parameter_change(self, reference: HFPolicy) -> float:
        """Returns the largest change of any parameter since the start of the run."""
        pairs = zip(self.policy.model.parameters(), reference.model.parameters(), strict=True)
        return max(float((new.detach() - old).abs().max()) for new, old in pairs)


class _Sums:
    """Token-weighted means over micro-batches."""

    def __init__(self) -> None:
        self.tokens = 0.0
        self.totals: dict[str, float] = {}
        self.ratio_deviation = 0.0

    def add(self, mask: torch.Tensor, **values: torch.Tensor) -> None:
        self.tokens += float(mask.sum())
        for name, value in values.items():
            total = float((value.detach() * mask).sum())
            self.totals[name] = self.totals.get(name, 0.0) + total
        deviation = float(((values["ratio"].detach() - 1) * mask).abs().max())
        self.ratio_deviation = max(self.ratio_deviation, deviation)

    def means(self) -> dict[str, float]:
        return {f"update/{name}": total / self.tokens for name, total in self.totals.items()}


def _micro_batches(rows: np.ndarray, batch: Batch, size: int) -> list[list[int]]:
    """Cuts rows into micro-batches of ``size`` distinct sequences of similar length.

    Similar lengths leave little padding. Rows with equal prompt and response, common where small
    models act in few states, share a micro-batch and are computed once there.
    """

    def sequence(row: int) -> tuple[int, list[int], list[int]]:
        prompt, response = batch.prompts[row], batch.responses[row]
        return len(prompt) + len(response), prompt, response

    micro_batches: list[list[int]] = []
    distinct = 0
    previous = None
    for row in sorted(rows.tolist(), key=lambda row: (sequence(row), row)):
        current = sequence(row)
        if current != previous:
            if distinct % size == 0:
                micro_batches.append([])
            distinct += 1
        micro_batches[-1].append(row)
        previous = current
    return micro_batches


def _stack(
    columns: dict[int, torch.Tensor], rows: list[int], width: int, device: Any
) -> torch.Tensor:
    """Right-pads one tensor per row with 0 to (len(rows), width)."""
    result = torch.zeros(len(rows), width)
    for index, row in enumerate(rows):
        result[index, : len(columns[row])] = columns[row]
    return result.to(device)
