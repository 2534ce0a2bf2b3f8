"""A session on a Spark Connect server, for `--remote` and SPARK_REMOTE.

The server's Python workers read the logs, so they need this package: the session ships it to them as a zip. Its other
requirements besides pyspark (pyarrow, zstandard, lz4, …) must be installed there.
"""

import atexit
import hashlib
import re
import tempfile
import zipfile
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from .. import resources
from ..errors import ConfigError, WarehouseError

_PACKAGE = "kafka_clientinfo"
_ANSWERS_WITHIN_SECONDS = 30


def remote_session(url: str) -> SparkSession:
    """Begin a session on a server, `sc://HOST:PORT/;NAME=VALUE`, and ship this package to its Python workers.

    The session ends with this process.

    Raises:
        ConfigError: pyspark here is of a later minor release than the server's Spark.
        ModuleNotFoundError: the client of Spark Connect is not installed.
        WarehouseError: the server does not answer, or refuses.
    """
    import grpc
    import grpc_status  # noqa: F401
    from pyspark.sql.connect.client import DefaultChannelBuilder

    server = url.partition("/;")[0]  # without parameters, which may hold a token
    try:
        # Wait here: the client would retry a call for ten minutes.
        with DefaultChannelBuilder(url).toChannel() as channel:
            grpc.channel_ready_future(channel).result(_ANSWERS_WITHIN_SECONDS)
        session: SparkSession = SparkSession.builder.remote(url).getOrCreate()
        # Stops what an interrupted command left running on the server, and frees what the session holds there.
        atexit.register(session.stop)
        _check_release(session.version)
        with tempfile.TemporaryDirectory(prefix="kafka-clientinfo-") as folder:
            session.addArtifacts(str(package_zip(Path(folder))), pyfile=True)
    except grpc.FutureTimeoutError:
        raise WarehouseError(f"no Spark Connect server answers at {server}") from None
    except ConfigError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise WarehouseError(f"no session of Spark Connect at {server}: {first}") from error
    return session


def _check_release(server: str) -> None:
    """Refuse a server with an older minor release of Spark than this client's, which may send what it does not know."""
    of_server, of_client = ([*map(int, re.findall(r"\d+", it)[:2])] for it in (server, pyspark.__version__))
    if len(of_server) == 2 and of_client > of_server:
        wanted = ".".join(map(str, of_server))
        raise ConfigError(
            f"the server has Spark {server}, this client pyspark {pyspark.__version__}; pip install 'pyspark=={wanted}.*'"
        )


def package_zip(folder: Path) -> Path:
    """Make an importable zip of this package; its name holds a hash of its content."""
    made = folder / f"{_PACKAGE}.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in sorted(_files().items()):
            archive.writestr(zipfile.ZipInfo(f"{_PACKAGE}/{name}"), file.read_bytes(), zipfile.ZIP_DEFLATED)
    digest = hashlib.sha256(made.read_bytes()).hexdigest()[:16]
    return made.rename(folder / f"{_PACKAGE}_{digest}.zip")


def _files() -> dict[Path, Path]:
    """Return files by their path in the package; a wheel has schemas/ and conf/ in it, a checkout beside it."""
    package = Path(__file__).parent.parent
    files = {file.relative_to(package): file for file in package.rglob("*")}
    for folder in (Path(str(resources.schemas())), Path(str(resources.conf()))):
        files |= {file.relative_to(folder.parent): file for file in folder.rglob("*")}
    return {name: file for name, file in files.items() if file.is_file() and file.suffix != ".pyc"}
