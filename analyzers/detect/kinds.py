"""The kinds of personal data and secrets that are looked for: a closed list.

``structured``: the value has a shape of its own, or stands under a name or label that says what it is, so that all of
them are to be found. The others are told by what usually stands around them, and some are missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

type Group = Literal["identity", "place", "git", "number", "secret", "content"]


class Described(NamedTuple):
    """What a kind is, in words for a table."""

    group: Group
    structured: bool
    words: str


KINDS: Mapping[str, Described] = {
    "email": Described("identity", True, "e-mail address"),
    "account_id": Described("identity", True, "id of an account"),
    "organization_id": Described("identity", True, "id of an organisation, workspace or project"),
    "device_id": Described("identity", True, "id of a device or installation"),
    "session_id": Described("identity", True, "id of a session or conversation"),
    "user_id": Described("identity", True, "id of a user"),
    "request_id": Described("identity", True, "id of a request to the API"),
    "user_name": Described("identity", False, "login or name of a person"),
    "home_path": Described("place", True, "path in somebody's home folder"),
    "path": Described("place", False, "path of work on this machine"),
    "host_name": Described("place", False, "name of a machine"),
    "os_version": Described("place", False, "operating system with its version"),
    "ip_address": Described("place", True, "IP address"),
    "mac_address": Described("place", True, "hardware address"),
    "git_identity": Described("git", False, "author of commits"),
    "git_remote": Described("git", True, "address of a repository"),
    "git_branch": Described("git", False, "name of a branch"),
    "git_commit": Described("git", False, "subject of a commit"),
    "phone": Described("number", False, "telephone number"),
    "credit_card": Described("number", True, "card number"),
    "iban": Described("number", True, "bank account"),
    "api_key": Described("secret", True, "key or token of a known shape"),
    "jwt": Described("secret", True, "JSON web token"),
    "private_key": Described("secret", True, "private key"),
    "connection_string": Described("secret", True, "address of a database with its password"),
    "url_credentials": Described("secret", True, "user and password in an address"),
    "authorization": Described("secret", True, "credentials of a header"),
    "secret_value": Described("secret", True, "value under a name that says secret"),
    "environment_value": Described("secret", True, "value in a dump of environment variables"),
    "claude_md": Described("content", False, "text of a CLAUDE.md"),
    "memory": Described("content", False, "text of the memory"),
    "user_context": Described("content", False, "context about the user"),
    "environment": Described("content", False, "description of the machine"),
    "git_status": Described("content", False, "state of the repository"),
    "hook_output": Described("content", False, "output of a hook"),
    "shell_output": Described("content", False, "output of a shell command"),
}

CONTENT = frozenset(kind for kind, told in KINDS.items() if told.group == "content")
"""Kinds that are whole passages of text, told by their label."""

SECRETS = frozenset(kind for kind, told in KINDS.items() if told.group == "secret")


class Span(NamedTuple):
    """A stretch of one text, in characters, and what it is."""

    start: int
    end: int
    kind: str
