"""Exchanges with personal data and secrets planted in them: every kind, in every place where clients put such data.

Each exchange is one made-up person's request, as Claude Code and the SDKs send it, with its answer. ``Plant`` says what
was put where, so a test can ask for each whether it was found, or is gone. All is made from a seed: the same seed, the
same exchanges. Nothing here is anybody's: names, hosts and keys are drawn from letters.
"""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from planted_people import HEX, LETTERS, Person

from analyzers.exchange import Exchange, Request, Response
from analyzers.wire.message import ApiError

type Json = Any


@dataclass(frozen=True, slots=True)
class Plant:
    """One planted value: ``path`` as ``privacy`` names it, ``layers`` the encodings around it, outermost first."""

    kind: str
    value: str
    path: str
    layers: tuple[str, ...] = ()


@dataclass(slots=True)
class Planted:
    """One exchange in its raw form, and what was planted in it."""

    body: dict[str, Json]
    headers: dict[str, str] = field(default_factory=dict)
    content: list[Json] = field(default_factory=list)
    error: str | None = None
    plants: list[Plant] = field(default_factory=list)

    def exchange(self, at: float = 0.0) -> Exchange:
        request = Request(self.body, time=1_796_000_000.0 + at, path="/v1/messages", headers=self.headers)
        told = ApiError("api_error", self.error, None) if self.error is not None else None
        response = Response(status=500 if told else 200, content=self.content, error=told)
        return Exchange(request, response, "error" if told else "completed", "planted:1")


type Sentence = tuple[str, Callable[[Person], str], Sequence[str]]

