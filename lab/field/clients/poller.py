"""A client made by hand: one request every so often on one connection; its correlation ids count on over its connections.

Arguments: ADDRESS PORT SECONDS CLIENT_ID HANDSHAKE REQUEST [SOURCE_PORT]. HANDSHAKE is yes, no, or once: whether ApiVersions
comes first on each connection, or on the first only. REQUEST is metadata, or offsets: ListOffsets v0, which is deprecated
in 3.9 and refused from 4.0 on. The environment's START_WITH names a file: the client begins when that holds something.
"""

import os
import socket
import struct
import sys
import time

ADDRESS, PORT, SECONDS, CLIENT_ID, HANDSHAKE, REQUEST, *SOURCE = sys.argv[1:]
API_VERSIONS = 18
METADATA = (3, 4, struct.pack(">i?", 0, False))
LIST_OFFSETS = (2, 0, struct.pack(">ii", -1, 0))


def frame(api_key: int, version: int, correlation_id: int, body: bytes) -> bytes:
    name = CLIENT_ID.encode()
    header = struct.pack(">hhih", api_key, version, correlation_id, len(name)) + name
    return struct.pack(">i", len(header + body)) + header + body


def ask(connection: socket.socket, request: bytes) -> None:
    connection.sendall(request)
    stream = connection.makefile("rb")
    size = stream.read(4)
    if len(size) < 4 or len(stream.read(struct.unpack(">i", size)[0])) < 4:
        raise ConnectionError("closed by the broker")


def connect() -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if SOURCE:
        connection.bind(("", int(SOURCE[0])))
    connection.settimeout(10)
    connection.connect((ADDRESS, int(PORT)))
    return connection


api_key, version, body = {"metadata": METADATA, "offsets": LIST_OFFSETS}[REQUEST]
correlation_id = 0
start_with = os.environ.get("START_WITH")
while start_with and not (os.path.exists(start_with) and os.path.getsize(start_with)):
    time.sleep(0.005)
while True:
    try:
        with connect() as connection:
            if HANDSHAKE == "yes" or (HANDSHAKE == "once" and correlation_id == 0):
                flexible = b"\0" + b"\x07poller" + b"\x041.0" + b"\0"
                ask(connection, frame(API_VERSIONS, 3, correlation_id, flexible))
                correlation_id += 1
            while True:
                ask(connection, frame(api_key, version, correlation_id, body))
                correlation_id += 1
                time.sleep(float(SECONDS))
    except OSError as error:
        print(time.time(), error, flush=True)
        time.sleep(3)
