"""Known holes in the packages we pin. A hole fails; a service that cannot be asked is said in one line.

python -m tests.package_audit requirements.txt
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def verdict(report: dict[str, Any] | None, trouble: str) -> tuple[int, str]:
    """Exit code and words for what pip-audit reported, None where it reported nothing at all."""
    if report is None:
        return 0, f"Packages not audited: the service for known holes cannot be asked ({trouble})."
    packages = report["dependencies"]
    holes = [
        f"{package['name']} {package['version']}: {hole['id']}, mended in {', '.join(hole['fix_versions']) or 'nothing yet'}"
        for package in packages
        for hole in package.get("vulns", [])
    ]
    if holes:
        return 1, "\n".join(["Known holes in packages; pin a mended version:", *holes])
    asked = [package for package in packages if "skip_reason" not in package]
    if not asked:
        return 0, f"Packages not audited: the service for known holes knows none of the {len(packages)} asked for."
    unknown = f"; it does not know {len(packages) - len(asked)} more" if len(asked) < len(packages) else ""
    return 0, f"No known holes in {len(asked)} packages{unknown}."


def main(path: str) -> int:
    command = ["pip_audit", "-r", path, "--no-deps", "--disable-pip", "-f", "json", "--progress-spinner", "off"]
    done = subprocess.run(
        [sys.executable, "-m", *command, "--timeout", "10"], capture_output=True, text=True, check=False
    )
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = None
    code, words = verdict(report, (done.stderr.strip().splitlines() or ["no word"])[-1])
    print(words)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
