"""What ``mkdocs`` asks while it builds the site: pages that are made of something else, and links to files outside of ``docs``.

The README becomes the first page, the CHANGELOG one of the last; the reference is made of the objects (``tools/reference.py``).
Files of the repository that pages link to, such as records of benchmarks, are copied into the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import relpath
from typing import Any

from mkdocs.structure.files import File, Files

from tools import reference

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
COPIED = "repository"  # the folder of the site with files from outside of docs


def on_config(config: Any) -> Any:
    """Append the pages of the reference to their section."""
    section = next(part["Reference"] for part in config.nav if "Reference" in part)
    section += [{page.title: f"reference/{page.path}.md"} for page in reference.pages()]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what is made, and what is copied."""
    made = {f"reference/{page.path}.md": reference.text(page) for page in reference.pages()}
    made["index.md"] = (ROOT / "README.md").read_text(encoding="utf-8")
    made["changelog.md"] = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    for outside in sorted({place for file in files.documentation_pages() for place in outsiders(file)}):
        files.append(File.generated(config, f"{COPIED}/{outside}.txt", abs_src_path=str(ROOT / outside)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links from where a page lies in the repository to where things are in the site."""
    return LINK.sub(lambda found: f"]({link(page.file, found[1])}", markdown)


def place_of(file: File) -> str:
    """The folder in the repository that a page's links begin from."""
    if file.src_uri in ("index.md", "changelog.md"):
        return ""
    return f"docs/{file.src_uri}".rpartition("/")[0]


def target_of(file: File, written: str) -> str:
    """The path in the repository that a link leads to."""
    return relpath(f"{place_of(file)}/{written}".lstrip("/"), ".")


def outsiders(file: File) -> set[str]:
    """Files outside of ``docs`` that a page links to."""
    targets = {target_of(file, written) for written in LINK.findall(file.content_string)}
    return {target for target in targets if not target.startswith("docs/") and (ROOT / target).is_file()}


def link(file: File, written: str) -> str:
    """A link as the site has it."""
    target = target_of(file, written)
    inside = target.removeprefix("docs/") if target.startswith("docs/") else f"{COPIED}/{target}.txt"
    return relpath(inside, file.src_uri.rpartition("/")[0] or ".")
