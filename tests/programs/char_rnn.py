"""A character model of an LSTM, on a rhyme."""

import numpy as np

import nbgrad as torch
import nbgrad.nn as nn

rng = np.random.default_rng(3)
text = "the cat sat on the mat and the rat ran to the hat. " * 4
chars = sorted(set(text))
index = {c: i for i, c in enumerate(chars)}
data = torch.tensor([index[c] for c in text])


class CharRNN(nn.Module):
    def __init__(self, n_chars, n_hidden=12, n_layers=2):
        super().__init__()
        self.embed = nn.Embedding(n_chars, 6)
        self.rnn = nn.LSTM(6, n_hidden, n_layers, batch_first=True)
        self.decoder = nn.Linear(n_hidden, n_chars)

    def forward(self, x, hidden=None):
        out, hidden = self.rnn(self.embed(x), hidden)
        return self.decoder(out), hidden


def train(steps):
    model = CharRNN(len(chars)).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-0.3, 0.3, tuple(p.shape))))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
    hidden, losses, length = None, [], 10
    for step in range(steps):
        starts = [(step * length + 40 * row) % (len(data) - length - 1) for row in range(3)]
        x = torch.stack([data[i : i + length] for i in starts])
        y = torch.stack([data[i + 1 : i + length + 1] for i in starts])
        if hidden is not None:
            hidden = tuple(h.detach() for h in hidden)
        output, hidden = model(x, hidden)
        loss = criterion(output.reshape(-1, len(chars)), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses
