"""torch's public signatures as ``tests/signatures.txt`` has them: names of parameters, defaults, and which are given by name alone.

    python -m tools.signatures > tests/signatures.txt

needs torch, of the version that the list is to be of. ``tests/test_signatures.py`` compares nbgrad's signatures with the list.
Functions of Python say what they are; native ones have a schema for each of their forms, and documentation that says whether
``out`` is one.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from importlib import import_module
from keyword import iskeyword
from math import isfinite
from typing import Any, Iterator

torch: Any = import_module("torch")
overrides: Any = import_module("torch.overrides")

# Where users find functions, and how the native function of a name begins there.
PLACES = {
    "": "",
    "Tensor": "",
    "linalg": "linalg_",
    "special": "special_",
    "fft": "fft_",
    "signal.windows": "",
    "nn.functional": "",
    "nn": "",
    "nn.init": "",
    "nn.utils": "",
    "optim": "",
    "optim.lr_scheduler": "",
    "autograd": "",
    "autograd.graph": "",
    "autograd.forward_ad": "",
    "autograd.functional": "",
    "func": "",
    "utils.checkpoint": "",
}
# Of other dtypes, layouts and libraries.
SKIPPED = re.compile("cudnn|fake_quant|fbgemm|miopen|mkldnn|q_|quantize|sparse|sym_|resize_as_sparse")
NUMBERS = (bool, int, float)


def schemas() -> dict[str, list[Any]]:
    """The schemas of native functions of tensors, by name, without named dimensions and what only torch's compiler has."""
    found: dict[str, list[Any]] = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        names = [a.name for a in schema.arguments]
        kinds = " ".join(str(a.type) for a in schema.arguments)
        of_tensors = "Tensor" in kinds or "Generator" in kinds or "layout" in names
        compiled = names[:2] == ["a", "b"] or name == "copy_" and "other" in names or name == "sort" and "reverse" in names
        if space == "aten" and of_tensors and not compiled and "names" not in names and "Dimname" not in kinds:
            found[name].append(schema)
    return found


def takes_out(function: Any) -> bool:
    """Whether ``out`` is documented; without documentation, whether types that override the function see one."""
    text = function.__doc__
    if not text:
        forms = overrides.get_testing_overrides()
        return function in forms and "out" in inspect.signature(forms[function]).parameters
    return "out (Tensor" in text or bool(re.search(r"^ *[\w.]+\(.*\bout\b.*\) *->", text, re.MULTILINE))


def literal(value: Any) -> str:
    """A default as text; ``...`` where it is no literal."""
    if value is None or isinstance(value, (bool, int, str)) or isinstance(value, float) and isfinite(value):
        return repr(value)
    if isinstance(value, (tuple, list)) and all(isinstance(x, NUMBERS) for x in value):
        return repr(tuple(value))
    return "..."


def native(schema: Any, method: bool, factory: bool, with_out: bool) -> str | None:
    """The signature of one form of a native function; None where users do not have it."""
    own = next((a for a in schema.arguments if a.name == "self"), None)
    given = [a for a in schema.arguments if not a.is_out and not (method and a is own)]
    is_out_form = len(given) + (method and own is not None) < len(schema.arguments)
    if method and (own is None or is_out_form) or is_out_form and not with_out:
        return None
    parts: list[str] = []
    for a in given:
        if a.kwarg_only and "*" not in parts:
            parts.append("*")
        name = "input" if a is own else a.name + "_" * iskeyword(a.name)
        parts.append(name + (f"={literal(a.default_value)}" if a.has_default_value() else ""))
    if is_out_form:
        parts += [*(() if "*" in parts else ("*",)), "out=None"]
    if factory and any(a.name == "pin_memory" for a in given):
        parts.append("requires_grad=False")
    return f"({', '.join(parts)})"


def python(function: Any, bound: bool) -> str | None:
    """The signature of a function that is written in Python; None of any other."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[bound:]
    except (TypeError, ValueError):
        return None
    parts: list[str] = []
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        parts.append(prefix + p.name + ("" if p.default is p.empty else f"={literal(p.default)}"))
    return f"({', '.join(parts)})"


def public(place: str) -> dict[str, Any]:
    """The functions and classes that users find at a place."""
    owner = torch.Tensor if place == "Tensor" else import_module(f"torch.{place}" if place else "torch")
    names = dir(owner) if place in ("", "Tensor") else getattr(owner, "__all__", None) or dir(owner)
    found = {name: getattr(owner, name, None) for name in names if not name.startswith("_") and not SKIPPED.match(name)}
    return {
        name: x for name, x in found.items() if callable(x) and str(getattr(x, "__module__", None) or "torch").startswith("torch")
    }


def distinct(signatures: list[str]) -> list[str]:
    """Each once: the longest of those that differ in ``out`` and in what is given by name alone."""
    chosen: dict[str, str] = {}
    for text in signatures:
        key = text.replace("*, ", "").replace("*", "").replace(", out=None", "").replace("(out=None)", "()")
        chosen[key] = max(chosen.get(key, ""), text, key=len)
    return list(chosen.values())


def lines() -> Iterator[str]:
    """``place.name(signature) | (signature of another form)``."""
    known = schemas()
    for place, prefix in PLACES.items():
        for name, function in sorted(public(place).items()):
            path = f"{place}.{name}".lstrip(".")
            if isinstance(function, type):
                if not inspect.isfunction(function.__init__) or issubclass(function, (Exception, tuple)):
                    continue
                yield path + (python(function.__init__, True) or "()")
                if issubclass(function, torch.nn.Module) and function.forward is not torch.nn.Module.forward:
                    yield f"{path}.forward{python(function.forward, True)}"
                continue
            is_python = inspect.isfunction(function) or place not in ("", "Tensor", "linalg", "special", "nn.functional")
            text = python(function, place == "Tensor") if is_python else None
            if text is None:
                forms = [native(schema, place == "Tensor", not place, takes_out(function)) for schema in known[prefix + name]]
                text = " | ".join(distinct([form for form in forms if form]))
            if text:
                yield path + text


if __name__ == "__main__":
    print(f"# The signatures of torch {torch.__version__.partition('+')[0]}, written by tools/signatures.py.")
    print("\n".join(line for line in lines() if "(*args, **kwargs)" not in line))
