"""Metrics of a run: JSON lines and TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter


class Tracker:
    """Writes one JSON line and TensorBoard scalars per record.

    Args:
        out: Folder of the run.
        start: First iteration to come; records from there on are dropped, since a resumed run
            writes them again.
    """

    def __init__(self, out: Path, start: int = 0) -> None:
        self.path = out / "metrics.jsonl"
        kept = [record for record in read_metrics(out) if record["iteration"] < start]
        self.path.write_text("".join(json.dumps(record) + "\n" for record in kept))
        self._file = self.path.open("a")
        self._writer = SummaryWriter(str(out / "tensorboard"), purge_step=start)

    def log(self, iteration: int, values: Mapping[str, Any]) -> None:
        """Records values of one iteration; nested values go to the JSON lines only."""
        self._file.write(json.dumps({"iteration": iteration, **values}) + "\n")
        self._file.flush()
        for key, value in values.items():
            if isinstance(value, (int, float)):
                self._writer.add_scalar(key, value, iteration)

    def close(self) -> None:
        """Flushes and closes both writers."""
        self._file.close()
        self._writer.close()


def read_metrics(out: Path) -> list[dict[str, Any]]:
    """Reads the records of a run; none if there are none yet.

    A last line that a kill cut short is left out.
    """
    path = out / "metrics.jsonl"
    if not path.is_file():
        return []
    lines = path.read_text().split("\n")
    return [json.loads(line) for line in lines[:-1] if line]