SENTENCES: Sequence[Sentence] = (
    ("email", lambda p: p.email, ("write to {}, please", "From: {p.first} <{}>", "I am {}.", "mailto:{}?subject=x")),
    ("account_id", lambda p: p.uuid(), ("account_uuid: {}", "accountId = '{}'", '"account_id": "{}"')),
    ("organization_id", lambda p: p.uuid(), ("anthropic-organization-id: {}", '{{"organizationUuid":"{}"}}')),
    ("organization_id", lambda p: f"org-{p.draw(LETTERS, 20)}7x", ("OpenAI-Organization {}",)),
    ("device_id", lambda p: p.draw(HEX, 64), ('"deviceId": "{}"', "machine_id={}")),
    ("session_id", lambda p: p.uuid(), ("session_id={}", "X-Claude-Code-Session-Id: {}", '"sessionId":"{}"')),
    ("request_id", lambda p: f"req_011{p.draw(LETTERS, 21)}", ("failed with {}", "request_id {}")),
    ("home_path", lambda p: p.work, ("cd {} && make", "in '{}'", "file://{}", "see {}: it fails")),
    ("home_path", lambda p: f"/Users/{p.login}/{p.word(6)}", ("open {}", "({})")),
    ("home_path", Person.windows_home, ("dir {}", "at {} on the laptop")),
    ("home_path", lambda p: p.windows_home().replace("\\", "\\\\"), ('{{"dir": "{}"}}',)),
    ("home_path", Person.dashed, ("projects/{}/memory", "the folder {}")),
    ("home_path", lambda p: f"~{p.login}/{p.word(6)}", ("ls {}",)),
    ("home_path", lambda p: f"\\\\wsl$\\Ubuntu\\home\\{p.login}\\{p.word(6)}", ("map {}",)),
    ("path", lambda p: f"/srv/{p.word(7)}/{p.word(8)}", ("deploys to {}", "ls {}")),
    ("path", lambda p: f"D:\\{p.word(8)}\\{p.word(8)}", ("dir {}",)),
    ("user_name", lambda p: p.login, ("{} logged in", "ask {}", "\ndrwxr-xr-x 2 {} staff 4096 May 1 .\n", "owner: {}")),
    ("host_name", lambda p: p.host, ("on {} the disk is full", "Linux {} 6.6.87-generic #1 SMP", "HOSTNAME={}")),
    ("host_name", lambda p: f"{p.word(8)}.{p.word(5)}.internal", ("ping {}", "http://{}:8080/x", "from {}")),
    ("ip_address", Person.ipv4, ("ssh root@{}", "inet {}/24", "http://{}:3000/", "connect {} refused")),
    ("ip_address", Person.ipv6, ("inet6 {}/64", "from {}")),
    ("mac_address", Person.mac, ("link/ether {} brd",)),
    ("git_identity", lambda p: f"{p.first} {p.last}",
        ("\nAuthor: {} <x@y.org>\n", "\nCo-authored-by: {} <a@b.org>\n", "the author, {}, left")),
    ("git_remote", Person.remote, ("\norigin\t{} (fetch)\n", "git clone {}", "git remote add up {}")),
    ("git_branch", lambda p: p.branch,
        ("\nOn branch {}\n", "Switched to branch '{}'", "merge {} first", "refs/heads/{}")),
    ("phone", Person.phone, ("call {}", "Tel. {}", "phone: {}")),
    ("credit_card", Person.card, ("card {} exp 04/29", "pay with {}.")),
    ("iban", Person.iban, ("to {} at once", "IBAN: {}")),
    ("api_key", Person.key,
        ("use {} for it", "export KEY={}", '"key": "{}",', "ANTHROPIC_API_KEY={}", "\n+API_KEY={}\n", "?key={}&x=1")),
    ("jwt", Person.jwt, ("token {} expired", "Cookie: s={}", "Authorization: Bearer {}")),
    ("private_key", Person.private_key, ("cat id:\n{}-----END PRIVATE KEY-----\n",)),
    ("private_key", lambda p: p.private_key("\\n"), ('"private_key": "{}-----END PRIVATE KEY-----\\n"',)),
    ("connection_string", Person.dsn, ("DATABASE_URL={}", "connect to {} please", "url = '{}'")),
    ("url_credentials", lambda p: f"{p.login}:{p.draw(LETTERS, 12)}", ("https://{}@host.example.org/x", "curl http://{}@10.0.0.8/")),
    ("authorization", lambda p: p.draw(LETTERS, 30) + "7",
        ("Authorization: Bearer {}", "-H 'authorization: {}'", "\nProxy-Authorization: Digest {}\n")),
    ("authorization", lambda p: base64.b64encode(f"{p.login}:{p.password()}9".encode()).decode(),
        ("Authorization: Basic {}",)),
    ("secret_value", Person.password, ("password={}", '"password": "{}"', "DB_PASSWORD: {}", "--password={} -v")),
    ("secret_value", lambda p: p.draw(LETTERS, 31) + "7",
        ("client_secret: {}", "x-api-key: {}", "x-goog-api-key: {}", "auth_token = '{}'",
        "\n   12\tAPI_KEY={}\n", "secretAccessKey: '{}'", "AccountKey={};", "api_key={}&y=2")),
)  # fmt: skip
"""Kind, value, and what stands around it. Those of one person come again and again, as they do."""

PLAIN = "Look at the scale, and say which of the lorries was too heavy this week. {} Then go on with the report."


def encoded(text: str, how: tuple[str, ...]) -> str:
    """A text in some encodings, the last one innermost."""
    for one in reversed(how):
        if one == "json":
            text = json.dumps({"note": text, "ok": True})
        elif one == "escapes":
            text = "data: " + "".join(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else char for char in text)
        elif one == "percent":
            text = "https://host.example.org/?q=" + urllib.parse.quote(text, safe="")
        elif one == "base64":
            text = base64.b64encode(text.encode()).decode()
        elif one == "hex":
            text = text.encode().hex()
    return text


LAYERS: Sequence[tuple[str, ...]] = (
    (), (), (), ("json",), ("json", "json"), ("json", "json", "json"), ("escapes",), ("percent",), ("base64",),
    ("hex",), ("json", "base64"), ("base64", "json"), ("json", "percent"),
)  # fmt: skip


