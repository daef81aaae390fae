"""The engine's introspection under the private names that tools look for in ``torch._C``."""
from __future__ import annotations

from .graph import increment_version as _increment_version
from .graph_task import (
    current_autograd_node as _current_autograd_node,
    current_graph_task_id as _current_graph_task_id,
    current_graph_task_keep_graph as _get_current_graph_task_keep_graph,
    execution_order as _current_graph_task_execution_order,
    will_execute as _will_engine_execute_node,
)

__all__ = ["_current_autograd_node", "_current_graph_task_execution_order", "_current_graph_task_id",
           "_get_current_graph_task_keep_graph", "_increment_version", "_will_engine_execute_node"]
