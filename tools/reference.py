"""The pages of the reference: every public name, with its signature and what its docstring says.

Docstrings are read from the objects, since those of operations are derived from the declarations when they are asked for
(``nbgrad/ops/describe.py``). ``tools/site.py`` puts the pages into the site; nothing of them is kept.
"""

from __future__ import annotations

import inspect
import re
import reprlib
import textwrap
import types
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import nbgrad
from nbgrad.ops.core import OPS, Elementwise, Movement, Op
from tools import stubs

__all__ = ["modules", "pages", "text"]

# Modules with a page of their own, as programs import them, in the order of the site; others that are public follow. A name that
# several have is told of in the first of them.
MODULES = (
    *("linalg", "special", "fft", "signal", "signal.windows", "nn.functional", "nn", "nn.init", "nn.utils", "nn.utils.rnn"),
    *("nn.utils.parametrize", "nn.utils.parametrizations", "nn.utils.prune", "nn.attention", "optim", "optim.lr_scheduler"),
    *("optim.swa_utils", "distributions", "distributions.constraints", "distributions.transforms", "utils.data", "func"),
    *("functional", "forward_ad", "graph", "autograd", "checkpoint", "jit", "profiler", "cuda", "overrides", "random"),
    *("amp", "multiprocessing", "safetensors", "sparse", "integrate", "compiler", "accelerator", "cpu", "backends", "testing"),
    *("errors", "cache", "version"),
)
# Paths at which ported programs look for names that are told of elsewhere.
PATHS = {"_C", "dtypes", "function", "grad_mode", "memory", "mps", "pytree", "utils", "xpu"}


class Page(NamedTuple):
    """A page: its path in the site, its title, what it says at the beginning, and names with what they are."""

    path: str
    title: str
    about: str
    prefix: str
    members: dict[str, Any]


# ---- which names there are -------------------------------------------------------------------------------------------


# Pages of the package itself, and the kinds of operations that each tells of.
SECTIONS: dict[str, tuple[str, type]] = {
    "elementwise": ("Elementwise operations", Elementwise),
    "views": ("Views", Movement),
    "further": ("Further operations", Op),
    "nbgrad": ("Tensors, gradients, settings", object),
}


def public_modules() -> set[str]:
    """The modules among the public names of ``nbgrad``."""
    return {name for name in stubs.public_names() if isinstance(getattr(nbgrad, name), types.ModuleType)}


def package_pages() -> Iterator[Page]:
    """The names of ``nbgrad`` itself, on several pages: a name is on the first that takes it."""
    modules = public_modules()
    left = {name: getattr(nbgrad, name) for name in stubs.public_names() if not name.startswith("_") and name not in modules}
    for path, (title, kind) in SECTIONS.items():
        members = {name: left.pop(name) for name in [*left] if isinstance(OPS.get(name), kind)}
        yield Page(path, title, "", "nbgrad", members)


def tensor_page() -> Page:
    """The methods and properties of tensors."""
    names = [name for name in dir(nbgrad.Tensor) if not name.startswith("_") and (name not in OPS or stubs.is_public(OPS[name]))]
    members = {name: inspect.getattr_static(nbgrad.Tensor, name) for name in names}
    about = "What tensors have. Methods that are functions of the package too are told of there."
    return Page("tensor", "Tensor", about, "nbgrad.Tensor", members)


@cache
def modules() -> tuple[str, ...]:
    """All modules with a page: those, and the modules that they name in ``__all__``."""
    outer = *MODULES, *sorted(public_modules() - set(MODULES) - PATHS)
    inner = [f"{path}.{name}" for path in outer for name in modules_in(path)]
    return *outer, *(path for path in inner if path not in outer)


def modules_in(path: str) -> list[str]:
    """The names of a module's own public modules."""
    module = import_module(f"nbgrad.{path}")
    return [name for name in module.__all__ if getattr(getattr(module, name), "__name__", "") == f"nbgrad.{path}.{name}"]


def module_page(path: str) -> Page:
    """The names in ``__all__`` of a module."""
    module = import_module(f"nbgrad.{path}")
    members = {name: getattr(module, name) for name in sorted(module.__all__)}
    source = getattr(module, "__source__", None)
    doc = (import_module(f"nbgrad.{source}") if source else module).__doc__ or ""
    return Page(path, f"nbgrad.{path}", prose(doc.split("\n\n")[0]), f"nbgrad.{path}", members)


@cache
def pages() -> tuple[Page, ...]:
    """All of them, in the order of the site."""
    return *package_pages(), tensor_page(), *map(module_page, modules())


# ---- docstrings as Markdown ------------------------------------------------------------------------------------------

SECTION = re.compile(r"^([A-Z]\w*)( \(.*\))?:$")
CODE = re.compile(r"(``.+?``|`[^`]+`)", re.S)


def prose(text: str) -> str:
    """Text whose signs mean themselves, but for what stands in backticks."""
    parts = CODE.split(text)
    return "".join(part if k % 2 else re.sub(r"([\\*_<>\[\]|#])", r"\\\1", part) for k, part in enumerate(parts))