def planted(seed: int) -> Planted:
    """One exchange with about a hundred plants."""
    person = Person(seed)
    made = Planted(body={"model": "claude-opus-5-5", "max_tokens": 32000, "stream": True})
    body, plant = made.body, _planter(made)
    _system(person, body, plant)
    _messages(person, body, plant)
    _tools(person, body, plant)
    _beside(person, made, plant)
    _answer(person, made, plant)
    for one in made.plants:
        assert len(one.value) >= 8, one.kind
    return made


def corpus(count: int = 24, seed: int = 7) -> list[Planted]:
    """Some exchanges, each of another person."""
    return [planted(seed * 1000 + number) for number in range(count)]


type _Plant = Callable[..., str]


def _planter(made: Planted) -> _Plant:
    def plant(kind: str, value: str, path: str, layers: tuple[str, ...] = ()) -> str:
        made.plants.append(Plant(kind, value, path, layers))
        return value

    return plant


def _system(p: Person, body: dict[str, Json], plant: _Plant) -> None:
    def at(kind: str, value: str, index: int) -> str:
        return plant(kind, value, f"system[{index}].text")

    last = at("request_id", "req_011" + p.draw(LETTERS, 21), 0)
    billing = f"x-anthropic-billing-header: cc_version=2.1.258; last {last}"
    status = (
        f"gitStatus: This is the git status at the start.\n\nCurrent branch: {at('git_branch', p.branch, 3)}\n\n"
        f"Main branch (you will usually use this for PRs): main\n\n"
        f"Git user: {at('git_identity', f'{p.first} {p.last}', 3)}\n\nStatus:\nM {p.word(5)}.py\n\nRecent commits:\n"
        f"a1b2c3d {at('git_commit', f'Weigh {p.word(7)} twice', 3)}\n"
        f"9f8e7d6 {at('git_commit', f'Drop {p.word(9)}', 3)}\n"
    )
    environment = (
        f"# Environment\nYou have been invoked in the following environment: \n"
        f" - Primary working directory: {at('home_path', p.work, 2)}\n - Is a git repository: true\n"
        f" - Shell: zsh\n - OS Version: {at('os_version', 'Linux 6.6.' + p.draw('123456789', 2) + '-generic', 2)}\n"
    )
    folder = f"{p.home}/.claude/projects/{p.dashed()}/memory"
    memory = (
        f"# Memory\nYou have a memory directory at {at('home_path', folder, 4)}\n"
        f"- {at('memory', f'{p.first} likes {p.word(8)}', 4)}\n"
    )
    texts = (billing, "You are Claude Code, Anthropic's official CLI for Claude.", environment, status, memory)
    body["system"] = [{"type": "text", "text": text} for text in texts]


def _messages(p: Person, body: dict[str, Json], plant: _Plant) -> None:
    def first(kind: str, value: str, index: int) -> str:
        return plant(kind, value, f"messages[0].content[{index}].text")

    project, local = f"{p.work}/CLAUDE.md", f"{p.work}/CLAUDE.local.md"
    index = f"{p.home}/.claude/projects/x/memory/MEMORY.md"
    context = (
        "<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# claudeMd\n"
        f"Contents of {first('home_path', project, 0)} (project instructions, checked into the codebase):\n\n"
        f"{first('claude_md', f'Always call the yard {p.word(8)}', 0)}\n\n"
        f"Contents of {first('home_path', local, 0)} (user's private project instructions, not checked in):\n\n"
        f"{first('claude_md', f'My desk is in {p.word(9)}', 0)}\n\n"
        f"Contents of {first('home_path', index, 0)} (user's auto-memory, persists across conversations):\n\n"
        f"- {first('memory', f'prefers {p.word(9)}', 0)}\n"
        f"# userEmail\nThe user's email address is {first('email', p.email, 0)}.\n"
        "# currentDate\nToday's date is 2026-11-30.\n\n      IMPORTANT: this context may or may not be relevant.\n"
        "</system-reminder>\n"
    )
    hook = (
        "<system-reminder>\nSessionStart hook additional context: "
        f"{first('hook_output', f'yard {p.word(9)} open', 1)}, host {first('host_name', p.host, 1)} "
        f"by {first('user_name', p.login, 1)}\n"
        "</system-reminder>\n"
    )
    shell = (
        f"<bash-stdout>{plant('user_name', p.login, 'messages[0].content[2].text')}\n"
        f"{plant('host_name', p.host, 'messages[0].content[2].text')}</bash-stdout><bash-stderr></bash-stderr>"
    )
    environment = (
        f"# Environment\n - Primary working directory: {plant('home_path', p.work, 'messages[1].content')}\n"
        f" - OS Version: {plant('os_version', 'Darwin 25.' + p.draw('123456789', 1) + '.0', 'messages[1].content')}\n"
    )
    messages: list[Json] = [
        {"role": "user", "content": [{"type": "text", "text": text} for text in (context, hook, shell)]},
        {"role": "system", "content": environment},
    ]
    body["messages"] = messages
    _calls(p, messages, plant)
    _sentences(p, messages, plant)


