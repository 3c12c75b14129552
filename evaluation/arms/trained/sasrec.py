"""SASRec on torch-rechub's model, with a softmax over drawn items as its loss."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, pad
from torch.nn.utils.rnn import pad_sequence
from torch_rechub.basic.features import SequenceFeature
from torch_rechub.models.matching import SASRec

from evaluation.arms.trained.visits import Visits

SIZE, BLOCKS, HEADS, LENGTH, DROPOUT = 64, 2, 1, 50, 0.2
BATCH, OTHERS, RATE = 64, 512, 0.002
SPREAD = 0.02
"""Standard deviation of the initial weights; the library's own vectors start near zero."""


class Sequences:
    """Histories in windows, newest first; 0 is padding, so that an item's number is its row plus one."""

    steps, between, patience = 1_000, 100, 3

    def __init__(self, visits: Visits) -> None:
        self._items = len(visits.items)
        self._windows = [
            torch.tensor(history[max(0, end - LENGTH - 1) : end]) + 1
            for history in visits.histories
            for end in range(len(history), 1, -LENGTH)
        ]
        feature = SequenceFeature("seq", self._items + 1, SIZE, pooling="concat", padding_idx=0)
        self.network = SASRec([feature], max_len=LENGTH, dropout_rate=DROPOUT, num_blocks=BLOCKS, num_heads=HEADS)
        self._of_item = self.network.item_emb.embed_dict["seq"]
        for weight in self.network.parameters():
            if weight.dim() > 1:
                torch.nn.init.normal_(weight, std=SPREAD)
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=RATE)
        self._waiting: list[list[int]] = []

    def step(self) -> None:
        """Trains the next item at each position of a window to rank before uniformly drawn ones."""
        if not self._waiting:
            self._waiting = self._batches()
        rows = pad_sequence([self._windows[row] for row in self._waiting.pop()], batch_first=True)

        self.network.train()
        state, following = self._read(rows[:, :-1]), rows[:, 1:]
        state, following = state[following > 0], following[following > 0]
        others = torch.randint(1, self._items + 1, (OTHERS,))
        right = (state * self._of_item(following)).sum(1, keepdim=True)
        wrong = (state @ self._of_item(others).T).masked_fill(following[:, None] == others, -torch.inf)
        loss = cross_entropy(torch.cat([right, wrong], dim=1), torch.zeros(len(following), dtype=torch.long))
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()

    @torch.no_grad()
    def vectors(self, visits: Visits, users: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The network's output at the end of each history; zeros for a user without one."""
        self.network.eval()
        of_user = torch.zeros(len(users), SIZE)
        read = [torch.tensor(visits.histories[user][-LENGTH:], dtype=torch.long) + 1 for user in users]
        some = sorted((place for place, history in enumerate(read) if len(history)), key=lambda place: len(read[place]))
        for start in range(0, len(some), BATCH):
            places = some[start : start + BATCH]
            ends = torch.tensor([len(read[place]) - 1 for place in places])
            states = self._read(pad_sequence([read[place] for place in places], batch_first=True))
            of_user[places] = states[torch.arange(len(places)), ends]
        return of_user, self._of_item.weight[1:].clone()

    def _batches(self) -> list[list[int]]:
        """All windows once, in batches of similar length, because padding costs as much as a visit."""
        order = sorted(torch.randperm(len(self._windows)).tolist(), key=lambda row: len(self._windows[row]))
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        return [batches[place] for place in torch.randperm(len(batches))]

    def _read(self, rows: Tensor) -> Tensor:
        """The network's output at each position. The library drops dimensions of size 1, hence at least 2 by 2."""
        count, length = rows.shape
        rows = pad(rows, (0, max(0, 2 - length), 0, max(0, 2 - count)))
        states: Tensor = self.network.seq_forward({"seq": rows}, self._of_item(rows))
        return states[:count, :length]