def docstring(doc: str) -> str:
    """A docstring of the house's form: paragraphs, sections with an item a line, sessions."""
    out: list[str] = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(doc)):
        lines = block.split("\n")
        title = SECTION.match(lines[0])
        if lines[0].startswith(">>>"):
            out.append("\n".join(["```pycon", *lines, "```"]))
        elif lines[0].startswith("Signature: "):  # stands above already
            continue
        elif title:
            out += [f"**{title[1]}**{prose(title[2] or '')}", items("\n".join(lines[1:]), title[1] == "Derivative")]
        elif all(line.startswith(" ") for line in lines):  # a section goes on
            out.append(items(block))
        else:
            out.append(prose(block))
    return "\n\n".join(out)


def items(text: str, formulas: bool = False) -> str:
    """The items of a section, each of which begins at the margin, as a list; formulas as code."""
    found = re.split(r"\n(?=\S)", textwrap.dedent(text))
    rows = []
    for item in found:
        name, colon, rest = " ".join(item.split()).partition(": ")
        if not colon:
            rows.append(f"- {prose(name)}")
        elif formulas:
            rows.append(f"- {prose(name)}: `{rest}`")
        else:
            rows.append(f"- **{prose(name)}**: {prose(rest)}")
    return "\n".join(rows)


# ---- entries ---------------------------------------------------------------------------------------------------------


ANNOTATION = re.compile(r"(: |-> )'([^']*)'")  # which are texts; defaults that are texts keep their quotes
FEW = reprlib.Repr()
FEW.maxdict, FEW.maxfrozenset, FEW.maxset, FEW.maxother = 8, 8, 8, 200


def unplaced(text: str) -> str:
    """What Python says of objects, without where in memory they are, which differs from build to build."""
    return re.sub(r"<(?:function )?(\S+?)(?: object)? at 0x\w+>", r"\1", text)


def constant(value: Any) -> str:
    """A value that has no docstring; of tables and sets the first few in order."""
    return unplaced(FEW.repr(value) if isinstance(value, (dict, frozenset, set)) else repr(value))


def signature(name: str, value: Any) -> str:
    """How it is called; the name alone where that is not known. A docstring that says it itself, as operations' do, is believed."""
    said = re.search(r"^Signature: (.+)$", getattr(value, "__doc__", None) or "", re.M)
    if said:
        return said[1]
    try:
        return unplaced(name + ANNOTATION.sub(r"\1\2", str(inspect.signature(value))))
    except (TypeError, ValueError):
        return name


def summary(value: Any) -> str:
    """The first sentence of a docstring."""
    doc = inspect.cleandoc(getattr(value, "__doc__", None) or "").split("\n\n")[0]
    return prose(" ".join(doc.split()))


def is_told(value: Any) -> bool:
    """Whether there is something to call or to look up: of numbers and other constants there is the value."""
    return isinstance(value, (type, property)) or callable(value) or hasattr(value, "__get__")


@cache
def places() -> dict[int, tuple[Page, str]]:
    """Where what has a docstring of its own is told of: the first page that has it."""
    found: dict[int, tuple[Page, str]] = {}
    for page in pages():
        for name, value in page.members.items():
            if is_told(value):
                found.setdefault(id(value), (page, name))
    return found


def elsewhere(page: Page, name: str, value: Any) -> str:
    """The link to where a name is told of already; empty where it is here."""
    first, other = places().get(id(value), (page, name))
    if page.prefix == "nbgrad.Tensor" and (function := getattr(nbgrad, name, None)) is not None and name in OPS:
        first, other = places().get(id(function), (page, name))
    if (first, other) == (page, name):
        return ""
    return f"[`{first.prefix}.{other}`]({first.path}.md#{anchor(first, other)})"


def anchor(page: Page, name: str) -> str:
    """The name of an entry's place on its page."""
    return f"{page.prefix}.{name}"


def methods(page: Page, name: str, value: type) -> Iterator[str]:
    """The public methods and properties that a class itself defines."""
    for each, member in vars(value).items():
        if each.startswith("_") or not (callable(member) or isinstance(member, (property, classmethod, staticmethod))):
            continue
        function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if told := summary(function):
            yield f"- `{each if isinstance(member, property) else signature(each, function)}`: {told}"


def entry(page: Page, name: str, value: Any) -> str:
    """What is said of a name."""
    heading = f"### {prose(name)} {{ #{anchor(page, name)} }}"
    if isinstance(value, types.ModuleType):
        path = f"{page.path}.{name}"
        told = f"[`nbgrad.{path}`]({path}.md)" if path in modules() else f"`{value.__name__}`"
        return f"{heading}\n\nThe module {told}."
    if not is_told(value):
        return f"{heading}\n\n`{constant(value)}`"
    if link := elsewhere(page, name, value):
        return f"{heading}\n\nThe same as {link}."
    parts = [heading, f"```python\n{signature(name, value)}\n```", docstring(getattr(value, "__doc__", None) or "")]
    if isinstance(value, type) and page.prefix != "nbgrad.Tensor" and value is not nbgrad.Tensor:
        members = [*methods(page, name, value)]
        parts += ["**Members**", "\n".join(members)] if members else []
    return "\n\n".join(filter(None, parts))


def text(page: Page) -> str:
    """A page as Markdown."""
    entries = [entry(page, name, value) for name, value in page.members.items()]
    return "\n\n".join([f"# {page.title}", page.about, *entries]) + "\n"