def _calls(p: Person, messages: list[Json], plant: _Plant) -> None:
    n = len(messages)
    file = f"{p.work}/{p.word(6)}.py"
    plant("home_path", file, f"messages[{n}].content[0].input.file_path")
    call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": file}}
    run = {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {"command": "env; ls -la"}}
    messages.append({"role": "assistant", "content": [call, run]})
    path = f"messages[{n + 1}].content[0].content"
    listing = (
        f"total 8\ndrwxr-xr-x 2 {plant('user_name', p.login, path)} staff 4096 Nov 30 09:00 .\n"
        f"-rw-r--r-- 1 {p.login} staff  120 Nov 30 09:00 notes.txt\n"
    )
    path = f"messages[{n + 1}].content[1].content[0].text"
    values = {
        "HOME": p.home, "USER": p.login, "HOSTNAME": p.host, "CLAUDE_CODE_MESSAGING_TOKEN": p.draw(LETTERS, 30) + "5",
        "STRIPE": p.draw(LETTERS, 26), "DATABASE_URL": p.dsn(), "PLAIN": p.word(10), "QUOTED": p.password(),
    }  # fmt: skip
    kinds = {"HOME": "home_path", "DATABASE_URL": "connection_string"}
    lines = []
    for name, value in values.items():
        plant(kinds.get(name, "environment_value"), value, path)
        prefix = p.random.choice(("", "export ", "   12\t", "+"))
        lines.append(f'{prefix}{name}="{value}"' if name == "QUOTED" else f"{prefix}{name}={value}")
    newline = p.random.choice(("\n", "\r\n"))
    dump = "\ufeff" * p.random.randrange(2) + newline.join([*lines[:3], "# a comment", "", *lines[3:]]) + newline
    results = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": listing},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": dump}]},
    ]
    messages.append({"role": "user", "content": results})


def _sentences(p: Person, messages: list[Json], plant: _Plant) -> None:
    """Each kind once in a sentence, in a carrier and an encoding drawn for it."""
    for kind, make, around in SENTENCES:
        value, layers = make(p), p.random.choice(LAYERS)
        sentence = p.random.choice(around).format(value, p=p)
        text = encoded(PLAIN.format(sentence), layers)
        n = len(messages)
        block, inside = _carrier(p, text)
        messages.append({"role": "user" if block["type"] != "tool_use" else "assistant", "content": [block]})
        plant(kind, value, f"messages[{n}].content[0].{inside}", layers)


def _carrier(p: Person, text: str) -> tuple[dict[str, Json], str]:
    choice = p.random.randrange(5)
    block: dict[str, Json] = {"type": "text", "text": text}
    if choice == 0:
        return {"type": "tool_result", "tool_use_id": "t", "content": text}, "content"
    if choice == 1:
        return {"type": "tool_result", "tool_use_id": "t", "content": [block]}, "content[0].text"
    if choice == 2:
        given = {"file": "a", "content": text}
        return {"type": "tool_use", "id": "t", "name": "Write", "input": given}, "input.content"
    if choice == 3:
        source = {"type": "text", "media_type": "text/plain", "data": text}
        return {"type": "document", "source": source}, "source.data"
    return block, "text"


