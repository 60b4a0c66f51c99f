"""What mitmproxy and mitmweb get beside the recorder: the content view, and the commands ``weighbridge.show`` and
``weighbridge.redact``. It comes and goes with the recorder, one of whose ``addons`` it is.
"""

import asyncio
import importlib
import logging
import os
from collections.abc import Sequence

from mitmproxy import addonmanager, command, ctx, exceptions, flow, http, types
from mitmproxy.log import ALERT
from mitmproxy.utils import asyncio_utils

from addon.contentview import MessagesContentview, Telling, register, unregister
from addon.flow_exchange import Told, route_of
from analyzers.wire.routes import Route

type Chosen = tuple[http.HTTPFlow, Route, Told | None]

logger = logging.getLogger(__name__)


class Screens:
    """``told``: what the recorder knows of a flow."""

    name = "weighbridge.screens"

    def __init__(self, told: Telling) -> None:
        self._told = told
        self._view = MessagesContentview(told)

    def load(self, loader: addonmanager.Loader) -> None:
        """Add the content view."""
        register(self._view)

    def running(self) -> None:
        """Where flows are looked at, load what shows them now rather than while traffic waits."""
        if "view" in ctx.master.addons.lookup:
            importlib.import_module("addon.flow_tables")
            importlib.import_module("addon.chain_law")

    def done(self) -> None:
        """Take the content view away: mitmproxy stops, or the next instance brings its own."""
        unregister(self._view)

    @command.command("weighbridge.show")  # type: ignore[untyped-decorator]
    def show(self, flow: flow.Flow) -> Sequence[str]:
        """A request to the Messages API taken apart: fields, blocks, structure, the steps to the bytes on the wire, and
        what its answer cost."""
        if not isinstance(flow, http.HTTPFlow):
            raise exceptions.CommandError("This flow is not HTTP: there is nothing to weigh.")
        try:
            from addon.flow_tables import flow_lines

            return list(flow_lines(flow, self._told(flow)))
        except Exception as error:
            raise exceptions.CommandError(
                f"weighbridge could not take this flow apart ({type(error).__name__}: {error}). Please report it."
            ) from error

    @command.command("weighbridge.redact")  # type: ignore[untyped-decorator]
    def redact(self, flows: Sequence[flow.Flow], path: types.Path) -> None:
        """Write a capture of these flows that can be shared: every text scrambled, every exact figure the same. What
        the models answered is not in it, but for its figures. The outcome is told in the log."""
        chosen = [
            (one, route, self._told(one))
            for one in flows
            if isinstance(one, http.HTTPFlow) and (route := route_of(one)) is not None
        ]
        if not chosen:
            raise exceptions.CommandError("None of these flows is a request to the Messages API.")
        place = os.path.abspath(path)
        if os.path.exists(place):
            raise exceptions.CommandError(f"{place} is there already: give another place.")
        if not os.path.isdir(os.path.dirname(place)):
            raise exceptions.CommandError(f"There is no folder {os.path.dirname(place)}: make it first.")
        # another process does the work, and a thread waits for it: traffic goes on
        asyncio_utils.create_task(_redacting(chosen, place), name="weighbridge.redact", keep_ref=True)


async def _redacting(chosen: Sequence[Chosen], place: str) -> None:
    from addon.redacted_flows import NotWritten, write_redacted

    try:
        outcome = await asyncio.to_thread(write_redacted, chosen, place)
    except NotWritten as error:
        logger.error(f"weighbridge.redact: {error}")
    except Exception as error:  # nothing was written
        logger.error(f"weighbridge.redact failed ({type(error).__name__}: {error}). Please report it.")
    else:
        logger.log(ALERT, f"weighbridge.redact {outcome}")
