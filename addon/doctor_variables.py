"""Which variables of an environment change what is sent, or what is recorded of it. Pure.

Values are secrets until the contrary is known: of an address the host is shown, of everything else only that it is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from addon import run_environment as environments
from addon import trust
from addon.client_settings import Setting
from addon.finding import Finding, State, Topic
from addon.proxy_variables import Unusable
from addon.run_environment import Environment

_SWITCHES: Final[Mapping[str, str]] = {
    "DISABLE_PROMPT_CACHING": "no cache breakpoints are sent",
    "DISABLE_PROMPT_CACHING_HAIKU": "no cache breakpoints are sent to Haiku",
    "DISABLE_PROMPT_CACHING_SONNET": "no cache breakpoints are sent to Sonnet",
    "DISABLE_PROMPT_CACHING_OPUS": "no cache breakpoints are sent to Opus",
    "DISABLE_INTERLEAVED_THINKING": "one beta less is sent, and no thinking between tools",
    "DISABLE_COMPACT": "conversations are never summarised, so requests grow to the end of the context",
    "DISABLE_AUTO_COMPACT": "conversations are not summarised by themselves",
    "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "fewer betas are sent, and what hangs on them is not",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "fewer requests besides those to the model are sent",
    "CLAUDE_CODE_DISABLE_1M_CONTEXT": "the context is 200,000 tokens",
    "CLAUDE_CODE_DISABLE_THINKING": "no thinking is asked for",
    "CLAUDE_CODE_ATTRIBUTION_HEADER": "the billing line at the head of the system prompt may be left out",
    "CLAUDE_CODE_EXTRA_BODY": "members of your own are added to each request",
    "ENABLE_TOOL_SEARCH": "says whether tools are deferred, instead of the client",
    "MAX_THINKING_TOKENS": "says how much thinking is asked for, instead of the client",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "sets max_tokens",
    "ANTHROPIC_MODEL": "says which model is asked",
    "ANTHROPIC_SMALL_FAST_MODEL": "says which model is asked for side calls",
    "ANTHROPIC_BETAS": "adds betas of your own",
    "ANTHROPIC_CUSTOM_HEADERS": "adds headers of your own",
}
_HARMLESS: Final = frozenset(
    (
        "DISABLE_AUTOUPDATER",
        "DISABLE_BUG_COMMAND",
        "DISABLE_COST_WARNINGS",
        "DISABLE_DOCTOR_COMMAND",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_FEEDBACK_COMMAND",
        "DISABLE_INSTALLATION_CHECKS",
        "DISABLE_TELEMETRY",
        "DISABLE_UPGRADE_COMMAND",
    )
)
"""Variables of clients whose names look as if they changed a request, and do not."""

_VENDORS: Final = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_MANTLE": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex AI",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
}
_OFF: Final = ("", "0", "false", "no", "off")


def variables(environment: Environment) -> list[Finding]:
    """What the variables of an environment mean for a recording; one line when they mean nothing."""
    found = list(_all(environment, "variable", ""))
    return found or [Finding("variable", "ok", "no variable changes what is sent or recorded")]


def settings(found: Mapping[str, Setting], unread: Mapping[Path, str]) -> list[Finding]:
    """The same for what Claude Code's settings put into its environment. ``unread``: files that could not be read, with
    the reason."""
    told: list[Finding] = []
    for file, reason in unread.items():
        advice = "correct it: Claude Code may not read it either"
        told.append(Finding("settings", "note", f"{file} {reason}: what it sets is not known", advice))
    for name, setting in found.items():
        told += _all({name: setting.value}, "settings", f"{setting.file}: ")
        if name.upper() in ("HTTPS_PROXY", "NO_PROXY", trust.EXTRA, "SSL_CERT_FILE"):
            advice = f"take {name} out of the settings while you record, and set it in the shell"
            text = f"{setting.file}: {name} wins over what `weighbridge run --forward` tells the client"
            told.append(Finding("settings", "wrong", text, advice))
        if name == environments.BASE_URL:
            text = f"{setting.file}: {name} wins over what `weighbridge run --reverse` tells the client"
            told.append(Finding("settings", "note", text, "record with `weighbridge run --forward`"))
    return told or [Finding("settings", "ok", "Claude Code's settings change nothing of what is sent or recorded")]


def _all(environment: Environment, topic: Topic, where: str) -> Iterator[Finding]:
    def finding(state: State, text: str, advice: str | None = None) -> Finding:
        return Finding(topic, state, f"{where}{text}", advice)

    yield from (finding(*told) for told in _addresses(environment))
    yield from (finding(*told) for told in _proxies(environment))
    yield from (finding(*told) for told in _certificates(environment))
    yield from (finding("note", f"{name} is set: {what}") for name, what in _switched(environment))


def _addresses(environment: Environment) -> Iterator[tuple[State, str, str | None]]:
    if url := environment.get(environments.BASE_URL):
        host = environments.host_of(url)
        if not host:
            yield "wrong", f"{environments.BASE_URL} is no address", "give it one like https://api.anthropic.com"
        elif host == "api.anthropic.com":
            yield "ok", f"{environments.BASE_URL} is the API's own", None
        else:
            yield (
                "note",
                f"{environments.BASE_URL} leads to {host}: Claude Code sends another request there than to its own "
                "API (fewer betas, no diagnostics, another cache scope, tools perhaps in full)",
                "unset it to record what is sent to api.anthropic.com",
            )
    if environment.get("_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL", "").lower() not in _OFF:
        yield "note", "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL is set: any base URL is taken for the API's own", None
    for name, vendor in _VENDORS.items():
        if environment.get(name, "").lower() not in _OFF:
            advice = "record with `weighbridge run --forward`: in reverse nothing would be seen"
            yield "note", f"{name} is set: Claude Code asks {vendor}", advice
    for name in environments.BASE_URLS[1:]:
        if url := environment.get(name):
            host = environments.host_of(url) or "what is no address"
            yield "note", f"{name} leads to {host}, which `weighbridge run --forward` decrypts too", None


def _proxies(environment: Environment) -> Iterator[tuple[State, str, str | None]]:
    url = environments.base_url(environment)
    way: environments.Way = "reverse" if environments.is_loopback(environments.host_of(url)) else "forward"
    try:
        following = environments.next_proxies(environment, way, url)
    except Unusable as error:
        yield "wrong", str(error).partition(":")[0], str(error).partition(": ")[2]
        return
    for address in dict.fromkeys(proxy.address for proxy in following.values()):
        yield (
            "note",
            f"requests go through the proxy {address}: `weighbridge run` goes on through it",
            "`weighbridge capture` does not: use run",
        )
    if covering := environments.covering(environment):
        advice = "nothing: `weighbridge run --forward` leaves it out for its command"
        yield "note", f"NO_PROXY has {', '.join(covering)}, so the API is asked without a proxy", advice


def _certificates(environment: Environment) -> Iterator[tuple[State, str, str | None]]:
    for name, place in trust.named(environment).items():
        try:
            trust.certificates(name, place)
            yield "ok", f"{name} names roots that can be read; they stay trusted", None
        except trust.Unreadable as error:
            yield "wrong", str(error), f"correct {name}, or unset it"
    if environment.get("NODE_TLS_REJECT_UNAUTHORIZED") == "0":
        advice = "--set ssl_insecure=true turns that off as well; better, name the missing root in NODE_EXTRA_CA_CERTS"
        yield "note", "NODE_TLS_REJECT_UNAUTHORIZED is 0: the client checks no certificate, the proxy does", advice
    if environment.get("CLAUDE_CODE_CLIENT_CERT"):
        advice = "--set client_certs=FILE gives mitmproxy one to show"
        yield "note", "CLAUDE_CODE_CLIENT_CERT is set: a certificate of the client ends at the proxy", advice


def _switched(environment: Environment) -> Iterable[tuple[str, str]]:
    for name, value in environment.items():
        if name in _SWITCHES and value:
            yield name, _SWITCHES[name]
        elif name.startswith("DISABLE_") and name not in _HARMLESS and value.lower() not in _OFF:
            yield name, "it may change what a client sends"
