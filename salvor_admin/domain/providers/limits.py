"""What providers refuse beside what the reference sends: one dated table, every row with its source.

Providers change these without notice; where sources disagree the lower limit stands here. Read a source again before a row
is changed, and set its date.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from salvor_admin.domain.findings.finding import Severity

BLOCK, WARN, NOTE = Severity.BLOCK, Severity.WARN, Severity.NOTE

ANTHROPIC, RESPONSES, CHAT, BEDROCK, GEMINI = "anthropic", "openai-responses", "openai-chat", "bedrock", "gemini"
OPENAI = (RESPONSES, CHAT)
ALL = (ANTHROPIC, RESPONSES, CHAT, BEDROCK, GEMINI)

OURS = "a rule of this house"


@dataclass(frozen=True, slots=True)
class Limit:
    """One row: for these targets, what is looked for, how serious it is, the limit itself, where and when it was seen."""

    targets: tuple[str, ...]
    code: str
    severity: Severity
    value: Any
    source: str
    seen: str
    note: str = ""


_BEDROCK_API = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html"
_BEDROCK_CHOICE = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent_SpecificToolChoice.html"
_BEDROCK_KEYS = (
    "https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/issues/709"
)
_BEDROCK_INTEGERS = "https://github.com/tailcallhq/forgecode/pull/3308"
_BEDROCK_TYPE = "https://github.com/alibaba/spring-ai-alibaba/issues/3082"
_BEDROCK_SCHEMA = "https://github.com/acomagu/vscode-as-mcp-server/issues/6"
_ANTHROPIC_NAME = "https://github.com/anthropics/claude-code/issues/96152"
_ANTHROPIC_TOOL_PARAM = "the published anthropic SDK 2.14.0, types/tool_param.py"
_ANTHROPIC_ROOT = "https://github.com/marianfoo/mcp-sap-docs/pull/51"
_ANTHROPIC_SCHEMA = "https://github.com/anthropics/claude-code/issues/86665"
_ANTHROPIC_TWICE = "https://github.com/danny-avila/LibreChat/issues/13162"
_ANTHROPIC_MARKS = "https://github.com/coder/mux/pull/3112"
_ANTHROPIC_ORDER = "https://cljdoc.org/d/im.ttalk/clj-agent-provider/0.5.447/api/im.ttalk.agent.provider.common.cache"
_OPENAI_NAME = "the published openai SDK 3.57.0, types/shared_params/function_definition.py"
_OPENAI_DESCRIPTION = "https://github.com/getsentry/sentry-mcp/issues/106"
_OPENAI_COUNT = "https://github.com/zed-industries/zed/issues/32946"
_OPENAI_ROOT = "https://github.com/goruck/home-generative-agent/pull/545"
_OPENAI_PROPERTIES = "https://github.com/everruns/everruns/pull/984"
_OPENAI_ITEMS = "https://github.com/mkreyman/mcp-memory-keeper/pull/34"
_GEMINI_NAME = "https://github.com/kaitranntt/ccs/issues/25"
_GEMINI_COUNT = "https://github.com/google-gemini/gemini-cli/issues/25440"
_GEMINI_TWICE = "https://github.com/googleapis/dotnet-genai/issues/189"
_GEMINI_PARAMETERS = "the published google-genai SDK 3.6.1, types.FunctionDeclaration"
_GEMINI_REF = "https://github.com/anomalyco/opencode/issues/12295"
_GEMINI_CYCLE = "https://ai.google.dev/api/generate-content#v1beta.GenerationConfig"
_GEMINI_UNION = "https://github.com/github/copilot-cli/issues/4623"
_GEMINI_BOOLEAN = "https://github.com/google/adk-python/pull/4531"
_GEMINI_ITEMS = "https://github.com/NousResearch/hermes-agent/issues/71804"
_GEMINI_MAX_ITEMS = "https://github.com/googleapis/python-genai/issues/2170"

_NAME = r"[A-Za-z0-9_-]*"
_LOWER_OF_TWO = "its newer text says 128, older surfaces stop at 64, so the lower one counts"
_LIFTED_ELSEWHERE = "some of its surfaces have lifted it, compatible hosts have not, so it counts"

LIMITS: tuple[Limit, ...] = (
    # names
    Limit(ALL, "name_empty", BLOCK, None, _BEDROCK_API, "2026-11-30"),
    Limit((ANTHROPIC,), "name_characters", BLOCK, _NAME, "agentplane contract 2.3", "2026-11-30"),
    Limit(OPENAI, "name_characters", BLOCK, _NAME, _OPENAI_NAME, "2026-11-30"),
    Limit((BEDROCK,), "name_characters", BLOCK, _NAME, _BEDROCK_API, "2026-11-30"),
    Limit((GEMINI,), "name_characters", BLOCK, r"[A-Za-z0-9_.:-]*", _GEMINI_NAME, "2025-11-30"),
    Limit((GEMINI,), "name_first_character", BLOCK, r"[A-Za-z_]", _GEMINI_NAME, "2025-11-30"),
    Limit((BEDROCK,), "name_first_character", WARN, r"[A-Za-z]", _BEDROCK_CHOICE, "2026-11-30"),
    Limit((ANTHROPIC,), "name_too_long", BLOCK, 64, _ANTHROPIC_NAME, "2026-09-22", _LOWER_OF_TWO),
    Limit(OPENAI, "name_too_long", BLOCK, 64, _OPENAI_NAME, "2026-11-30"),
    Limit((BEDROCK,), "name_too_long", BLOCK, 64, _BEDROCK_API, "2026-11-30"),
    Limit((GEMINI,), "name_too_long", BLOCK, 64, _GEMINI_NAME, "2025-11-30", _LOWER_OF_TWO),
    Limit(ALL, "name_reserved", BLOCK, None, "agentplane contract 2.3, W5", "2026-11-30"),
    Limit((ANTHROPIC,), "name_offered_twice", BLOCK, None, _ANTHROPIC_TWICE, "2026-05-17"),
    Limit((GEMINI,), "name_offered_twice", BLOCK, None, _GEMINI_TWICE, "2026-01-25"),
    Limit((*OPENAI, BEDROCK), "name_offered_twice", BLOCK, None, "agentplane contract 2.2", "2026-11-30"),
    # descriptions
    Limit((BEDROCK,), "description_empty", BLOCK, None, _BEDROCK_API, "2026-11-30"),
    Limit(OPENAI, "description_too_long", BLOCK, 1024, _OPENAI_DESCRIPTION, "2025-04-25", _LIFTED_ELSEWHERE),
    Limit((ANTHROPIC, BEDROCK, GEMINI), "description_too_long", WARN, 10_000, OURS, "2026-11-30"),
    # how many, and where a cached prefix ends
    Limit(OPENAI, "too_many_tools", BLOCK, 128, _OPENAI_COUNT, "2025-06-18"),
    Limit((GEMINI,), "too_many_tools", BLOCK, 512, _GEMINI_COUNT, "2026-04-15"),
    Limit((ANTHROPIC, BEDROCK), "too_many_tools", WARN, 128, OURS, "2026-11-30"),
    Limit((ANTHROPIC, BEDROCK), "too_many_cache_marks", BLOCK, 4, _ANTHROPIC_MARKS, "2026-04-02"),
    Limit((ANTHROPIC, BEDROCK), "cache_marks_out_of_order", BLOCK, None, _ANTHROPIC_ORDER, "2026-11-10"),
    Limit((*OPENAI, GEMINI), "cache_mark_dropped", NOTE, None, "agentplane contract 3", "2026-11-30"),
    # schemas
    Limit(ALL, "schema_too_large", BLOCK, 524_288, OURS, "2026-11-30"),
    Limit((ANTHROPIC,), "schema_root_not_object", BLOCK, None, _ANTHROPIC_TOOL_PARAM, "2026-11-30"),
    Limit(OPENAI, "schema_root_not_object", BLOCK, None, _OPENAI_ROOT, "2026-08-12"),
    Limit((BEDROCK,), "schema_root_not_object", BLOCK, None, _BEDROCK_TYPE, "2026-11-30"),
    Limit((GEMINI,), "schema_root_not_object", BLOCK, None, _GEMINI_PARAMETERS, "2026-11-30"),
    Limit(
        (ANTHROPIC, BEDROCK), "schema_root_combined", BLOCK, ("oneOf", "allOf", "anyOf"), _ANTHROPIC_ROOT, "2026-05-21"
    ),
    Limit(
        OPENAI,
        "schema_root_combined",
        BLOCK,
        ("oneOf", "anyOf", "allOf", "enum", "const", "not"),
        _OPENAI_ROOT,
        "2026-08-12",
    ),
    Limit(OPENAI, "schema_root_without_properties", BLOCK, None, _OPENAI_PROPERTIES, "2026-03-20"),
    Limit(OPENAI, "array_without_items", BLOCK, None, _OPENAI_ITEMS, "2026-04-07"),
    Limit((GEMINI,), "array_without_items", WARN, None, _GEMINI_ITEMS, "2026-07-31"),
    Limit((ANTHROPIC,), "schema_malformed", BLOCK, None, _ANTHROPIC_SCHEMA, "2026-08-14"),
    Limit((BEDROCK,), "schema_malformed", BLOCK, None, _BEDROCK_SCHEMA, "2025-05-23"),
    Limit(OPENAI, "schema_malformed", BLOCK, None, _OPENAI_NAME, "2026-11-30"),
    Limit((GEMINI,), "schema_malformed", WARN, None, _GEMINI_PARAMETERS, "2026-11-30"),
    Limit((ANTHROPIC, BEDROCK), "property_key", BLOCK, r"[A-Za-z0-9_.-]{1,64}", _BEDROCK_KEYS, "2026-08-31"),
    Limit((BEDROCK,), "integer_out_of_range", BLOCK, 2**31 - 1, _BEDROCK_INTEGERS, "2026-05-10"),
    Limit((GEMINI,), "boolean_schema", WARN, None, _GEMINI_BOOLEAN, "2026-02-18"),
    Limit((GEMINI,), "type_list", WARN, None, _GEMINI_UNION, "2026-08-26"),
    Limit((GEMINI,), "reference_with_siblings", BLOCK, ("description", "default"), _GEMINI_REF, "2026-02-05"),
    Limit((GEMINI,), "circular_reference", BLOCK, None, _GEMINI_CYCLE, "2026-08-31"),
    Limit((ANTHROPIC, BEDROCK), "circular_reference_strict", BLOCK, None, "agentplane contract 4.2", "2026-11-30"),
    Limit(ALL, "reference_leads_nowhere", WARN, None, OURS, "2026-11-30"),
    Limit((GEMINI,), "max_items_sum", WARN, 960, _GEMINI_MAX_ITEMS, "2026-11-30"),
    Limit((ANTHROPIC, RESPONSES, BEDROCK), "not_strict", NOTE, None, "agentplane contract 4", "2026-11-30"),
)


def limits_of(target: str) -> list[Limit]:
    """The rows of one target, in table order."""
    return [limit for limit in LIMITS if target in limit.targets]
