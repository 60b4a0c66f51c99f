"""The made-up conversation of the demo: an agent at the weighbridge of a quarry, its tools, and four turns.

Data only. It is large enough for every model's prompt cache, and the same in every run: `captures.example`
is made of it.
"""

from typing import Any

MODEL = "claude-haiku-4-5"

_HANDBOOK = """\
You are the clerk at the weighbridge of Harrow Fell Quarry. Lorries come in empty, are weighed, load, are
weighed again and leave with a ticket. You talk to the drivers through the screen in the cabin and to the office
through this conversation. You can read the scales, look lorries up, check permits, book tickets and call
drivers; you cannot open the barrier yourself.

How we work here:

1. A lorry is weighed standing still, all axles on the deck, engine running or not. A reading counts when the
   indicator says "settled". If it has not settled after thirty seconds, ask the driver to take the foot off the
   brake, and weigh again. Never average two readings.
2. Gross weight is what the deck says. Tare is what the register says, unless the lorry was weighed empty today:
   then today's figure counts. Net is gross less tare. Write weights in kilograms, with a comma for the
   thousands, and loads in tonnes with two decimals.
3. Nobody leaves above the weight on the permit, not by twenty kilograms. Send the lorry back to the stockpile
   it came from, tell the driver how much has to come off, and weigh it again. An axle above its limit is the
   same as a lorry above its limit, even when the gross weight is fine.
4. A ticket names the lorry, the haulier, the material, gross, tare, net, the destination and the time. It is
   booked once. A wrong ticket is cancelled and booked anew, never changed.
5. Limestone from the upper bench is damp until noon in winter. Say so on the ticket, because the buyer pays for
   dry weight and takes off two per cent.
6. Sheet every load of dust and of anything under six millimetres. If the camera shows no sheet, do not book the
   ticket.
7. Deck 1 is for rigid lorries, deck 2 for articulated ones. Deck 2 reads in steps of twenty kilograms, deck 1
   in steps of ten.
8. When a lorry is not in the register, weigh it empty first and ask the office to enter it. Do not guess a tare
   from a similar lorry.
9. If something is unclear, say what you know, what you do not know, and who could tell. Do not fill gaps with
   likely figures: they end up on invoices.

Answer the office in two to five sentences, figures first. Answer drivers in one sentence.\
"""

_HAULIERS = ("Brackenridge Haulage", "Tolland & Daughters", "Fellside Tippers", "Marlow Aggregates", "Löwenthal Bulk")
_BODIES = (
    ("articulated, 6 axles", 44_000, 14_320),
    ("articulated, 5 axles", 40_000, 13_900),
    ("rigid, 4 axles", 32_000, 12_180),
)


def register(lorries: int = 130) -> str:
    """The register of known lorries, one per line."""
    lines = ["Register of lorries (plate | haulier | body | plated weight kg | tare kg | last tare):"]
    for at in range(lorries):
        body, plated, tare = _BODIES[at * 7 % 3]
        plate = f"{'QHKDNR'[at % 6]}{'LTVBW'[at % 5]} {1204 + at * 37}"
        day = f"2026-{10 + at % 2:02d}-{1 + at * 5 % 28:02d}"
        haulier, tare = _HAULIERS[at * 3 % 5], tare + at * 13 % 40 * 10
        lines.append(f"{plate} | {haulier} | {body} | {plated:,} | {tare:,} | {day}")
    return "\n".join(lines)


def _tool(name: str, description: str, required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name, "description": description, "input_schema": schema}


_PLATE = {
    "type": "string",
    "description": "The plate as it stands in the register, with its blank.",
    "pattern": "^[A-Z]{2} [0-9]{4}$",
}
_MATERIAL = {
    "type": "string",
    "enum": ["limestone 0-6", "limestone 6-20", "limestone 20-63", "armour stone", "dust", "topsoil"],
}
_DAY = {"type": "string", "format": "date", "description": "A day as YYYY-MM-DD, in the time of the site."}


