"""The engine stands alone: importing it loads nothing outside the standard library and this package."""

import subprocess
import sys
from pathlib import Path

import kafka_clientinfo

PROGRAM = """
import sys
sys.path.append(sys.argv[1])
import kafka_clientinfo.protocol as protocol
protocol.released()
ours = {"kafka_clientinfo", "__main__"}
foreign = {name.split(".")[0] for name in sys.modules} - set(sys.stdlib_module_names) - ours
print(sorted(name for name in foreign if not name.startswith("_sysconfigdata")))
"""


def it_imports_only_the_standard_library() -> None:
    # -I -S: neither site-packages nor what the tests' own process has added to its path (Spark adds jars).
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(Path(kafka_clientinfo.__file__).parent.parent)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"
