"""The API's own vocabulary, and the words of the clients and formats around it: what a redactor may leave as it is.

Names of members and closed lists of values (documentation of the API and its SDK, and recorded requests). A value is
the API's own when every word in it is one of ``WORDS``: dated types (``web_search_20250305``) and new combinations
pass, a company's tool does not.
"""

from __future__ import annotations

import re

from analyzers.models import model_of
from analyzers.wire.fold import IDENTIFYING


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# fmt: off
_API_KEYS = word_set("""
    max_tokens messages system tools tool_choice thinking metadata stream stop_sequences temperature top_p top_k
    context_management output_config output_format mcp_servers betas anthropic_beta anthropic_version diagnostics
    fallbacks billing_policy compaction thread requests params fallback_credit_token authorization_token safeguards
    user_profile_id workspace_id content text input output cache_control citations signature data source title
    context url is_error caller description input_schema input_examples schema defer_loading strict allowed_callers
    eager_input_streaming display_width_px display_height_px display_number max_characters max_uses allowed_domains
    blocked_domains user_location city region country timezone configs default_config tool_configuration enabled
    allowed_tools tool_references tool_changes transformations oversized_image budget_tokens display block_binding
    clear_at disable_parallel_tool_use format task_budget total remaining edits trigger keep value clear_at_least
    exclude_tools clear_tool_inputs pause_after_compaction instructions skills skill_id version cited_text
    document_index document_title start_char_index end_char_index start_page_number end_page_number
    start_block_index end_block_index encrypted_index search_result_index page_age encrypted_content
    encrypted_stdout stdout stderr return_code lines num_lines start_line total_lines old_start old_lines new_start
    new_lines is_file_update file_type retrieved_at error_code usage input_tokens output_tokens
    cache_creation_input_tokens cache_read_input_tokens cache_creation ephemeral_5m_input_tokens
    ephemeral_1h_input_tokens output_tokens_details thinking_tokens server_tool_use web_search_requests
    web_fetch_requests code_execution_requests iterations fallback_credit status cost prompt_tokens
    completion_tokens total_tokens prompt_tokens_details completion_tokens_details input_tokens_details
    cached_tokens cache_write_tokens reasoning_tokens prompt_cache_hit_tokens prompt_cache_miss_tokens stop_details
    category explanation recommended_model applied_edits cleared_input_tokens cleared_tool_uses
    cleared_thinking_turns original_input_tokens input_transformations cache_miss_reason cache_missed_input_tokens
    error message details result results processing_status request_counts processing succeeded errored canceled
    expired created_at ended_at expires_at archived_at cancel_initiated_at results_url has_more first_id last_id
    choices index delta finish_reason logprobs object created response system_fingerprint message_start
    message_delta message_stop content_block_start content_block_delta content_block_stop content_block ping
    partial_json _elided chars utf16 bytes json_chars sha256 width height pages
""")

_LOG_KEYS = word_set("""
    parentUuid logicalParentUuid uuid isSidechain isMeta isCompactSummary isVisibleInTranscriptOnly
    isApiErrorMessage sessionId requestSessionId agentId attributionAgent requestId requestRef requestedModel
    requestDigest promptId promptSource promptCacheRequested timestamp sentAtMs startTime cwd gitBranch entrypoint
    userType permissionMode permissionDecision decision reasonType ruleSource rowSource turnOrigin turnPosition
    promptIndex turnIndex slug subtype level mode atis operation lastPrompt leafUuid hash shapeHash shape base tail
    cacheControl path querySource echoWireToolInputs apiBlockIndex attachment snapshot rendered renderedRole
    renderedBesideToolResult compactMetadata preTokens postTokens durationMs cumulativeDroppedTokens
    preservedSegment headUuid anchorUuid tailUuid preservedMessages uuids allUuids preCompactOrganizationsCoverStart
    retryInMs retryAttempt maxRetries formatted connection isNetworkDown rateLimits noResponse costUSD totalCostUSD
    totalAPIDuration totalAPIDurationWithoutRetries totalToolDuration totalLinesAdded totalLinesRemoved
    totalDuration modelUsage inputTokens outputTokens thinkingTokens cacheReadInputTokens cacheCreationInputTokens
    cacheCreationEphemeral5mInputTokens cacheCreationEphemeral1hInputTokens webSearchRequests contextWindow
    maxOutputTokens hasUnknownModelCost sourceToolAssistantUUID sourceToolUseID toolUseResult toolUseID
    parentToolUseID isSnapshotUpdate messageId trackedFileBackups summary progress thinkingMetadata todos
    toolInputStreamMs thinkingDurationMs thinkingDisplay effort perTurnEffort sandboxed origin kind producer runId
    withheld cut queueSkipAttachments level customTitle aiTitle agentName agentColor agentSetting forkedFrom session
    agent madeBy
""")

