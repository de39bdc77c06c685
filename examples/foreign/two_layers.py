"""A network of PyTorch for many tasks: a hidden layer that all share, one output for each."""

from __future__ import annotations

import torch


class TwoLayers(torch.nn.Module):
    """sign of vₖ·tanh(W x) for task k, of our own making.

    Cost per example: O(features × hidden units).
    """

    def __init__(self, n_features: int, n_tasks: int, n_hidden: int = 16):
        super().__init__()
        self.hidden = torch.nn.Linear(n_features, n_hidden)
        self.outputs = torch.nn.Linear(n_hidden, n_tasks)

    def forward(self, x: torch.Tensor, task: int) -> torch.Tensor:
        """Return the score of the rows of a task."""
        return self.outputs(torch.tanh(self.hidden(x)))[:, task]