def tools() -> list[dict[str, Any]]:
    """The tools of the clerk. The last one ends a cached prefix."""
    found = [
        _tool(
            "weigh_lorry",
            "Reads one deck of the weighbridge. Gives the gross weight in kilograms, the weight on each axle, "
            "whether the indicator has settled, the step of the deck, and the time of the reading. Waits up to "
            "thirty seconds for the indicator. Use it when a lorry stands on the deck, never to look up an "
            "earlier reading: those are on the tickets. It fails when the deck is empty, when more than one "
            "lorry stands on it, or when the plate that the camera reads is not the one you ask for; in each of "
            "these cases the answer says which, and no weight is given.",
            ["deck", "plate"],
            deck={"type": "integer", "enum": [1, 2], "description": "1 for rigid lorries, 2 for articulated ones."},
            plate=_PLATE,
        ),
        _tool(
            "check_permit",
            "Looks up the movement permit of a lorry: the highest gross weight, the limit of each axle, the "
            "materials it may carry, the roads it may use, and the last day on which the permit holds. A permit "
            "can be tighter than the plated weight in the register; then the permit counts. Gives conditions as "
            "the authority wrote them, so read them to the end: some close a road at certain hours or ask for a "
            "sheet.",
            ["plate"],
            plate=_PLATE,
            destination={
                "type": "string",
                "description": "Where the load goes: only the conditions on the way there are listed.",
            },
        ),
        _tool(
            "book_ticket",
            "Books the ticket of one load and prints it in the cabin and in the office. A ticket is booked once "
            "and cannot be changed. Do not book when the lorry is above its permit, when the reading has not "
            "settled, or when a load that needs a sheet has none. The net weight is worked out here from gross "
            "and tare and compared with what you give; when they differ, nothing is booked.",
            ["plate", "material", "gross_kg", "tare_kg", "net_kg", "destination"],
            plate=_PLATE,
            material=_MATERIAL,
            gross_kg={"type": "integer", "minimum": 0},
            tare_kg={"type": "integer", "minimum": 0},
            net_kg={"type": "integer", "minimum": 0},
            destination={"type": "string"},
            remark={"type": "string", "description": "Printed on the ticket.", "maxLength": 200},
        ),
        _tool(
            "find_tickets",
            "Finds tickets by any of lorry, haulier, material, destination and day, newest first, at most fifty. "
            "Each line has number, time, plate, material, gross, tare and net in kilograms, and whether the "
            "ticket was cancelled. Cancelled tickets are listed and do not count towards the sum that is given "
            "at the end.",
            [],
            plate=_PLATE,
            haulier={"type": "string"},
            material=_MATERIAL,
            destination={"type": "string"},
            day=_DAY,
        ),
        _tool(
            "cancel_ticket",
            "Cancels a ticket. The number stays taken, the reason is printed on the copy in the office. Only for "
            "tickets of today; older ones are the accountant's business.",
            ["number", "reason"],
            number={"type": "integer"},
            reason={"type": "string", "minLength": 10},
        ),
        _tool(
            "call_driver",
            "Shows one sentence on the screen in the driver's cabin and sounds the horn of the deck once. The "
            "driver can answer yes or no; the answer comes with the result, or null when there was none within a "
            "minute.",
            ["plate", "sentence"],
            plate=_PLATE,
            sentence={"type": "string", "maxLength": 120},
        ),
    ]
    found[-1]["cache_control"] = {"type": "ephemeral"}
    return found


def system() -> list[dict[str, Any]]:
    """The system prompt: the handbook, and the register, which ends a cached prefix."""
    return [
        {"type": "text", "text": _HANDBOOK},
        {"type": "text", "text": register(), "cache_control": {"type": "ephemeral"}},
    ]


_NOTE = """\
QL 1204 is on deck 2, loaded with limestone 20-63 for Tarn Road. Please weigh it and tell me whether it may
leave.

The driver handed in this note from the site, see whether we have to do anything about it:

> To the quarry. We can take six loads today, no more than that, the crusher stands from four o'clock. Please
> send nothing over 42 tonnes gross: the culvert at the bottom of the lane was patched last week and the council
> has put up a sign. Lorries have to come in from the north, turn in the yard and leave the same way; the school
> road is closed to us between eight and nine and again from three to four. If a load is damp, write it on the
> ticket this time, we had an argument with the accountant over the last invoice. And could the drivers please
> stop washing out the bodies on our side of the gate, the drain blocks every time. Thanks, the foreman.\
"""