KEYS = IDENTIFYING | _API_KEYS | _LOG_KEYS
"""Names of members: the API's, and those of its clients' logs."""

SCHEMA_KEYS = word_set("""
    type properties required items enum const default description title format pattern minimum maximum
    exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems contains
    minContains maxContains minProperties maxProperties additionalProperties patternProperties propertyNames
    dependentRequired dependentSchemas prefixItems unevaluatedItems unevaluatedProperties allOf anyOf oneOf not if
    then else definitions examples deprecated readOnly writeOnly nullable $schema $id $ref $defs $comment $anchor
    $dynamicRef $dynamicAnchor $vocabulary contentEncoding contentMediaType
""")
"""Keywords of JSON Schema (draft 2020-12 and those before it)."""

NAMES_BELOW = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas",
                         "dependentRequired"))
"""Keywords whose members have names of the user's."""

SCHEMA_TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))

CLOSED = word_set("""
    type role stop_reason finish_reason ttl scope effort service_tier inference_geo speed mode display status
    category media_type encoding processing_status block_binding clear_at oversized_image keep caller subtype level
    permissionMode promptSource rowSource turnOrigin userType entrypoint operation querySource trigger decision
    reasonType ruleSource kind format ended route error_code object cacheControl perTurnEffort effort
    thinkingDisplay renderedRole source
""")
"""Members whose values are words of the API's or of a client's own lists."""

SERVER_TOOLS = word_set("""
    web_search web_fetch code_execution bash_code_execution text_editor_code_execution bash computer memory advisor
    str_replace_editor str_replace_based_edit_tool tool_search_tool_regex tool_search_tool_bm25
""")

_TYPES = """
    text image document search_result thinking redacted_thinking tool_use tool_result server_tool_use mcp_tool_use
    mcp_tool_result web_search_tool_result web_fetch_tool_result advisor_tool_result code_execution_tool_result
    bash_code_execution_tool_result text_editor_code_execution_tool_result tool_search_tool_result
    encrypted_code_execution_result container_upload compaction tool_addition tool_removal mcp_tool_listing fallback
    connector_text tool_reference browser_state custom bash text_editor computer computer_toolset browser_toolset
    memory web_search web_fetch advisor tool_search_tool_bm25 regex mcp_toolset base64 url file content ephemeral
    enabled disabled adaptive between_tools auto any tool none default create continue summarize json_schema tokens
    input_tokens tool_uses thinking_turns all clear_tool_uses clear_thinking compact approximate direct
    message error message_start message_delta message_stop content_block_start content_block_delta content_block_stop
    ping text_delta input_json_delta citations_delta thinking_delta signature_delta compaction_delta
    char_location page_location content_block_location web_search_result_location search_result_location
    invalid_request_error authentication_error billing_error permission_error not_found_error conflict_error
    request_too_large rate_limit_error api_error timeout_error overloaded_error
    model_changed system_changed tools_changed messages_changed previous_message_not_found unavailable
    succeeded errored canceled expired in_progress canceling ended message_batch model list
    fallback_message advisor_message user assistant system developer
    end_turn max_tokens stop_sequence pause_turn refusal model_context_window_exceeded stop length tool_calls
    cyber bio frontier_llm reasoning_extraction general_harms strict best_effort next_user_message never
    5m 1h global organization workspace low medium high xhigh max standard standard_only priority batch fast flex
    us eu apac ap jp au ca uk in sa me af gov not_available omitted summarized updates downsize
    completed unreachable client_gone upstream_cut proxy_stopped messages count_tokens batches bedrock vertex other
    function chat completion response string number integer boolean object array null
"""
_FORMATS = """
    application json event stream octet png jpeg jpg gif webp svg xml pdf plain html css markdown multipart form data
    urlencoded x www amazon vnd eventstream utf 8 charset q gzip deflate br zstd identity compress chunked 100
    image text audio video
"""
_CLIENTS = """
    cli sdk ts py python js javascript node deno bun edge linux macos darwin windows freebsd x64 arm64 x32 arm unknown
    true false external internal async cpython pypy browser main subagent compaction local ide vscode normal plan
    acceptEdits bypassPermissions dontAsk enqueue dequeue remove popAll manual api compact boundary info warning turn
    duration away summary typed repl thread agent request retry hook allow deny ask rule user human queue attachment
    progress mode latch used tools last prompt shape blob cost state custom title ai name color setting tag pr link
    not given
    saved context worktree content replacement permission speculation accept marble origami commit snapshot task
    resumed fork ref attribution session owner history file attachment environment skill listing deferred delta todo
    reminder edited directory mcp instructions output style date change budget
"""
# fmt: on


