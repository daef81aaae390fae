"""A small transformer that continues text: causal attention, tied weights, groups with and without decay, a warm-up."""

import math
from dataclasses import dataclass

import numpy as np

import nbgrad as torch
import nbgrad.nn as nn
from nbgrad.nn import functional as F

rng = np.random.default_rng(4)
text = "she sells sea shells by the sea shore. the shells she sells are sea shells for sure. " * 3
chars = sorted(set(text))
data = np.array([chars.index(c) for c in text])


@dataclass
class Config:
    block_size: int = 12
    vocab_size: int = len(chars)
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 12


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.n_head, self.n_embd = config.n_head, config.n_embd

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (z.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for z in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(config.n_embd), nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.mlp = nn.ModuleDict(
            {"c_fc": nn.Linear(config.n_embd, 4 * config.n_embd), "c_proj": nn.Linear(4 * config.n_embd, config.n_embd)}
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp.c_proj(F.gelu(self.mlp.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(config.vocab_size, config.n_embd),
                "wpe": nn.Embedding(config.block_size, config.n_embd),
                "h": nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                "ln_f": nn.LayerNorm(config.n_embd),
            }
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, idx, targets):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    def configure_optimizers(self, weight_decay, learning_rate):
        params = {name: p for name, p in self.named_parameters() if p.requires_grad}
        groups = [
            {"params": [p for p in params.values() if p.dim() >= 2], "weight_decay": weight_decay},
            {"params": [p for p in params.values() if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95))


def get_batch(config, count=4):
    ix = rng.integers(len(data) - config.block_size, size=count)
    x = torch.stack([torch.from_numpy(data[i : i + config.block_size]) for i in ix])
    y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + config.block_size]) for i in ix])
    return x, y


def get_lr(it, warmup=5, most=40, low=1e-3, high=1e-2):
    if it < warmup:
        return high * (it + 1) / (warmup + 1)
    if it > most:
        return low
    return low + 0.5 * (1.0 + math.cos(math.pi * (it - warmup) / (most - warmup))) * (high - low)


def train(steps):
    model = GPT(Config()).double()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "ln_" not in name:
                p.copy_(torch.from_numpy(rng.normal(0, 0.1, tuple(p.shape))))
    optimizer = model.configure_optimizers(0.1, 1e-2)
    losses = []
    for it in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = get_lr(it)
        logits, loss = model(*get_batch(model.config))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    return losses