_PERMIT = """\
permit HF-2291 for QL 1204, holds until 2027-03-31
gross 42,000 kg; axles 1: 7,000  2: 7,400  3 to 6: 7,500 kg
materials: limestone (all sizes), armour stone, topsoil
roads: A-road to Tarn Cross, then Tarn Road from the north; not over Mill Bridge
conditions: (1) loads of pieces under 6 mm and all dust are to be sheeted. (2) School road, Tarn: no passage
from 08:00 to 09:00 and from 15:00 to 16:00 on school days. (3) From 1 November to 28 February the haulier keeps
a speed of 30 km/h on the lane below the culvert. (4) The permit is to be carried in the cabin and shown on
demand.\
"""

_READING = (
    '{"deck": 2, "plate": "QL 1204", "gross_kg": 41860, "axles_kg": [6640, 7300, 6880, 7020, 7020, 7000], "settled": '
    'true, "step_kg": 20, "time": "2026-11-30T11:42:08"}'
)

_TICKETS = """\
no.   time   plate    material         gross   tare    net     state
4471  11:44  QL 1204  limestone 20-63  41,860  14,320  27,540  booked
4466  10:58  HT 1241  limestone 20-63  39,940  14,030  25,910  booked
4463  10:21  QL 1204  limestone 20-63  41,740  14,320  27,420  booked
4459  09:47  KV 1278  limestone 20-63  31,860  12,440  19,420  cancelled: wrong destination
4460  09:49  KV 1278  limestone 20-63  31,860  12,440  19,420  booked
4452  09:03  HT 1241  limestone 20-63  39,880  14,030  25,850  booked
5 tickets count, sum 126,140 kg net\
"""

ASKED: tuple[str | list[str], ...] = (
    _NOTE,
    [_READING, _PERMIT],
    "Good. Book the ticket, damp as usual at this hour, and tell me how much limestone has left for Tarn Road "
    "today. The foreman said six loads, how many are left?",
    ["ticket 4471 booked, printed in the cabin and in the office", _TICKETS],
)
"""What comes from the user in each turn: a text, or the results of the tools that were used, in order."""


def _use(name: str, **values: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": values}


ANSWERED: tuple[list[dict[str, Any]], ...] = (
    [
        {"type": "text", "text": "I will read deck 2 and look up the permit of QL 1204 for the way to Tarn Road."},
        _use("weigh_lorry", deck=2, plate="QL 1204"),
        _use("check_permit", plate="QL 1204", destination="Tarn Road"),
    ],
    [
        {
            "type": "text",
            "text": "Gross 41,860 kg, tare 14,320 kg by the register, so 27.54 t net. QL 1204 may leave: it is 140 "
            "kg below the 42,000 kg of its permit, and every axle is below its limit, the closest being axle 2 "
            "with 100 kg to spare. The reading has settled.\n\nFrom the note: 42 tonnes is also what the permit "
            "says, so nothing changes for this lorry. It must come in from the north and keep off the school "
            "road from 15:00 to 16:00; leaving now it is through well before. Stone of 20-63 needs no sheet. "
            "Whether the load is damp I cannot tell from here; if it is from the upper bench and it is before "
            "noon, I will write it on the ticket. The washing out is for the haulier, Brackenridge, to pass on.",
        }
    ],
    [
        {"type": "text", "text": "I will book it with the remark, then add up today's tickets for Tarn Road."},
        _use(
            "book_ticket",
            plate="QL 1204",
            material="limestone 20-63",
            gross_kg=41860,
            tare_kg=14320,
            net_kg=27540,
            destination="Tarn Road",
            remark="Upper bench, damp: weighed before noon.",
        ),
        _use("find_tickets", destination="Tarn Road", day="2026-11-30"),
    ],
    [
        {
            "type": "text",
            "text": "126.14 t of limestone have left for Tarn Road today, on five tickets; 4459 was cancelled and "
            "does not count. Ticket 4471 for QL 1204 is booked with 27.54 t and the remark that the stone is "
            "damp. Of the six loads one is left.",
        }
    ],
)
"""What the stub says in each turn."""
