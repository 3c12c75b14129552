"""LightGCN on torch-geometric's model, with the paper's loss."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.functional import embedding
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.nn.models import LightGCN
from torch_geometric.utils import to_torch_csr_tensor

from evaluation.arms.trained.visits import Visits

SIZE, LAYERS = 64, 3
BATCH, RATE, DECAY = 4_096, 0.01, 1e-3
SPREAD = 0.1
"""Standard deviation of the initial vectors, as in the authors' code."""


class _Passing(LightGCN):
    """The model as a function of vectors and a graph."""

    def forward(self, graph: Tensor) -> Tensor:
        """The vectors of all nodes, propagated and averaged over the layers."""
        return self.get_embedding(graph)


class Graph:
    """Users and items as nodes, visits as edges."""

    steps, between, patience = 480, 40, 3

    def __init__(self, visits: Visits) -> None:
        self._pairs = torch.tensor(visits.pairs()).T
        self._users, self._items = len(visits.users), len(visits.items)
        self._graph = self._edges(visits)
        self.network = _Passing(self._users + self._items, SIZE, LAYERS, normalize=False)
        torch.nn.init.normal_(self.network.embedding.weight, std=SPREAD)
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=RATE)
        self._waiting: tuple[Tensor, ...] = ()

    def step(self) -> None:
        """Trains visited items to rank before uniformly drawn ones."""
        if not self._waiting:
            self._waiting = torch.randperm(self._pairs.shape[1]).split(BATCH)
        batch, *rest = self._waiting
        self._waiting = tuple(rest)
        user, item = self._pairs[:, batch]
        other = torch.randint(self._items, item.shape)
        nodes = torch.cat([user, self._users + item, self._users + other])

        with torch.no_grad():
            passed = self.network(self._graph)
        passed.requires_grad_()
        mine, met, unmet = embedding(nodes, passed).chunk(3)
        loss = self.network.recommendation_loss((mine * met).sum(1), (mine * unmet).sum(1), lambda_reg=DECAY)
        self._optimizer.zero_grad()
        loss.backward()
        # Propagation is linear and symmetric, so that its gradient propagates in the same way; autograd would transpose
        # the graph for each layer, which takes more than twice as long.
        with torch.no_grad():
            gradient = functional_call(self.network, {"embedding.weight": passed.grad}, (self._graph,))
            self.network.embedding.weight.grad += gradient
        self._optimizer.step()

    @torch.no_grad()
    def vectors(self, visits: Visits, users: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The vectors after propagation along the graph of these visits."""
        of_user, of_item = self.network(self._edges(visits)).split([self._users, self._items])
        return of_user[list(users)], of_item

    def _edges(self, visits: Visits) -> Tensor:
        """The graph as a sparse matrix, each edge weighted by both ends' degrees."""
        user, item = torch.tensor(visits.pairs()).T
        there = torch.stack([user, self._users + item])
        count = self._users + self._items
        edges, weights = gcn_norm(torch.cat([there, there.flip(0)], dim=1), None, count, add_self_loops=False)
        return to_torch_csr_tensor(edges, weights, size=(count, count))
