"""Who and where: addresses, ids, paths in every spelling, git, machines, numbers of people."""

import time
import urllib.parse

import pytest
from planted_people import Person

from analyzers.detect.known import Known
from analyzers.detect.text import look

P = Person(9)


def found(text: str, kind: str, key: str | None = None) -> list[str]:
    return [one.value for one in look(text, key).found if one.kind == kind]


@pytest.mark.parametrize(
    "text",
    [
        "in {}/proj", "cd '{}/proj'", "file://{}/proj", "({}/a.py:12)", "x={}", "{}", "a\n{}\nb", "-C {}/x", "\\n{}/x",
    ],
)  # fmt: skip
def test_a_home_folder(text: str) -> None:
    home = f"/home/{P.login}"
    assert any(value.startswith(home) for value in found(text.format(home), "home_path"))


@pytest.mark.parametrize(
    "text",
    [
        f"/Users/{P.login}/x", f"-home-{P.login}-proj", f"projects/-Users-{P.login}-my-proj/", f"C--Users-{P.login}-x",
        urllib.parse.quote(f"/home/{P.login}", safe=""), f"file:///home/{P.login}/x",
        f"\\\\wsl$\\Ubuntu\\home\\{P.login}\\x",
        f"\\\\\\\\wsl.localhost\\\\Ubuntu\\\\home\\\\{P.login}", f"C:\\Users\\{P.login}\\x",
        f"C:\\\\Users\\\\{P.login}\\\\x",
        f"C:/Users/{P.login}/x", f"/mnt/c/Users/{P.login}/x", f"/c/Users/{P.login}", f"~{P.login}/x",
        f"/home/{P.login}/" + "very-long/" * 30 + "end.py",
    ],
)  # fmt: skip
def test_every_spelling_of_a_home(text: str) -> None:
    assert any(P.login in value for value in found(text, "home_path")), text
    assert any(P.login in value for value in found(f"see {text} there", "home_path")), text


@pytest.mark.parametrize(
    "text",
    ["https://example.org/home/page", "./home/x", "a/Users/b", "--home-dir x", "the-home-page", "/usr/lib/python3"],
)
def test_what_only_looks_like_a_home(text: str) -> None:
    assert found(text, "home_path") == []


def test_a_login_is_recognised_where_nothing_tells_it_but_not_inside_words() -> None:
    known = Known()
    known.learn(look("/home/jane/proj and /home/dev/x and /home/test/y").found)
    text = "jane logged in; ~jane, janet and mary-jane; dev build of test"
    logins = [(one.start, one.value) for one in look(text, None, known).found if one.kind == "user_name"]
    assert [value for _, value in logins] == ["jane", "jane", "jane"]
    assert all(text[at : at + 4] == "jane" and text[at + 4 : at + 5] != "t" for at, _ in logins)


def test_the_block_about_the_machine() -> None:
    text = (
        "# Environment\n - Primary working directory: /srv/acme/widget\n - OS Version: Linux 6.6.87-microsoft\n"
        "\n# gitStatus\nCurrent branch: fix/scale-7\n\nMain branch (you will usually use this for PRs): main\n\n"
        "Git user: Ada Byron\n\nStatus:\n M a.py\n\nRecent commits:\nab12cd3 Weigh twice\n"
    )
    kinds = {one.kind: one.value for one in look(text).found}
    assert kinds["path"] == "/srv/acme/widget"
    assert kinds["os_version"] == "Linux 6.6.87-microsoft"
    assert (kinds["git_branch"], kinds["git_identity"], kinds["git_commit"]) == (
        "fix/scale-7",
        "Ada Byron",
        "Weigh twice",
    )
    assert {"environment", "git_status"} <= set(kinds)


@pytest.mark.parametrize(
    "line",
    [
        "origin\thttps://x:tok12345@git.example.org/o/r.git (fetch)", "git@git.example.org:owner/repo.git",
        "ssh://git@git.example.org/owner/repo", "git clone https://git.example.org/owner/repo",
        "To git.example.org:o/r.git",
    ],
)  # fmt: skip
def test_remotes(line: str) -> None:
    assert found(f"$ git\n{line}\n", "git_remote")


