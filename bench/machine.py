"""What a reader must know about the machine."""

import os
import platform
import re
import statistics
import subprocess
import time


def facts(folder):
    cpu, memory = "unknown", "unknown"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = re.search(r"model name\s*: (.*)", file.read())[1]
        with open("/proc/meminfo", encoding="utf-8") as file:
            kib = int(re.search(r"MemTotal:\s+(\d+)", file.read())[1])
            memory = f"{kib / 2**20:.0f} GiB"
    except (OSError, TypeError):
        pass
    found = subprocess.run(["df", "--output=fstype", folder], stdout=subprocess.PIPE, text=True, check=False)
    kind = found.stdout.split()[-1] if found.returncode == 0 else "unknown"
    return {"date": time.strftime("%Y-%m-%d"), "cpu": cpu, "cpus": os.cpu_count(), "memory": memory,
            "kernel": platform.release(), "file system": f"{kind}, {sync_text(folder)}",
            "load": f"{os.getloadavg()[0]:.2f} before the run"}


def sync_text(folder):
    path, times = os.path.join(folder, f"weft-sync-{os.getpid()}"), []
    with open(path, "wb") as file:
        file.write(bytes(2**20))
        os.fsync(file.fileno())
        for number in range(200):
            file.seek(number * 4096)
            file.write(b"x" * 4096)
            file.flush()
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - begun) * 1e6)
    os.remove(path)
    return f"fdatasync of an overwritten 4 KiB {statistics.median(times):.0f} µs (median of 200)"
