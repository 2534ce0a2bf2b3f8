"""Servers that stand in for stores, on this machine alone, each for the length of a with block.

What they are made of comes from the package registries, once, into the cache of lab/upgrade_oracle.
"""

import base64
import json
import os
import socket
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from kafka_clientinfo.spark.session_files import spark_jars

from ..upgrade_oracle.real_broker import HOST, answers, process, read, ready_made

HERE = Path(__file__).parent
NPM = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", "{}"]
GCS, AZURITE, HDFS_NATIVE, ADLFS = "1.56.1", "3.35.0", "0.14.7", "2024.12.0"
ACCOUNT, CONTAINER = "standin", "lake"
KEY = base64.b64encode(b"a key that this test alone knows").decode()


class Store(NamedTuple):
    """A server that answers.

    Attributes:
        logs: the folder of the logs, as the package reads it.
        warehouse: a folder beside it, as Spark names it; the logs are in the folder of that name with `-logs`.
        conf: entries of the session's conf.
        modules: a folder with Python modules that reading needs, if it needs any.
        environment: what keeps the clients from asking other machines.
    """

    logs: str
    warehouse: str
    conf: dict[str, str]
    modules: str = ""
    environment: Mapping[str, str] = MappingProxyType({})


def hadoop_version() -> str:
    """The release of Hadoop that pyspark brings."""
    return next(spark_jars().glob("hadoop-client-api-*.jar")).stem.removeprefix("hadoop-client-api-")


def jars(scope: str) -> str:
    """A folder with the jars of pom.xml, of the scope `compile` or of `test` too."""
    copy = ["mvn", "-q", "-B", "-f", HERE / "pom.xml", "dependency:copy-dependencies", "-DoutputDirectory={}"]
    options = [f"-Dhadoop.version={hadoop_version()}", f"-DincludeScope={scope}"]
    return str(ready_made(f"stores-{scope}-{hadoop_version()}", [*copy, *options]))


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def gs(folder: Path) -> Iterator[Store]:
    """Google Cloud Storage, by fake-gcs-server."""
    package = f"github.com/fsouza/fake-gcs-server@v{GCS}"
    binary = ready_made(f"fake-gcs-server-{GCS}", ["env", "GOBIN={}", "go", "install", package]) / "fake-gcs-server"
    port = free_port()
    address = f"{HOST}:{port}"
    where = ["-scheme", "http", "-host", HOST, "-port", str(port), "-public-host", address]
    with process([binary, *where, "-backend", "memory"], folder / "gs.log", lambda: answers(port)):
        bucket = urllib.request.Request(
            f"http://{address}/storage/v1/b?project=test", json.dumps({"name": "lake"}).encode()
        )
        bucket.add_header("Content-Type", "application/json")
        urllib.request.urlopen(bucket, timeout=60).close()
        given = {
            "impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
            "storage.root.url": f"http://{address}/",
            "auth.service.account.enable": "false",
            "auth.null.enable": "true",
            "project.id": "test",
        }
        conf = {f"spark.hadoop.fs.gs.{key}": value for key, value in given.items()}
        conf["spark.hadoop.fs.AbstractFileSystem.gs.impl"] = "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFS"
        options = f"endpoint_override={address}&scheme=http&retry_limit_seconds=30"
        # what a run has staged is looked for without the options of LOGS
        nowhere = {"GCE_METADATA_ROOT": f"{HOST}:9", "CLOUD_STORAGE_EMULATOR_ENDPOINT": f"http://{address}"}
        yield Store(f"gs://anonymous@lake/w-logs?{options}", "gs://lake/w", conf | connectors(), environment=nowhere)


@contextmanager
def abfss(folder: Path) -> Iterator[Store]:
    """Azure's storage without hierarchical namespace, by Azurite, which has no other."""
    modules = ready_made(f"azurite-{AZURITE}", [*NPM, f"azurite@{AZURITE}"]) / "node_modules"
    port = free_port()
    command = [
        "env",
        f"AZURITE_ACCOUNTS={ACCOUNT}:{KEY}",
        "node",
        modules / "azurite" / "dist" / "src" / "blob" / "main.js",
    ]
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--loose", "--disableTelemetry", "--silent"]
    where = ["--blobHost", HOST, "--blobPort", str(port)]
    with process([*command, *where, *options], folder / "azurite.log", lambda: answers(port)):
        host = f"{ACCOUNT}.dfs.core.windows.net"
        given = {
            f"azure.account.key.{host}": KEY,
            f"azure.account.key.{ACCOUNT}.blob.core.windows.net": KEY,
            "azure.abfs.endpoint": f"{HOST}:{port}",
            "azure.always.use.https": "false",
            "azure.account.hns.enabled": "false",
            "azure.fns.account.service.type": "BLOB",
            "azure.createRemoteFileSystemDuringInitialization": "true",
        }
        conf = {f"spark.hadoop.fs.{key}": value for key, value in given.items()}
        # pyarrow takes an account's key in a URI only, which the package refuses; adlfs takes it from the environment
        install = [sys.executable, "-m", "pip", "install", "-qq", "--target", "{}", f"adlfs=={ADLFS}"]
        modules = ready_made(f"adlfs-{ADLFS}", install)
        connection = (
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
            f"BlobEndpoint=http://{HOST}:{port}/{ACCOUNT};"
        )
        environment = {"AZURE_STORAGE_CONNECTION_STRING": connection}
        warehouse = f"abfs://{CONTAINER}@{host}/w"
        yield Store(f"az://{CONTAINER}/w-logs", warehouse, conf | connectors(), str(modules), environment)


@contextmanager
def hdfs(folder: Path) -> Iterator[Store]:
    """HDFS itself, as its own tests run it. Logs are read by hdfs-native, as the registries have no libhdfs."""
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-qq",
        "--no-deps",
        "--target",
        "{}",
        f"hdfs-native=={HDFS_NATIVE}",
    ]
    modules = ready_made(f"hdfs-native-{HDFS_NATIVE}", install)
    port, output = free_port(), folder / "hdfs.log"
    path = os.pathsep.join(f"{place}/*" for place in (jars("test"), spark_jars()))
    command = ["java", "-Xmx400m", "-cp", path, HERE / "MiniHdfs.java", folder / "hdfs", str(port)]
    with process(command, output, lambda: "ready" in read(output).splitlines()):
        at = f"hdfs://localhost:{port}"
        yield Store(f"{at}/w-logs", f"{at}/w", {}, str(modules))


def connectors() -> dict[str, str]:
    """The entry of the conf that brings Spark what it needs for gs and abfss."""
    return {"spark.jars": ",".join(map(str, sorted(Path(jars("compile")).glob("*.jar"))))}