def test_a_remote_under_its_key() -> None:
    assert found("git.example.org/owner/repo", "git_remote", "remote") == ["git.example.org/owner/repo"]
    assert found("main", "git_branch", "branch") == []


def test_authors_of_commits_but_not_the_client() -> None:
    text = "Author: Ada Byron <ada@byron.org>\nCo-Authored-By: Claude Opus 5 <noreply@anthropic.com>\n"
    assert found(text, "git_identity") == ["Ada Byron"]
    assert found(text, "email") == ["ada@byron.org"]


@pytest.mark.parametrize(
    "address", ["10.1.2.3", "192.168.178.20", "203.0.113.9", "2001:db8::8a2e:370:7334", "fe80::1ff:fe23:4567:890a"]
)
def test_addresses_of_machines(address: str) -> None:
    assert found(f"inet {address}/24 brd", "ip_address") == [address]
    assert found(f"ssh root@{address}", "ip_address") == [address]


@pytest.mark.parametrize(
    "text",
    ["version 1.2.3.4", '"version": "4.0.10.2"', "Chrome/120.0.6099.109 Safari", "v10.2.3.4", "127.0.0.1:8080",
     "0.0.0.0",
     "12:30:45", "std::vector::x", "1.2.3.4.5", "::1", "de::ad", "section 1.2.3"],
)  # fmt: skip
def test_versions_times_and_names_are_no_addresses(text: str) -> None:
    assert found(text, "ip_address") == []


@pytest.mark.parametrize("host", ["db-7.prod.internal", "printer.lan", "build3.corp", "wiki.intranet:8080"])
def test_names_of_an_inner_network(host: str) -> None:
    assert found(f"ping {host} now", "host_name") == [host.partition(":")[0]]


@pytest.mark.parametrize("text", ["settings.local.json", "self.internal(x)", "foo.local = 1", "api.anthropic.com"])
def test_names_of_programs_are_no_hosts(text: str) -> None:
    assert found(text, "host_name") == []


def test_a_prompt_of_a_shell_and_uname() -> None:
    text = f"{P.login}@{P.host}:~/x$ uname -a\nLinux {P.host} 6.6.87-2 #1 SMP x86_64 GNU/Linux\n"
    assert found(text, "user_name") == [P.login]
    assert set(found(text, "host_name")) == {P.host}


def test_the_owner_in_a_listing() -> None:
    assert found("total 4\n-rw-r--r-- 1 zokuga staff 120 Nov 30 09:00 a\n", "user_name") == ["zokuga"]
    assert found("total 4\n-rw-r--r-- 1 root root 120 Nov 30 09:00 a\n", "user_name") == []


def test_addresses_of_people() -> None:
    text = "mail ada@x.org, bo.b+tag@sub.example.co.uk; mailto:zoë@x.org?x \\nann@x.org <eve@münchen.example>"
    assert found(text, "email") == ["ada@x.org", "bo.b+tag@sub.example.co.uk", "ann@x.org", "eve@münchen.example"]
    assert found("logo@2x.png git@github.com:a/b @scope/pkg pkg@1.2.3 @decorator.x", "email") == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"user_{'ab12' * 16}_account_{P.uuid()}_session_{P.uuid()}", "device_id"),
        (f"user_{'ab12' * 16}_account__session_{P.uuid()}", "session_id"),
        (f"user_{'ab12' * 16}_account_{P.uuid()}_session_{P.uuid()}", "account_id"),
        (f'{{"account_uuid":"{P.uuid()}"}}', "account_id"),
        (f"anthropic-organization-id: {P.uuid()}", "organization_id"),
        (f"X-Claude-Code-Session-Id: {P.uuid()}", "session_id"),
        ("request req_011CTnMJ5Mj1QwMNpF5F8pxh failed", "request_id"),
    ],
)
def test_ids(text: str, kind: str) -> None:
    assert found(text, kind)


