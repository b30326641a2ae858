from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from gigpo.policies import HFPolicy
from gigpo.policies.huggingface import _sample

GRIDS = ["# # #\n# P #\n# # #", "# # # #\n# P X #", "#"]


def encode(policy: HFPolicy, text: str) -> list[int]:
    return policy.encode([{"role": "user", "content": text}], "<action>")


def uniforms(rows: int, tokens: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((rows, tokens))


def test_a_response_does_not_depend_on_its_batch(policy: HFPolicy) -> None:
    prompts = [encode(policy, GRIDS[i % 3] * (1 + i % 2)) for i in range(9)]
    draws = uniforms(9)
    together = policy.generate(prompts, draws, 1.0)
    policy.batch_size = 2
    in_pairs = policy.generate(prompts, draws, 1.0)
    alone = [policy.generate([p], draws[i : i + 1], 1.0)[0] for i, p in enumerate(prompts)]
    for one, two, three in zip(together, in_pairs, alone, strict=True):
        assert one.token_ids == two.token_ids == three.token_ids
        np.testing.assert_allclose(one.logprobs, three.logprobs, atol=1e-4)


def test_equal_prompts_are_read_once_and_part_at_their_own_numbers(policy: HFPolicy) -> None:
    prompts = [encode(policy, GRIDS[i]) for i in (0, 1, 0, 0, 2, 1)]
    draws = uniforms(6, seed=5)
    together = policy.generate(prompts, draws, 2.0)
    widths: list[int] = []
    policy.model.register_forward_pre_hook(
        lambda _, __, kwargs: widths.append(kwargs["input_ids"].shape[0]), with_kwargs=True
    )
    again = policy.generate(prompts, draws, 2.0)
    assert widths[0] == 3
    assert len(widths) == 1 or widths[1] > 3
    for index, (one, two) in enumerate(zip(together, again, strict=True)):
        alone = policy.generate([prompts[index]], draws[index : index + 1], 2.0)[0]
        assert one.token_ids == two.token_ids == alone.token_ids
        np.testing.assert_allclose(one.logprobs, alone.logprobs, atol=1e-4)
    assert together[0].token_ids != together[2].token_ids or (
        together[0].token_ids != together[3].token_ids
    )


def test_equal_rows_are_scored_once_with_the_same_scores_and_gradients(policy: HFPolicy) -> None:
    prompts = [encode(policy, GRIDS[i]) for i in (0, 0, 1, 0)]
    responses = [[7, 8], [7, 8], [7, 8], [9]]
    widths: list[int] = []
    policy.model.register_forward_pre_hook(
        lambda _, __, kwargs: widths.append(kwargs["input_ids"].shape[0]), with_kwargs=True
    )
    together = policy.score(prompts, responses, 1.0).logprobs
    (together * torch.tensor([1.0, 2.0, 3.0, 4.0])[:, None]).sum().backward()
    assert widths == [3]
    gradient = policy.model.get_input_embeddings().weight.grad.clone()
    policy.model.zero_grad()
    for row, weight in enumerate([1.0, 2.0, 3.0, 4.0]):
        alone = policy.score(prompts[row : row + 1], responses[row : row + 1], 1.0).logprobs
        count = len(responses[row])
        assert torch.allclose(alone[0], together[row, :count], atol=1e-5)
        (weight * alone).sum().backward()
    assert torch.allclose(policy.model.get_input_embeddings().weight.grad, gradient, atol=1e-4)


def test_sampler_and_scorer_agree_whatever_the_padding(policy: HFPolicy) -> None:
    prompts = [encode(policy, grid) for grid in GRIDS]
    responses = policy.generate(prompts, uniforms(3, seed=3), 0.7)
    with torch.no_grad():
        scores = policy.score(prompts, [r.token_ids for r in responses], 0.7, entropy="detached")
    for row, response in enumerate(responses):
        count = len(response.token_ids)
        np.testing.assert_allclose(scores.logprobs[row, :count], response.logprobs, atol=1e-4)
        assert float(scores.mask[row].sum()) == count
        assert (scores.logprobs[row, count:] == 0).all()
        assert (scores.entropy[row, :count] > 0).all()


def test_scores_equal_an_unpadded_forward_pass(policy: HFPolicy) -> None:
    prompts = [encode(policy, GRIDS[0]), encode(policy, GRIDS[2])]
    responses = [policy.encode_response("up</action>"), [7, 8, 9]]
    with torch.no_grad():
        scores = policy.score(prompts, responses, 1.0)
        for row in range(2):
            ids = torch.tensor([prompts[row] + responses[row]])
            logits = policy.model(input_ids=ids).logits[0].float()
            expected = F.log_softmax(logits, -1)[len(prompts[row]) - 1 : -1]
            expected = expected.gather(1, torch.tensor(responses[row])[:, None])[:, 0]
            np.testing.assert_allclose(scores.logprobs[row, : len(expected)], expected, atol=1e-4)


def test_greedy_equals_the_library_s_own_generation(policy: HFPolicy) -> None:
    prompt = encode(policy, GRIDS[1])
    ours = policy.generate([prompt], uniforms(1, 5), 0.0)[0]
    with torch.no_grad():
        theirs = policy.model.generate(
            torch.tensor([prompt]),
            max_new_tokens=5,
            do_sample=False,
            eos_token_id=policy.stop_ids,
            pad_token_id=policy.pad_id,
        )[0, len(prompt) :].tolist()
    assert ours.token_ids == theirs


def test_generation_ends_at_a_stop_token_or_is_marked_truncated(policy: HFPolicy) -> None:
    prompt = encode(policy, GRIDS[0])
    for response in policy.generate([prompt] * 20, uniforms(20, 4, seed=1), 3.0):
        *body, last = response.token_ids
        assert not set(body) & set(policy.stop_ids)
        assert response.truncated == (last not in policy.stop_ids)
        assert response.truncated <= (len(response.token_ids) == 4)
        assert len(response.logprobs) == len(response.token_ids)


def test_sampling_follows_the_distribution() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0, -1.0]]).expand(20_000, 4)
    draws = torch.from_numpy(np.random.default_rng(0).random(20_000))
    chosen, logprobs = _sample(logits, draws, 0.5)
    expected = F.softmax(logits[0] / 0.5, -1)
    frequency = torch.bincount(chosen, minlength=4) / 20_000
    assert torch.allclose(frequency, expected, atol=0.01)
    assert torch.allclose(logprobs.exp(), expected[chosen])