def _words(*lists: str) -> frozenset[str]:
    return frozenset(word for names in lists for name in names.split() for word in re.findall("[A-Za-z0-9]+", name))


WORDS = _words(_TYPES, _FORMATS, _CLIENTS)
_WORD = re.compile("[A-Za-z0-9]+")
_DATED = re.compile(r"20[0-9]{6}|[0-9]{1,2}")
_MOST_FIGURES = 3
_FAMILIES = frozenset(
    [
        "gpt",
        "o1",
        "o3",
        "o4",
        "chatgpt",
        "gemini",
        "gemma",
        "deepseek",
        "qwen",
        "glm",
        "kimi",
        "moonshot",
        "grok",
        "llama",
        "mistral",
        "mixtral",
        "codestral",
        "command",
        "nova",
        "titan",
        "minimax",
        "phi",
        "synthetic",
    ]
)
_VENDORS = frozenset(
    [
        "anthropic",
        "bedrock",
        "vertex",
        "ai",
        "openrouter",
        "us",
        "eu",
        "apac",
        "ap",
        "jp",
        "au",
        "global",
        "gov",
        "openai",
        "google",
        "amazon",
        "azure",
        "converse",
        "invoke",
        "litellm",
        "claude",
    ]
)
_ARN_ACCOUNT = re.compile(r"(?<=:)[0-9]{12}(?=:)")
# fmt: off
_BETA_WORDS = frozenset(
    [
        "128k", "1m", "300k", "admin", "advanced", "advisor", "agent", "agents", "analytics", "api", "at",
        "batches", "bedrock", "billing", "binding", "budgets", "cache", "caching", "ce", "changes", "claude",
        "clear", "client", "code", "compact", "computer", "config", "context", "control", "controls",
        "conversation", "cost", "count", "counting", "credit", "data", "destinations", "dev", "diagnosis",
        "display", "dreaming", "efficient", "effort", "efs", "exceeded", "execution", "experimental",
        "extended", "fallback", "fast", "files", "full", "google", "inline", "interleaved", "limit", "managed",
        "management", "mcp", "memory", "message", "mid", "migration", "mode", "model", "out", "output",
        "outputs", "pdfs", "per", "plugins", "profiles", "prompt", "reads", "scope", "server", "settings",
        "side", "sign", "skills", "spend", "structured", "system", "tag", "task", "telemetry", "thinking",
        "threads", "token", "tool", "tools", "ttl", "tunnels", "turn", "updates", "usage", "use", "user",
        "webhooks", "window",
    ]
)
# fmt: on
"""Words of the beta features that the SDK lists, and that clients were seen to send."""
_BETA = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+){0,8}-20([0-9]{6}|[0-9]{2}-[0-9]{2}-[0-9]{2})")
_VERSION = re.compile(r"v?[0-9]{1,3}(\.[0-9]{1,4}){0,2}([+-]?(alpha|beta|rc|dev|post|a|b)[.]?[0-9]{0,4})?")
_TIME = re.compile(
    r"(19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
    r"|[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} 20[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT"
)