def _tools(p: Person, body: dict[str, Json], plant: _Plant) -> None:
    description = f"Asks the yard. Runs in {plant('home_path', p.work, 'tools[0].description')} as the user"
    name = plant("home_path", p.dashed(), "tools[0].input_schema.properties.(key)")
    plant("email", p.email, f"tools[0].input_schema.properties.{_short(name)}.default")
    schema = {"type": "object", "properties": {name: {"type": "string", "default": p.email}}}
    body["tools"] = [{"name": "ask", "description": description, "input_schema": schema}]
    token = plant("secret_value", p.draw(LETTERS, 30) + "3", "mcp_servers[0].authorization_token")
    server = {"type": "url", "name": "yard", "url": "https://mcp.example.org", "authorization_token": token}
    body["mcp_servers"] = [server]


def _short(name: str) -> str:
    """How a path shows a key that holds something."""
    return f"({len(name)} characters)"


def _beside(p: Person, made: Planted, plant: _Plant) -> None:
    ids = {"device_id": p.device, "account_uuid": p.account, "session_id": p.session}
    kinds = {"device_id": "device_id", "account_uuid": "account_id", "session_id": "session_id"}
    old = p.random.random() < 0.3
    for name, value in ids.items():
        plant(kinds[name], value, "metadata.user_id", () if old else ("json",))
    old_form = f"user_{p.device}_account_{p.account}_session_{p.session}"
    made.body["metadata"] = {"user_id": old_form if old else json.dumps(ids, separators=(",", ":"))}
    header = "x-claude-code-session-id"
    made.headers[header] = plant("session_id", p.session, f"request.headers.{header}")
    base = "safeguards[0].classifier_context"
    remotes = [f"{p.word(6)}.{p.word(4)}.io/{p.word(7)}/{p.word(8)}" for _ in range(3)]
    git, trusted = f"{base}.git_state", f"{base}.trusted_directories.primary.path"
    seen = f"{git}.visibility"
    context = {
        "user_identity": plant("user_name", f"{p.first}.{p.last}".lower(), f"{base}.user_identity"),
        "live_cwd": plant("home_path", p.work, f"{base}.live_cwd"),
        "home_dir": plant("home_path", p.home, f"{base}.home_dir"),
        "rule_roots": {"user": plant("home_path", f"{p.home}/.claude", f"{base}.rule_roots.user")},
        "trusted_directories": {"primary": {"path": plant("path", f"/{p.word(5)}/{p.word(8)}", trusted)}},
        "git_state": {
            "branch": plant("git_branch", p.branch, f"{git}.branch"),
            "cwd": plant("home_path", p.work, f"{git}.cwd"),
            "root": plant("home_path", p.work, f"{git}.root"),
            "visibility": {
                "origin": {"remote": plant("git_remote", remotes[0], f"{seen}.origin.remote")},
                "remotes": [{"remote": plant("git_remote", remotes[1], f"{seen}.remotes[0].remote")}],
                "visibility_cache": [{"remote": plant("git_remote", remotes[2], f"{seen}.visibility_cache[0].remote")}],
            },
        },
    }  # fmt: skip
    made.body["safeguards"] = [{"type": "auto_mode", "classifier_context": context}]


def _answer(p: Person, made: Planted, plant: _Plant) -> None:
    command = f"cd {plant('home_path', p.work, 'response.content[1].input.command')} && ls"
    made.content = [
        {"type": "text", "text": f"I wrote to {plant('email', p.email, 'response.content[0].text')}."},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": command}},
    ]
    if p.random.random() < 0.3:
        made.error = f"cannot call https://x.example.org/?key={plant('api_key', p.key(), 'response.error.message')}"


def plants(made: Sequence[Planted]) -> Iterator[tuple[int, Plant]]:
    """All plants with the number of their request."""
    for n, one in enumerate(made, 1):
        for plant in one.plants:
            yield n, plant
