"""The templates of the HTML pages, and how they write numbers, times and names."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from txnlog.errors import SetupError
from txnlog.report import words
from txnlog.report.abort_candidates import word
from txnlog.report.advice import meaning
from txnlog.report.output import printable

if TYPE_CHECKING:
    from jinja2 import Template

FILES = resources.files("txnlog.report") / "page_files"


def template(name: str) -> Template:
    """A template of `page_files`, in which every name is text. `SetupError` where Jinja is missing."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise SetupError("the report needs Jinja: pip install 'txnlog[report]'") from error
    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(file),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": words.number,
        "lasting": words.lasting,
        "moment": words.moment,
        "size": words.size,
        "name": printable,
        "word": word,
        "meaning": meaning,
    }
    environment.globals["amount"] = words.amount
    return environment.get_template(name)


def file(name: str) -> str:
    """The text of a file of `page_files`."""
    return (FILES / name).read_text("utf-8")
