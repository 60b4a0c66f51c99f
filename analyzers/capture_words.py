"""Words that a capture's lines hold because this program wrote them: codes of notes, reasons, names of options, and the
names of headers and counters of the API. By closed lists of single words, none of which tells anything of anybody.
"""

from __future__ import annotations

import re

from analyzers.api_words import KEYS, WORDS, word_set

# fmt: off
_CODES = word_set("""
    base64 answer not seen rewritten unfinished answered early locally assembled bare event binary body block empty in
    file over limit size differs bom bytes as characters cache split incomplete charset ignored content malformed type
    mismatch missing counter huge rejected damaged marker decoded double encoded serialised duplicate key events
    guard blocked failed warned idle timeout informational input grew line final log json measured read output
    unknown raw surrogates rebuilt from replayed request cut saved flight server rounds stream time unreadable
    trailing text encoding unterminated usage zero mislabelled undecodable capped redacted frame corrupt skipped
    invalid utf8 too long sse field failed transport
""")
_REASONS = word_set("""
    a an and at the this that it is are was were be of to or in on out has have had holds holding keep keeps kept
    does do no not nothing neither nor more than one where what which when why says marks builds upon cannot could
    can body request request's requests answer answer's message messages prompt system tools cache_control record
    records log file version form parameters only sent past streamed seen decodes bytes byte character characters
    valid utf 8 json document single parts weighbridge show api expected end object list key value bad escape
    control string text ends too early torn longer any missing empty without s lists pieces large read here there
    taken apart
""")
# fmt: on
_SENTENCES = _CODES | _REASONS
OPTIONS = word_set("""
    capture_dir capture_fold_over capture_compress capture_rotate_mb capture_notes capture_redact capture_match
    capture_taken guard_max_input_tokens guard_max_usd_per_session guard_mode
""")
"""The recorder's options."""

HEADERS = word_set("""
    accept accept-encoding accept-language authorization cache-control connection content-encoding content-length
    content-type cookie date expect host origin proxy-authorization referer sec-fetch-mode sec-fetch-site
    sec-fetch-dest server set-cookie transfer-encoding user-agent via x-api-key api-key x-goog-api-key x-auth-token
    x-amz-security-token x-amz-date x-amz-content-sha256 x-app x-session-id session-id x-session-affinity
    x-opencode-session x-client-request-id request-id x-request-id x-amzn-requestid x-amzn-errortype retry-after
    x-should-retry x-weighbridge x-forwarded-for cf-ray cf-cache-status strict-transport-security x-robots-tag vary
    content-security-policy server-timing x-envoy-upstream-service-time traceparent priority
    anthropic-version anthropic-beta anthropic-dangerous-direct-browser-access anthropic-organization-id
    anthropic-workspace-id anthropic-user-profile-id
    x-claude-code-session-id x-claude-code-agent-id x-claude-code-parent-agent-id x-claude-code-request-class
    x-claude-code-prompt-id
    x-stainless-arch x-stainless-lang x-stainless-os x-stainless-package-version x-stainless-retry-count
    x-stainless-runtime x-stainless-runtime-version x-stainless-timeout x-stainless-read-timeout x-stainless-async
    x-stainless-helper x-stainless-helper-method x-stainless-raw-response x-stainless-poll-helper
    x-stainless-custom-poll-interval x-stainless-stream-helper
""")
"""Names of headers, in lower case."""
_LIMIT_HEADER = re.compile(
    r"anthropic-(ratelimit|priority|fast)-([a-z0-9-]+-)?(limit|remaining|reset|status|utilization|claim|percentage)"
)
_LIMIT_WORDS = word_set("""
    anthropic ratelimit priority fast requests tokens input output unified 5h 7d opus sonnet haiku overage limit
    remaining reset status utilization representative claim fallback percentage surpassed threshold disabled reason in
    use
""")
_NUMBER = re.compile(r"(?<![^\s(])(?:[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,7})(?![^\s:;),])")
_REASON_WORD = re.compile(r"[^\W_]+(?:['_][^\W_]+)*")
_PART = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_MORE_COUNTED = word_set("""
    image images audio video text reasoning thinking prediction accepted rejected search fetch counter counters
    execution code request requests call calls tool tools number total sum count counts read write reads writes hit
    miss hits misses minutes seconds ms usd price creation server standard priority batch eviction fallback credit
    advisor compaction
""")
_MEASURED = word_set("""
    fields field names punctuation escapes whitespace shadowed bom trailing utf8 encoding classes weight latin greek
    cyrillic extended armenian hebrew arabic thaana devanagari bengali gurmukhi gujarati tamil telugu kannada
    malayalam sinhala thai lao tibetan myanmar georgian ethiopic khmer han kana hangul cjk symbols digits blank
    newline blanks control emoji vietnamese split additional accented capitals capital lower inner long rare rarest
    or
""")
"""What the recorder's own measures are called."""
_API_PARTS = frozenset(part.lower() for name in KEYS | WORDS for part in _PART.findall(name))
_COUNTED = _API_PARTS | _MORE_COUNTED | _MEASURED


def is_code(text: str) -> bool:
    """Whether a text is the code of a note."""
    return len(text) <= 40 and all(word in _CODES for word in text.split("_"))


def is_reason(text: str) -> bool:
    """Whether a text is a reason that this program gives: its words, and counts."""
    if len(text) > 200:
        return False
    parts = _NUMBER.split(text.lower())
    between = [word for part in parts for word in _REASON_WORD.findall(part)]
    return all(word in _SENTENCES for word in between) and all(re.search("[a-z]", part) for part in parts[1:-1])


def is_header(name: str) -> bool:
    """Whether a name, in lower case, is that of a known header."""
    if name in HEADERS:
        return True
    return _LIMIT_HEADER.fullmatch(name) is not None and all(word in _LIMIT_WORDS for word in name.split("-"))


def is_counter(name: str) -> bool:
    """Whether the name of a member is made of words that the API's own counters and places are made of."""
    return len(name) <= 80 and all(part.lower() in _COUNTED for part in _PART.findall(name)) and name.isascii()
