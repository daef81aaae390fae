"""Graphs as the checks of differentiation describe them, in words of their own, and back."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

import nbgrad
from nbgrad import Tensor
from nbgrad.jit import check, trace
from nbgrad.jit.differentiate import Reverse, differentiate
from nbgrad.jit.differentiation.linear import inline, jvp
from nbgrad.jit.differentiation.subgraphs import GROUP, differentiable_subgraphs
from nbgrad.jit.execution.schedule import schedule
from nbgrad.jit.ir.graph import Graph
from nbgrad.jit.ir.ir import Block, Control, Node, Value, map_values
from nbgrad.jit.ir.replay import run_block
from nbgrad.jit.passes.eliminate_dead import eliminate_dead
from nbgrad.jit.passes.merge_calls import merge_calls
from nbgrad.jit.passes.retrace import InPlace, functionalise, specialise
from nbgrad.ops.core import OPS

F = nbgrad.nn.functional
DRAWS = {"dropout"}


def tuple_of(x: Any) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def written(name: str, run: Callable) -> Control:
    """An operation of the checks that is some calls of ours."""
    effect = "random" if name in DRAWS else "pure"
    return Control(name, lambda node, values, *operands, **attributes: tuple_of(run(*operands, **attributes)), effect=effect)


def add_cotangents(x, y):
    """A sum that understands known zeros."""
    if x is None or y is None:
        return x if y is None else y
    if x.shape != y.shape:
        raise nbgrad.errors.ShapeError(f"gadd: cotangents of shapes {tuple(x.shape)} and {tuple(y.shape)}.")
    return x + y


def max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil):
    windows = x.unfold(2, kernel[0], stride[0]).unfold(3, kernel[1], stride[1])
    return tuple(windows.reshape((*windows.shape[:4], kernel[0] * kernel[1])).max(-1))


def native_batch_norm(x, weight, bias, mean, var, training, momentum, eps):
    out = F.batch_norm(x, mean.clone(), var.clone(), weight, bias, training, momentum, eps)
    return out, x.mean(0), (x.var(0, correction=0) + eps).rsqrt()


def slow_conv2d(x, weight, kernel, bias, stride, padding):
    windows = x.unfold(2, kernel[0], stride[0]).unfold(3, kernel[1], stride[1])  # n, c, h, w, kh, kw
    n, c, h, w = windows.shape[:4]
    rows = windows.permute(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * kernel[0] * kernel[1])
    out = rows @ weight.reshape(weight.shape[0], -1).t() + bias
    return out.reshape(n, h, w, weight.shape[0]).permute(0, 3, 1, 2)


def run_if(node, values, predicate):
    return tuple(run_block(node.blocks[0 if predicate else 1], (), values))


def run_loop(node, values, trips, *carried):
    for k in range(trips):
        carried = run_block(node.blocks[0], (k, *carried), values)
    return tuple(carried)


def run_linear(node, values, *cotangents):
    return (None,) * len(node.outs) if all(g is None for g in cotangents) else tuple(run_block(node.blocks[0], (), values))


CONTROLS = {
    **{
        name: written(name, run)
        for name, run in {
            "gadd": add_cotangents,
            "gzero": lambda: None,
            "any_defined": lambda *gs: any(g is not None for g in gs),
            "profile": lambda x, flag: x,
            "shape": lambda x: (tuple(x.shape),),
            "list": lambda *xs: (list(xs),),
            "tuple2": lambda x, y: ((x, y),),
            "untuple": lambda pair: pair,
            "sum_to": lambda x, size: x if size is None else x.sum_to(size),
            "view": lambda x, size: x.view(tuple(size)),
            "expand": lambda x, size: x.expand(tuple(size)),
            "expand_as": lambda x, y: x.expand_as(y),
            "chunk": lambda x, parts, dim: x.chunk(parts, dim),
            "dropout": F.dropout,
            "type_as": lambda x, y: x.type_as(y),
            "max_pool2d": lambda *operands: max_pool2d_with_indices(*operands)[0],
            "max_pool2d_with_indices": max_pool2d_with_indices,
            "native_batch_norm": native_batch_norm,
            "batch_norm": lambda x, w, b, m, v, training, momentum, eps, _: native_batch_norm(
                x, w, b, m, v, training, momentum, eps
            )[0],
            "slow_conv2d": slow_conv2d,
        }.items()
    },
    "if": Control("if", run_if),
    "loop": Control("loop", run_loop),
    "linear": Control("linear_block", run_linear),
}
SEVERAL = {"chunk", "untuple", "max_pool2d_with_indices", "native_batch_norm", "if", "loop", "linear"}
NAMES = {
    "matmul": "mm",
    "view_shape": "view",
    "expand_shape": "expand",
    "sum_over": "sum_to",
    "heaviside": "opaque",
    "dropout_mask": "mask",
    "linear_block": "linear",
}
EXAMPLES = {"int": 1, "float": 0.5, "bool": True, "number": 2.0, "int[]": [3, 4]}


class NbgradAdapter:
    """What check_differentiate.py asks for."""

    quirks = False
    opaque = "heaviside"
    features = {
        "control_flow",
        "cse",
        "dce",
        "functionalise",
        "fuse",
        "higher",
        "jvp",
        "lint",
        "min_cut",
        "shape_guard",
        "specialise",
        "subgraphs",
    }

    def build(self, case) -> Graph:
        """The graph of a case, and arguments like those that it is for."""
        table: dict[str, Value] = {}
        graph = Graph()
        self.examples = getattr(self, "examples", {})
        examples = []
        for given in case.inputs:
            x = EXAMPLES.get(given.kind)
            flag = False
            if given.kind == "tensor":
                x, flag = nbgrad.full(given.shape, 0.5, dtype=nbgrad.float64), given.grad if case.typed else None
            elif given.kind == "tensor[]":
                x, flag = [nbgrad.full((3, 4), 0.5, dtype=nbgrad.float64)] * 2, None
            layout = x.layout if isinstance(x, Tensor) and case.typed else None
            table[given.name] = Value(layout, flag, name=given.name)
            graph.inputs.append(table[given.name])
            examples.append(x)
        graph.nodes = [self.node(call, table, case.typed, graph) for call in case.calls]
        graph.outputs = [table[name] for name in case.outputs]
        graph.name = "case"
        self.examples[id(graph)] = graph, examples
        return graph

    def node(self, call, table: dict[str, Value], typed: bool, graph: Graph) -> Node:
        """A call of a case."""

        def value(x):
            return table[x] if isinstance(x, str) else tuple(map(value, x)) if isinstance(x, tuple) else x

        name, operands = call.op, [value(x) for x in call.args]
        blocks = []
        for params, calls, results in call.blocks:
            block = Block([table.setdefault(p, Value(None, None, name=p)) for p in params])
            block.nodes = [self.node(each, table, typed, graph) for each in calls]
            block.outputs = [table[r] for r in results]
            blocks.append(block)
        if name in CONTROLS:
            op: Any = CONTROLS[name]
        elif name.endswith("_"):
            op = InPlace(name[:-1])
        else:
            op = OPS[{"mm": "matmul", "opaque": "heaviside", "cat_list": "cat"}.get(name, name)]
            if name == "opaque":
                half = Value(nbgrad.ones((), dtype=nbgrad.float64).layout, False, data=0.5)
                graph.constants.append(half)
                operands.append(half)
        flags = [call.grad.get(out) if typed and call.grad.get(out) is False else None for out in call.outs]
        node = Node(op, tuple(operands), {}, [None] * len(call.outs), tuple(blocks), "", flags)
        table.update(zip(call.outs, node.outs))
        return node

    def differentiate(self, graph):
        from check_differentiate import Diff

        gradient = differentiate(graph, *self.examples[id(graph)][1]) if id(graph) in self.examples else differentiate(graph)
        return Diff(
            gradient.f,
            gradient.df,
            gradient.f_real_outputs,
            gradient.df_input_vjps,
            gradient.df_input_captured_inputs,
            gradient.df_input_captured_outputs,
            gradient.df_output_vjps,
        )

    def run(self, graph, args):
        with nbgrad.no_grad():
            return [array_of(x) for x in graph(*map(tensor_of, args))]

    # ---- inspection ------------------------------------------------------------------------------------------------

    def arity(self, graph):
        return len(graph.inputs), 1 if isinstance(graph, Reverse) else len(graph.outputs)

    def ops(self, graph):
        found = []
        for node in graph.nodes:
            found.append(self.name(node))
            for block in node.blocks:
                found += self.ops(block)
        return found

    def name(self, node):
        if node.name == "linear":
            return f"linear[{NAMES.get(node.attributes['name'], node.attributes['name'])}]"
        return NAMES.get(node.name, node.name)

    def linear_inputs(self, graph):
        return [(self.name(node)[7:-1], len(node.ins)) for node in graph.nodes if node.name == "linear"]

    def flags(self, graph):
        return [v.requires_grad for v in graph.inputs], [v.requires_grad if isinstance(v, Value) else False for v in graph.outputs]

    def listing(self, graph, head=None):
        names: dict[Value, str] = {}
        lines = []

        def name(value):
            return names.setdefault(value, f"t{len(names)}")

        for k, value in enumerate(graph.inputs):
            names[value] = head[k] if head else f"a{k}"

        def walk(block, pad):
            for node in block.nodes:
                outs = ", ".join(map(name, node.outs))
                operands = [str(map_values(x, name)) for x in node.ins]
                operands += [f"{key}={map_values(x, name)}" for key, x in node.attributes.items()]
                lines.append(f"{pad}{outs} = {self.name(node)}({', '.join(operands)})")
                for inner in node.blocks:
                    walk(inner, pad + "  ")
            lines.append(f"{pad}return {', '.join(str(map_values(x, name)) for x in block.outputs)}")

        walk(graph, "  ")
        return "\n".join([f"({', '.join(map(name, graph.inputs))}):", *lines])

    # ---- features --------------------------------------------------------------------------------------------------

    def given(self, graph):
        return self.examples[id(graph)][1]

    def jvp(self, graph, primals, tangents):
        made = jvp(graph, *self.given(graph))
        ts = [np.zeros_like(x) if t is None else t for x, t in zip(primals, tangents)]
        found = self.run(made, [*primals, *ts])
        return found[: len(found) // 2], found[len(found) // 2 :]

    def lower_linear(self, df):
        return inline(df)

    def functionalise(self, graph):
        made = functionalise(graph, *self.given(graph))
        return made

    def specialise(self, graph):
        return specialise(graph, *self.given(graph))

    def subgraphs(self, graph, threshold):
        made = differentiable_subgraphs(graph, threshold)
        return [list(map(self.name, node.blocks[0].nodes)) if node.op is GROUP else self.name(node) for node in made.nodes]

    def lint(self, graph):
        check(graph)

    def broken_graphs(self):
        made = []
        for spoil in (list.reverse, list.pop, lambda nodes: nodes.append(nodes[0])):
            graph = trace(lambda x: x.sin().exp() * x, nbgrad.ones(2))
            spoil(graph.nodes)
            made.append(graph)
        return made

    def kernels(self, graph):
        return len(schedule(functionalise(graph, *self.given(graph))).steps)

    def dce(self, graph):
        made, _ = graph.copy()
        eliminate_dead(made)
        return made

    def cse(self, graph):
        made, _ = graph.copy()
        merge_calls(made)
        return made


def tensor_of(x):
    if isinstance(x, np.ndarray):
        return nbgrad.tensor(np.ascontiguousarray(x))
    return [tensor_of(y) for y in x] if isinstance(x, list) and x and isinstance(x[0], np.ndarray) else x


def array_of(x):
    if isinstance(x, Tensor):
        return x.detach().numpy()
    return [array_of(y) for y in x] if isinstance(x, (tuple, list)) else x
