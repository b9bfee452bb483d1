"""Addresses of object stores: which are accepted, and what they may contain. They are written to the tables."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from txnlog.errors import DumpError

# What Spark and Hadoop call a store, and what pyarrow calls it.
SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "abfs": "abfs", "abfss": "abfss", "hdfs": "hdfs"}
# Settings of pyarrow's file systems that are no secrets: the address of a dump is written to the tables.
SETTINGS = frozenset(
    {
        "region", "scheme", "endpoint_override", "tls_ca_file_path",
        "project_id", "retry_limit_seconds",
        "enable_tls", "blob_storage_authority", "dfs_storage_authority", "blob_storage_scheme", "dfs_storage_scheme",
        "credential_kind", "tenant_id", "client_id",
        "kerb_ticket", "replication",
    }
)  # fmt: skip
HOW = "docs/object-stores.md says how to name it"


class Address(NamedTuple):
    """Where an object or a folder is: the store without a path (`s3://bucket?region=…`), and the path in it."""

    store: str
    key: str

    def __str__(self) -> str:
        """The address for people, without settings."""
        return f"{self.store.partition('?')[0]}/{self.key}"

    @property
    def uri(self) -> str:
        """The address as text, from which `address` makes it again."""
        store, mark, query = self.store.partition("?")
        return f"{store}/{quote(self.key)}{mark}{query}"


def is_address(text: str) -> bool:
    """Whether a text names a place in an object store, rather than a local path."""
    return "://" in text and text.partition("://")[0].lower() in SCHEMES


def address(text: str) -> Address:
    """The address that a URI names; `DumpError`, which repeats no secret, for one that cannot be used."""
    try:
        parts = urlsplit(text, allow_fragments=False)
    except ValueError as error:
        raise DumpError(f"an address that starts with {text.partition('://')[0]}:// is none: {error}; {HOW}") from error
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if parts.password is not None or (parts.username and parts.scheme in ("s3", "s3a")):
        raise DumpError(f"{shown}: no credentials in an address: it is written to the tables; {HOW}")
    if not parts.netloc:
        raise DumpError(f"{shown}: names no bucket, container or host; {HOW}")
    unknown = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)} - SETTINGS
    if unknown:
        raise DumpError(f"{shown}: {', '.join(sorted(unknown))} cannot be set in an address; {HOW}")
    query = f"?{parts.query}" if parts.query else ""
    return Address(f"{SCHEMES[parts.scheme]}://{parts.netloc}{query}", unquote(parts.path).strip("/"))
