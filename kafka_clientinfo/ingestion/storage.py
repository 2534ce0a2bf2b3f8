"""Opens log files wherever they are stored: on this machine, in an object store, or where pyarrow or fsspec can read.

`StoredFile` stands for a file everywhere: its path, as text for tables and messages, and what opens it. The two are
kept apart because a URI may have a user and options, such as an endpoint, which name no file. URIs with credentials are
refused (`config.uris`). A name that is not valid Unicode is shown with escapes and opened by its bytes.

`s3` (`s3a`), `gs`, `abfss` and `hdfs` go through pyarrow. Other schemes, and those that this build of pyarrow lacks, go
through fsspec if it is installed; so does `hdfs` with hdfs-native if Hadoop's C client is missing.
"""

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from errno import ENOENT
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode

from pyarrow import fs as arrow_fs

from ..config.uris import Uri, parsed_uri
from ..errors import InputError, pip_install
from ..logs.content import RawBytes, open_regular

_ARROW_SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfss"}
_HADOOP_SCHEMES = frozenset({"hdfs", "viewfs"})
_HINTS = (
    (re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound|bucket does not exist", re.I), "no such bucket"),
    (
        re.compile(r"ACCESS_DENIED|INVALID_ACCESS|SIGNATURE|Forbidden|Unauthori[sz]ed|credential|\b40[13]\b", re.I),
        "access is denied; give credentials as the store's own tools take them (AWS_ACCESS_KEY_ID …), or check them",
    ),
    (
        re.compile(r"NETWORK_CONNECTION|resolve host|[Cc]ould not connect|Connection refused|Failed to connect"),
        "the store cannot be reached; check its name, region and endpoint",
    ),
)


class StorageError(OSError):
    """A store refused a call or failed."""


class _Bytes(io.RawIOBase):
    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        with _plain_errors():
            return bytes(self._file.read(size if size >= 0 else None))

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        with _plain_errors():
            return int(self._file.seek(offset, whence))

    def close(self) -> None:
        if not self.closed:
            super().close()
            with _plain_errors():
                self._file.close()


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file on this machine or in a store.

    Attributes:
        path: absolute path or URI for tables and messages, valid Unicode and without user and options.
        root: URI of its file system, with user and options; empty for this machine's.
        size: bytes on disk to read at most; None until it is measured.
        holds_requests: whether its content shows that it is a request log, whatever its name is.
    """

    path: str
    inner: str = field(repr=False)
    root: str = field(default="", repr=False)
    size: int | None = None
    modified: datetime | None = None
    inode: int | None = None
    holds_requests: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> tuple[str, str]:
        return self.root, self.inner.rpartition("/")[0]

    @property
    def folders(self) -> Path:
        """The path from which the settings take the broker's name: for a URI, /bucket/key."""
        _, is_uri, rest = self.path.partition("://")
        return Path(f"/{rest}") if is_uri and not self.path.startswith("/") else Path(self.path)

    def open(self) -> AbstractContextManager[RawBytes]:
        if not self.root:
            return open_regular(self.inner)
        with _plain_errors():
            return _Bytes(_file_system(self.root)[0].open_input_file(self.inner))

    def measured(self) -> "StoredFile":
        """Return the file with its present size, or the listed one if it is remote; raises OSError if it is gone."""
        if not self.root:
            status = os.stat(self.inner)
            modified = datetime.fromtimestamp(status.st_mtime, UTC)
            return replace(self, size=status.st_size, modified=modified, inode=status.st_ino)
        return self if self.size is not None else replace(self, size=_stat(self.root, self.inner).size)

    def is_replaced(self) -> bool:
        """Return whether another file has taken its path since it was measured; False if that can't be known."""
        return self.inode is not None and os.stat(self.inner).st_ino != self.inode


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file that is already open: reading goes on with its bytes even if another file takes its name.

    The caller that opened it closes it. `on_read` is called with the number of bytes of every read.
    """

    raw: RawBytes
    size: int | None
    on_read: Callable[[int], None] = lambda _: None

    def open(self) -> AbstractContextManager[RawBytes]:
        """Return the open file without rewinding it; callers seek."""
        return nullcontext(self)

    def read(self, size: int, /) -> bytes:
        piece = self.raw.read(size)
        self.on_read(len(piece))
        return piece

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self.raw.seek(offset, whence)


def readable(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def local_file(path: str | Path) -> StoredFile:
    absolute = os.path.abspath(path)
    return StoredFile(readable(absolute), absolute)


class Location(NamedTuple):
    """A path in a remote file system.

    Attributes:
        root: URI of the file system, with user and options.
        shown_root: the same without them.
        inner: the path inside, as the file system takes it.
    """

    root: str
    shown_root: str
    prefix: str
    inner: str

    def file(self, inner: str, size: int | None = None) -> StoredFile:
        key = inner[len(self.prefix) :].lstrip("/")
        return StoredFile(readable(f"{self.shown_root}/{key}"), inner, self.root, size)


def local_path(item: str) -> str | None:
    """Return the path on this machine that an item of LOGS names; None for a URI of a remote file."""
    if item.startswith("dbfs:"):
        rest = "/" + item.removeprefix("dbfs:").lstrip("/")
        return rest if rest.startswith("/Volumes/") else "/dbfs" + rest
    if item.startswith("file:"):
        path = "/" + item.removeprefix("file:").lstrip("/")
        return path if os.path.lexists(path) else unquote(path)
    return None if parsed_uri(item) else item


def locate(item: str) -> Location:
    """Return the location that a URI names; InputError says what is missing to open it."""
    uri = _uri(item)
    uri.check()
    root = f"{uri.scheme}://{uri.authority}" + (f"?{uri.query}" if uri.query else "")
    try:
        with _plain_errors():
            prefix = _file_system(root)[1].rstrip("/")
    except OSError as error:
        raise InputError(f"{readable(uri.shown)}: {error}") from None
    inner = f"{prefix}/{uri.key.strip('/')}".rstrip("/")
    # abfss://HOST:PORT has its container in the path
    if not prefix and uri.scheme not in _HADOOP_SCHEMES:
        inner = inner.lstrip("/")
    return Location(root, uri.shown_root, prefix, inner)


def shown_uri(item: str) -> str:
    return readable(item if local_path(item) is not None else _uri(item).shown)


def _uri(item: str) -> Uri:
    uri = parsed_uri(item)
    assert uri is not None, "local_path was asked before"
    return uri


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn any error of a library into a `StorageError`, with advice if the error is known."""
    try:
        yield
    except StorageError:
        raise
    except Exception as error:
        text = " ".join((str(error) or type(error).__name__).split())
        hint = next((advice for pattern, advice in _HINTS if pattern.search(text)), "")
        raise StorageError(f"{hint} ({text})" if hint else text) from None


@lru_cache(maxsize=64)
def _file_system(root: str) -> tuple[arrow_fs.FileSystem, str]:
    scheme, authority, _, query = _uri(root)
    if scheme in _HADOOP_SCHEMES:
        return _hadoop(root)
    if scheme in _ARROW_SCHEMES:
        options = _with_environment(query) if _ARROW_SCHEMES[scheme] == "s3" else query
        uri = f"{_ARROW_SCHEMES[scheme]}://{authority}/" + (f"?{options}" if options else "")
        try:
            system_and_path: tuple[arrow_fs.FileSystem, str] = arrow_fs.FileSystem.from_uri(uri)
            return system_and_path
        except (ValueError, NotImplementedError) as error:
            if "nrecognized filesystem" not in str(error) and "built" not in str(error):
                raise
    return _fsspec(scheme, f"{scheme}://{authority}")


def _with_environment(query: str) -> str:
    """Return the options of an s3 URI, with endpoint and region from the environment if the URI does not give them."""
    options = dict(parse_qsl(query))
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    scheme, separator, host = endpoint.rstrip("/").partition("://")
    if separator and "endpoint_override" not in options:
        options.update(endpoint_override=host, scheme=scheme)
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region:
        options.setdefault("region", region)
    return urlencode(options)


def _hadoop(root: str) -> tuple[arrow_fs.FileSystem, str]:
    try:
        return arrow_fs.FileSystem.from_uri(root + "/")[0], "/"
    except OSError as error:
        if "libhdfs" not in str(error) and "libjvm" not in str(error):
            raise
        if find_spec("hdfs_native") is not None:  # fsspec then uses it for these schemes
            return _fsspec(_uri(root).scheme, root)
        advice = (
            f"Hadoop's client is missing; {pip_install('remote')} and pip install hdfs-native, or set JAVA_HOME, HADOOP_HOME "
            "and CLASSPATH (`hadoop classpath --glob`)"
        )
        raise StorageError(f"{advice} ({error})") from None


def _fsspec(scheme: str, root: str) -> tuple[arrow_fs.FileSystem, str]:
    try:
        from fsspec.core import url_to_fs

        file_system, prefix = url_to_fs(root)
    except (ImportError, ValueError) as error:
        raise StorageError(f"{scheme}:// needs fsspec and its package for this scheme ({error})") from None
    return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(file_system)), str(prefix)


