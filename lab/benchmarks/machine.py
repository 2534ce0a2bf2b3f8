"""Describes the machine and the versions that figures were measured with."""

import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path

from .log_templates import ROOT

PACKAGES = ("kafka-clientinfo", "pyspark", "delta-spark", "pyarrow", "polars", "duckdb")


def describe() -> dict[str, str]:
    """Processor, memory, system and versions, each as a short text."""
    processor = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    return {
        "processor": processor[1] if processor else platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{int(memory[1]) / 1e6:.0f} GB" if memory else "unknown",
        "system": f"{platform.system()} {platform.release()}",
        "java": _java(),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "commit": _commit(),
    }


def busy() -> float:
    """Load average of the last minute: how busy the machine was with other things."""
    return round(os.getloadavg()[0], 2)


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    command = [f"{home}/bin/java" if home else "java", "-version"]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()
    except OSError:
        return "none"
    return next((line for line in lines if "Runtime" in line), lines[0] if lines else "unknown")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    except OSError:
        return "unknown"
