"""The script to load: ``mitmdump -s addon/capture.py``. All it does is find the packages, from any working directory.

It never changes, because mitmproxy loads a script anew whenever its file is touched, and only that file.
"""

import logging
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# mitmproxy leaves the folder of a script on sys.path, where the names of its modules would shadow those of others.
sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != _HERE]
if str(_HERE.parent) not in sys.path:
    sys.path.insert(0, str(_HERE.parent))

addons: list[object] = []
try:
    from addon.recorder import Recorder

    addons.append(Recorder())
except ImportError as missing:
    # An error in the log while mitmproxy starts makes it stop.
    logging.getLogger(__name__).error(
        f"weighbridge cannot run in the Python of this mitmproxy ({missing}): start the mitmdump that "
        f"`pip install {_HERE.parent}` brings along, in an environment of its own."
    )