def _stat(root: str, inner: str) -> arrow_fs.FileInfo:
    with _plain_errors():
        (info,) = _file_system(root)[0].get_file_info([inner])
        if info.type is arrow_fs.FileType.NotFound:
            # the listing shows whether there is no such bucket, or no permission
            try:
                _file_system(root)[0].get_file_info(arrow_fs.FileSelector(inner))
            except FileNotFoundError:
                pass
            except OSError as error:
                if os.strerror(ENOENT) not in str(error):  # gs has no number for it
                    raise
        return info


def kind_of(location: Location) -> str:
    kinds = {arrow_fs.FileType.File: "file", arrow_fs.FileType.Directory: "folder"}
    info = _stat(location.root, location.inner)
    if info.type is arrow_fs.FileType.File and info.size == 0:
        with suppress(OSError):  # Hadoop writes an empty file for a folder if Azure's store has no folders
            if files_below(location, location.inner):
                return "folder"
    return kinds.get(info.type, "nothing")


def files_below(location: Location, inner: str, recursive: bool = True) -> Iterable[StoredFile]:
    with _plain_errors():
        selector = arrow_fs.FileSelector(inner, recursive=recursive, allow_not_found=True)
        infos = _file_system(location.root)[0].get_file_info(selector)
    return [location.file(info.path, info.size) for info in infos if info.type is arrow_fs.FileType.File]