def test_numbers_of_people_are_checked_by_their_digits() -> None:
    assert found("card 4111 1111 1111 1111, 4111111111111112", "credit_card") == ["4111 1111 1111 1111"]
    assert found("to DE89 3704 0044 0532 0130 00 or DE88370400440532013000", "iban") == ["DE89 3704 0044 0532 0130 00"]
    assert found("call +49 30 901820, (415) 555-2671 or 415-555-2671", "phone") == [
        "+49 30 901820", "(415) 555-2671", "415-555-2671",
    ]  # fmt: skip
    assert found("at 1796000000000 in 2026-11-30, +0100, 12345678901234567890\n+12345678901\n", "phone") == []


@pytest.mark.parametrize(
    "text",
    [
        "server: {}",
        "https://mcp.example.org/{}/x",
        "user_{}_account",
        "地址{}是",
        "driver={}",
        "^{}$",
        "='{}'",
        "host-{}-b",
    ],
)
def test_an_address_of_an_inner_network_beside_what_is_no_version(text: str) -> None:
    assert found(text.format("10.117.130.141"), "ip_address") == ["10.117.130.141"]


@pytest.mark.parametrize(
    "text", ["pkg-1.2.3.4.tar.gz", "app==1.2.3.4", "^1.2.3.4", "1.2.3.4-beta", "Tool/1.2.3.4 (x)", "v=1.2.3.4"]
)
def test_versions_of_four_numbers(text: str) -> None:
    assert found(text, "ip_address") == []


@pytest.mark.parametrize("text", ["ip:{}", "id:{}", "[{}]:443", "inet6 {}/64", "看{}吧", "x={}"])
def test_an_ipv6_address_behind_a_name_and_a_colon(text: str) -> None:
    address = "2001:db8:d1ec:da23:b3c1:9512:94c9:cde7"
    assert found(text.format(address), "ip_address") == [address]


@pytest.mark.parametrize("text", ["id:{}", "link/ether {} brd", "mac_{}_x", "x={}"])
def test_a_hardware_address(text: str) -> None:
    assert found(text.format("3b:cf:d7:3c:15:7f"), "mac_address") == ["3b:cf:d7:3c:15:7f"]


def test_a_fingerprint_is_no_hardware_address() -> None:
    assert found(":".join(["1f", "2e", "3d", "4c"] * 4), "mac_address") == []


def test_addresses_of_people_in_links_and_names() -> None:
    for text in ("https://{}@h.example/", "https://u:x@h.example/{}", "user_{}_account", "{}-2025", "x%3A{}", "写{}吧"):
        assert any("ada.byron@x.org" in value for value in found(text.format("ada.byron@x.org"), "email")), text
    assert found("https://git@x.org/a https://user@x.org/b git@x.org", "email") == []
    [one] = [one for one in look("to%3Aada@x.org").found if one.kind == "email"]
    assert one.value == "ada@x.org", "an encoded colon is no part of it"


def test_a_remote_behind_anything() -> None:
    remote = "git@git.example.org:owner/repo.git"
    for text in ("model@{}", "x/{}", "to:{}", "看{}"):
        assert found(text.format(remote), "git_remote") == [remote]


@pytest.mark.parametrize("text", ["gcc -I{}/include", "user_{}", "看{}，吧", "-C={}"])
def test_a_home_behind_anything(text: str) -> None:
    assert any(value.startswith("/home/zokuga") for value in found(text.format("/home/zokuga"), "home_path"))


def test_many_known_values_with_one_word_cost_no_more() -> None:
    known = Known()
    text = " ".join(f"mail n{number}.x@commonword.example.org" for number in range(4000))
    known.learn(look(text).found)
    began = time.process_time()
    assert len([one for one in look(text, None, known).found if one.kind == "email"]) == 4000
    assert time.process_time() - began < 5.0
    assert [one.kind for one in look("then n7.x@commonword.example.org", None, known).found] == ["email"]


def test_a_name_in_another_script_is_recognised_without_blanks_around_it() -> None:
    known = Known()
    known.learn(look("王小明同志是我们的人", "display_name").found)
    text = "请问王小明同志是我们的人吗"
    assert [one.kind for one in look(text, None, known).found] == ["user_name"]