_PUBLIC_ARN = re.compile(r"arn:.*[:/]((?:[a-z]{2,6}\.)?anthropic\.claude[a-z0-9.:-]*)", re.DOTALL)


def is_own(value: str) -> bool:
    """Whether a value is made of the API's own words, with a date and a version at the most: figures alone are not."""
    if len(value) > 120 or not value.isascii():
        return False
    words = _WORD.findall(value)
    figures = [word for word in words if word not in WORDS]
    if len(figures) > _MOST_FIGURES or (words and len(figures) == len(words)):
        return False
    return all(_DATED.fullmatch(word) for word in figures)


def is_dated_version(value: str) -> bool:
    """Whether a value is a version that a date names: of the API itself, or of a cloud's."""
    return re.fullmatch(r"(bedrock-|vertex-)?202[0-9]-[0-9]{2}-[0-9]{2}", value) is not None


def is_time(value: str) -> bool:
    """Whether a value is a time as APIs write it. A day alone is none: somebody may have been born on it."""
    return _TIME.fullmatch(value) is not None


def is_version(value: str) -> bool:
    """Whether a value is the version of a program."""
    return _VERSION.fullmatch(value) is not None


def is_beta(value: str) -> bool:
    """Whether a value is the name of a beta feature: words that such names are made of, and a date."""
    if len(value) > 80 or _BETA.fullmatch(value) is None:
        return False
    return all(word in _BETA_WORDS or word in WORDS or word.isdigit() for word in _WORD.findall(value))


def public_part(model: str) -> tuple[int, int] | None:
    """Which part of a model's name is public, in characters: all of a known family's, without what a gateway or a
    company put before it; None for a name that nobody else knows."""
    if model == "<synthetic>":
        return 0, len(model)
    if len(model) > 160 or not model.isascii():
        return None
    if model.startswith("arn:"):
        found = _PUBLIC_ARN.fullmatch(model)
        return found.span(1) if found and _plain_model(found[1]) else None
    head, slash, rest = model.rpartition("/")
    begin = 0 if not slash or all(word in _VENDORS for word in _WORD.findall(head)) else len(head) + 1
    words = _WORD.findall(rest)
    known = model_of(model).tier is not None or (bool(words) and words[0].lower() in _FAMILIES)
    if known and _plain_model(rest):
        return begin, len(model)
    return None


_PARTS = frozenset(
    [
        "claude",
        "anthropic",
        "opus",
        "sonnet",
        "haiku",
        "instant",
        "fable",
        "mythos",
        "latest",
        "default",
        "preview",
        "us",
        "eu",
        "apac",
        "ap",
        "jp",
        "au",
        "global",
        "gov",
        "mini",
        "nano",
        "turbo",
        "pro",
        "flash",
        "lite",
        "chat",
        "instruct",
        "thinking",
        "exp",
        "v1",
        "v2",
        "v3",
        "1m",
        "200k",
        "fast",
        "amazon",
        "meta",
    ]
)


def _plain_model(name: str) -> bool:
    """Whether a name has nothing but words of models, versions and dates."""
    return all(
        word.lower() in _PARTS or word.lower() in _FAMILIES or re.fullmatch(r"[a-z]{0,2}[0-9]{1,8}[a-z]{0,2}", word)
        for word in _WORD.findall(name)
    )


def account_numbers(model: str) -> list[tuple[int, int]]:
    """Where a name of a cloud's resource holds the number of an account."""
    return [match.span() for match in _ARN_ACCOUNT.finditer(model)]