@pytest.mark.parametrize("draw", [0.0, 0.5, 1 - 2**-53])
def test_no_draw_leaves_the_vocabulary_or_picks_an_impossible_token(draw: float) -> None:
    logits = torch.tensor([[-float("inf"), 0.0, 0.0, -float("inf")]])
    chosen, _ = _sample(logits, torch.tensor([draw], dtype=torch.float64), 1.0)
    assert chosen.item() in (1, 2)


def test_bf16_stays_close_to_fp32(policy: HFPolicy) -> None:
    prompts, responses = [encode(policy, GRIDS[0])], [[7, 8, 9]]
    with torch.no_grad():
        exact = policy.score(prompts, responses, 1.0).logprobs
        policy.dtype = "bf16"
        rounded = policy.score(prompts, responses, 1.0).logprobs
    assert policy.model.dtype == torch.float32
    assert not torch.equal(exact, rounded)
    assert torch.allclose(exact, rounded, atol=0.1)


def test_a_saved_policy_loads_unchanged(policy: HFPolicy, tmp_path: object) -> None:
    from pathlib import Path

    from gigpo.models import load_model

    folder = Path(str(tmp_path)) / "model"
    policy.save(folder)
    model, tokenizer = load_model(str(folder))
    for name, value in policy.model.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name
    text = "<action>up</action> √ ü 日本\n"
    assert tokenizer.encode(text) == policy.tokenizer.encode(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_uniforms_of_another_shape_are_refused(policy: HFPolicy) -> None:
    with pytest.raises(ValueError, match="expected uniforms for 2 prompts"):
        policy.generate([[1], [2]], uniforms(3), 1.0)
