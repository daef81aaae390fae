"""Every statement of native code fails once, in the programs named or in all: run by ``test_faults`` in a process of its own.

Prints for each program how many statements failed, how many of these changed a count of what it uses, and how many blocks of
memory were left.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import warnings

import nbgrad
from nbgrad.dispatch.elementwise_plans import PLANS

native = sys.modules["nbgrad.tensor"].native
native.fresh
build = next(each for each in gc.get_objects() if type(each).__name__ == "Native")
countdown = ctypes.c_int64.from_address(build.entries["fault_countdown"])

x, y, z = nbgrad.ones(16, requires_grad=True), nbgrad.ones(16), nbgrad.ones(16)
base, wide = nbgrad.ones(8, 4, requires_grad=True), [nbgrad.ones(2, requires_grad=True) for _ in range(70)]


def backward():
    h = x * y
    k = h * h + h
    k.sum().backward()


def double():
    (g,) = nbgrad.autograd.grad((x * x).sum(), [x], create_graph=True)
    g.sum().backward()


def inputs():
    h = x * y
    nbgrad.autograd.grad((h.exp() + h).sum(), [h])


def hooks():
    h = x * y
    h.register_hook(lambda g: g * 2)
    h.grad_fn.register_hook(lambda grads, outs: None)
    (h * h).sum().backward()


def anomalous():
    with nbgrad.autograd.detect_anomaly():
        (x.exp() * y).sum().backward()


def views():
    v = base[2:5][1:].t()
    v[0].sum().backward()
    base.detach()[0][1:].mul_(1.0)


def unrecorded():
    with nbgrad.no_grad():
        base[1:].mul_(1.0)
        x.exp()


def several():
    a, b = (base * base).split(4)
    (a * b).sum().backward()


compiled = nbgrad.compile(lambda x, y: (x * y).sin() + y, fullgraph=True)
weights = [nbgrad.ones(4, requires_grad=True), nbgrad.ones(3, 4, requires_grad=True)]
optimizer = nbgrad.optim.Adam(weights, lr=1e-3)


@nbgrad.compile(fullgraph=True)
def step(z):
    optimizer.zero_grad()
    loss = ((weights[1] * weights[0]).sum() * z).sum()
    loss.backward()
    optimizer.step()
    return loss.detach(), None


PROGRAMS = {
    "product": lambda: x * y,
    "number": lambda: x * 2.5,
    "number first": lambda: 2.5 * x,
    "int": lambda: x * 3,
    "plain": lambda: z * y,
    "exp": lambda: x.exp(),
    "view": lambda: base[2:5],
    "view of a view": lambda: base[2:5][1:],
    "in place": lambda: z.mul_(1.0),
    "in place by a tensor": lambda: z.mul_(y),
    "in place on a view": views,
    "broadcast": lambda: (base * nbgrad.ones(4)).sum().backward(),
    "quotient": lambda: (x / x.exp()).sum().backward(),
    "backward": backward,
    "inputs": inputs,
    "double": double,
    "of three": lambda: x.lerp(y, 0.5),
    "where": lambda: nbgrad.where(y > 0, x, y).sum().backward(),
    "detached": lambda: x.detach(),
    "large": lambda: (nbgrad.ones(1 << 17) * 2.0).sum(),
    "numbered": lambda: (native.next_seq(), native.seq_to_come()),
    "several": several,
    "hooks": hooks,
    "anomaly mode": anomalous,
    "wide": lambda: nbgrad.cat(wide).sum().backward(),
    "unrecorded": unrecorded,
    "complex": lambda: nbgrad.ones(3, dtype=nbgrad.complex64) * 2j,
    "added in place": lambda: (x * y + x * z + x.exp()).sum().backward(),
    "maximum": lambda: (base.max(1)[0] * 2).sum().backward(),
    "compiled": lambda: compiled(z, y),
    "compiled step": lambda: step(z),
    "composed": lambda: nbgrad.var(base).backward(),
}


def counts():
    """References of what programs share: operands, their memory, layouts, plans and what those hold."""
    plans = [p for table in PLANS.values() for p in table.values() if p is not None]
    known = [x, y, z, base, *(t.layout for t in (x, base)), *(t._storage_ for t in (x, z, base)), x._storage_.array, *plans]
    known += [r for p in plans for r in (getattr(p, "records", None) or []) if r is not None]
    return {id(each): sys.getrefcount(each) for each in known}


def reset():
    for leaf in x, base, *wide:
        leaf.grad = None


def fail(run, most=20000):
    """Fail each statement of a program in turn; returns faults, changed counts, blocks left."""
    for _ in range(5):
        run()
    reset()
    gc.collect()
    gc.disable()
    changed, k, blocks = [], 0, sys.getallocatedblocks()
    before, now = counts(), {}
    for k in range(1, most):
        countdown.value = k
        try:
            run()
        except MemoryError:
            pass
        ended, countdown.value = countdown.value > 0, 0
        reset()
        if ended:
            break
        now = counts()
        if any(now.get(each, count) != count for each, count in before.items()):
            changed.append((k, [now[e] - c for e, c in before.items() if e in now and now[e] != c]))
            before = now
    del before, now
    gc.collect()
    gc.enable()
    return k - 1, changed, sys.getallocatedblocks() - blocks


if __name__ == "__main__":
    sys.unraisablehook = lambda *_: None
    warnings.simplefilter("ignore")  # of anomaly mode
    for name in sys.argv[1:] or PROGRAMS:
        fail(PROGRAMS[name])  # whatever is made once
        faults, changed, left = fail(PROGRAMS[name])
        print(f"{name}: {faults} faults, {len(changed)} changed counts {changed[:2] or ''}, {left:+d} blocks", flush=True)
