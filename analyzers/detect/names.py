"""What a name says of the value that stands under it: a JSON key, a variable, a header, a label.

Names are compared without case and separators (``API_KEY``, ``apiKey``, ``X-Api-Key``), and a value counts only when it
looks like one: ``max_tokens`` names no token, and under ``password`` may stand a sentence about passwords.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from analyzers.detect.placeholders import is_placeholder

type Named = Literal[
    "password", "secret", "key", "account_id", "organization_id", "device_id", "session_id", "request_id", "user_id",
    "user_name", "person", "host_name", "git_identity", "git_remote", "git_branch", "phone", "path",
]  # fmt: skip
"""What names say. ``password``: any value is secret; ``secret``: most are; ``key``: only one that looks random;
``person``: a name with blanks in it."""

_LONGEST = 80
_SEPARATORS = re.compile(r"[^a-z0-9]+")

# fmt: off
_EXACT: dict[str, Named] = {
    **dict.fromkeys(("accountuuid", "accountid", "useruuid", "accountuserid", "awsaccountid"), "account_id"),
    **dict.fromkeys((
        "organizationuuid", "organizationid", "organisationid", "organisationuuid", "orgid", "orguuid",
        "anthropicorganizationid", "openaiorganization", "workspaceid", "workspaceuuid", "tenantid", "teamid",
        "subscriptionid",
    ), "organization_id"),
    **dict.fromkeys((
        "deviceid", "machineid", "anonymousid", "installationid", "installid", "hardwareid", "serialnumber",
        "distinctid",
    ), "device_id"),
    **dict.fromkeys((
        "sessionid", "conversationid", "xclaudecodesessionid", "xclaudecodepromptid", "xsessionid", "xsessionaffinity",
        "xopencodesession", "parentsessionid", "remotesessionid", "claudecodesessionid", "chatid",
    ), "session_id"),
    **dict.fromkeys((
        "requestid", "xrequestid", "xclientrequestid", "xamznrequestid", "clientrequestid",
    ), "request_id"),
    **dict.fromkeys(("userid", "customerid"), "user_id"),
    **dict.fromkeys((
        "username", "login", "loginname", "useridentity", "osuser", "logname", "sudouser", "currentuser", "user",
        "committeruser", "screenname", "whoami",
    ), "user_name"),
    **dict.fromkeys(("displayname", "fullname", "realname", "firstname", "lastname", "surname"), "person"),
    **dict.fromkeys(("hostname", "computername", "nodename", "machinename", "fqdn", "host", "servername"), "host_name"),
    **dict.fromkeys((
        "author", "committer", "authorname", "committername", "gitauthorname", "gitcommittername", "gituser",
        "gitusername", "coauthor", "gitidentity",
    ), "git_identity"),
    **dict.fromkeys((
        "remote", "origin", "remoteurl", "repository", "repositoryurl", "giturl", "cloneurl", "sshurl", "upstream",
        "repo",
        "remoteoriginurl",
    ), "git_remote"),
    **dict.fromkeys((
        "branch", "gitbranch", "currentbranch", "mainbranch", "headbranch", "headref", "basebranch", "baseref",
        "defaultbranch", "branchname",
    ), "git_branch"),
    **dict.fromkeys(("phone", "phonenumber", "mobile", "tel", "telephone", "cell", "fax", "mobilephone"), "phone"),
    **dict.fromkeys((
        "cwd", "livecwd", "homedir", "home", "pwd", "oldpwd", "workdir", "workingdirectory", "workingdir",
        "projectpath",
        "projectdir", "projectroot", "transcriptpath", "filepath", "notebookpath", "filename", "root", "directory",
        "primaryworkingdirectory", "gitroot", "worktree", "worktreepath",
    ), "path"),
    **dict.fromkeys(("pin", "pincode", "otp", "cvv", "cvc"), "password"),
}
# fmt: on
_PASSWORD = re.compile(r"(?:password|passwd|passphrase|passwort|pgpass|mysqlpwd|userpwd|dbpass|smtppass)[0-9]{0,3}\Z")
_SECRET = re.compile(
    r"(?:apikey|apisecret|apitoken|accesstoken|accesskey|accesskeyid|secretaccesskey|secretkey|authtoken|authkey"
    r"|refreshtoken|idtoken|clientsecret|appsecret|privatekey|signingkey|signingsecret|encryptionkey|masterkey"
    r"|sessiontoken|securitytoken|bearertoken|authorizationtoken|oauthtoken|messagingtoken|bottoken|servicetoken"
    r"|personalaccesstoken|deploykey|webhooksecret|jwtsecret|secretkeybase|accountkey|sharedaccesskey|credittoken"
    r"|xauthtoken|credential|credentials|connectionstring|secret|sas|npmtoken|githubtoken|ghtoken|hftoken|csrftoken"
    r"|xsrftoken|sshkey|licensekey|sessionkey|setcookie|cookie)[0-9]{0,3}\Z"
)
_KEY = re.compile(r"(?:key|token|auth|authorization|xamzsignature|xgoogsignature|salt|nonce|dsn|pat)[0-9]{0,3}\Z")
_NO_KEY = re.compile(
    r"(?:max|min|input|output|total|prompt|completion|cached?|primary|public|foreign|sort|partition|index|object|hot"
    r"|map|row|dict|group|page|next|continuation|stop|eos|bos|pad|special|group|idempotency|routing|shortcut|json|cache"
    r"|i18n|translation|query|config|env|by)(?:key|token)\Z"
)
_ID_NAME = re.compile(
    r"(account|organi[sz]ation|device|machine|installation|session|conversation|request|user)(?:uu)?id\Z"
)
_OF_ID: dict[str, Named] = {
    "account": "account_id", "organization": "organization_id", "organisation": "organization_id",
    "device": "device_id", "machine": "device_id", "installation": "device_id", "session": "session_id",
    "conversation": "session_id", "request": "request_id", "user": "user_id",
}  # fmt: skip
IDS = frozenset(("account_id", "organization_id", "device_id", "session_id", "request_id", "user_id"))
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:|@+=-]{3,127}")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,252}")
_LOGIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{1,63}\$?")
_PERSON = re.compile(r"[^\W\d_][^\n\r<>{}()\[\]\"=;:/\\|]{1,79}")
_BRANCH = re.compile(r"[A-Za-z0-9._/#@+-]{2,250}")
_REMOTE = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|[\w.-]{1,64}@)?[\w.-]{1,253}\.[\w.-]{2,63}(?::[0-9]{1,5})?[:/]\S{1,500}"
)
_PHONE = re.compile(r"\+?[0-9(][0-9 ().\-/]{5,24}[0-9]")
_PATH = re.compile(r"(?:/|[A-Za-z]:[\\/]|\\\\|~/)\S.{0,2000}", re.DOTALL)
_CODE = re.compile(r"[A-Za-z_]\w*(?:(?:\.[A-Za-z_]\w*)+(?:[(\[].*)?|[(\[].*)", re.DOTALL)

GENERIC_USERS = frozenset(
    ("root", "user", "users", "admin", "administrator", "ubuntu", "debian", "runner", "node", "app", "test", "dev",
     "git",
     "www-data", "nobody", "daemon", "shared", "public", "default", "guest", "home", "vscode", "jovyan", "claude", "me",
     "assistant", "system", "human", "username", "you", "your-name", "postgres", "mysql", "redis", "docker",
     "staff", "wheel", "sudo", "adm", "nogroup", "operator", "everyone", "none", "bin", "mail")
)  # fmt: skip
"""Logins that tell nobody from anybody."""
GENERIC_HOSTS = frozenset(
    ("localhost", "host", "hostname", "none", "default", "server", "0.0.0.0", "::1", "127.0.0.1", "kernel")
)
_VENDORS = ("anthropic.com", "claude.ai", "amazonaws.com", "googleapis.com", "azure.com", "openai.com", "github.com")
GENERIC_BRANCHES = frozenset(("main", "master", "head", "trunk", "develop", "dev", "gh-pages", "none", "true", "false"))


@lru_cache(1 << 14)
def said_by(name: str) -> Named | None:
    """What a name says of its value; None for most."""
    if len(name) > _LONGEST:
        return None
    plain = _SEPARATORS.sub("", name.lower())
    exact = _EXACT.get(plain)
    if exact is not None:
        return exact
    if _PASSWORD.search(plain):
        return "password"
    if (of := _ID_NAME.search(plain)) is not None:
        return _OF_ID[of[1]]
    if _SECRET.search(plain) and not plain.endswith("publickey"):
        return "secret"
    if _KEY.search(plain) and not _NO_KEY.search(plain):
        return "key"
    return None


def kind_of(named: Named, value: str, *, literal: bool) -> str | None:
    """The kind of a value under a name that says something; None where it does not look like one. ``literal``: it was
    a whole JSON or quoted string, so that it is no piece of a program."""
    if named in ("password", "secret", "key"):
        return "secret_value" if _is_secret(named, value, literal) else None
    if not value or is_placeholder(value):
        return None
    if named in IDS:
        fits = ID.fullmatch(value) is not None and any(map(str.isdigit, value))
        return named if fits else None
    if named == "path":
        return None  # paths are told by their own shape; see ``paths``
    if said_by(value) is not None or (not literal and _CODE.fullmatch(value)):
        return None  # another name, or a piece of a program
    return named if named != "person" and _FITS[named](value, literal) else _person(named, value)


def _person(named: Named, value: str) -> str | None:
    return "user_name" if named == "person" and _PERSON.fullmatch(value) else None


def _is_login(value: str, literal: bool) -> bool:
    return _LOGIN.fullmatch(value) is not None and value.lower() not in GENERIC_USERS and not value.isdigit()


def _is_host(value: str, literal: bool) -> bool:
    return (
        _HOST.fullmatch(value) is not None
        and value.lower() not in GENERIC_HOSTS
        and (any(map(str.isdigit, value)) or "-" in value or "." in value or literal)
        and not value.replace(".", "").isdigit()
        and not value.endswith(_VENDORS)
    )


def _is_branch(value: str, literal: bool) -> bool:
    return _BRANCH.fullmatch(value) is not None and value.lower() not in GENERIC_BRANCHES


_FITS: dict[Named, Callable[[str, bool], bool]] = {
    "user_name": _is_login,
    "host_name": _is_host,
    "git_branch": _is_branch,
    "git_identity": lambda value, literal: _PERSON.fullmatch(value) is not None and (literal or " " in value),
    "git_remote": lambda value, literal: _REMOTE.fullmatch(value) is not None,
    "phone": lambda value, literal: _PHONE.fullmatch(value) is not None,
}


_FEWEST: dict[Named, int] = {"password": 4, "secret": 8, "key": 16}


def _is_secret(named: Named, value: str, literal: bool) -> bool:
    if not _FEWEST[named] <= len(value) <= 8192 or is_placeholder(value) or (not literal and _CODE.fullmatch(value)):
        return False
    if not literal and value.startswith(("(", "[", "{", "<", "*", "&")):
        return False
    if any(map(str.isspace, value)) or value.startswith(("/", "./", "~/", "http://", "https://")):
        return False  # a sentence, or a place where a secret is kept
    mixed = _classes(value)
    if named == "password":
        return mixed > 1 or (literal and len(value) > 5) or value.isdigit()
    if named == "secret":
        return mixed > 1 and not _is_words(value)
    return mixed > 1 and not _is_words(value) and entropy(value) >= 3.0


def _classes(value: str) -> int:
    """How many of: small letters, capitals, digits, others."""
    cases = (value != value.upper()) + (value != value.lower())
    return cases + (_DIGIT.search(value) is not None) + (not value.isalnum())


_LONG = 20
_DIGIT = re.compile(r"\d")
_WORDS = re.compile(r"(?:[A-Z]?[a-z]+|[A-Z]+|[0-9]{1,2})(?:[-_./:, ]?(?:[A-Z]?[a-z]+|[A-Z]+|[0-9]{1,2}))*+")
_VOWEL = re.compile("[aeiouyAEIOUY]")
_HUMP = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def _is_words(value: str) -> bool:
    """Whether a value is made of words as names and messages are, and not of random characters."""
    if len(value) > 128 or _WORDS.fullmatch(value) is None:
        return False
    if len(value) >= _LONG and value.isalnum() and _DIGIT.search(value):
        return False  # a long name has something between its words, or no digits
    parts = _HUMP.findall(value)
    if any(len(part) > 3 and not part.isupper() and not part.isdigit() and not _VOWEL.search(part) for part in parts):
        return False
    return sum(map(len, parts)) / len(parts) >= 3.5


def is_random(value: str) -> bool:
    """Whether a secret is known again wherever it stands: it is long, and not made of words."""
    return len(value) >= 8 and not any(map(str.isspace, value)) and _classes(value) > 1 and not _is_words(value)


def entropy(value: str) -> float:
    """Shannon entropy of the characters of a text, in bits for each."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if size else 0.0
