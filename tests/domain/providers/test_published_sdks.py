"""The providers' own clients send exactly what we render, and read from an answer what we read."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import boto3
import openai
import pytest
from google import genai
from google.genai import types

from salvor_admin.domain import declarations, tool_ids
from salvor_admin.domain.declarations import CacheTtl
from salvor_admin.domain.providers import PROVIDERS
from salvor_admin.domain.providers.turns import Exchange, ModelCall

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["station", "unit"],
    "properties": {
        "station": {"type": "string", "description": "Where, as in “Köln”."},
        "unit": {"enum": ["m", "ft"]},
        "since": {"type": ["string", "null"], "format": "date"},
        "$ref": {"type": "object", "properties": {"title": {"const": 1.5}}},
    },
}
OFFERS = [
    declarations.offering(
        tool_ids.parse("tool://tide/station.level"), "Read the last level of a gauge.", SCHEMA
    ).cache_breakpoint(CacheTtl.ONE_HOUR),
    declarations.new("plain", "Do it.", {"type": "object", "properties": {}}).cache_breakpoint(CacheTtl.FIVE_MINUTES),
]
NAME = OFFERS[0].name
ARGUMENTS = {"station": "Köln", "unit": "m"}
EXCHANGES = [
    Exchange(ModelCall("call_1", NAME, ARGUMENTS), {"level": 2.5}),
    Exchange(ModelCall("call_2", "plain", {}), "no such thing", failed=True),
]

ANSWERS = {
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "tool_use", "id": "call_1", "name": NAME, "input": ARGUMENTS}],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
    "openai-responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": NAME,
                "arguments": json.dumps(ARGUMENTS),
                "status": "completed",
            }
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    },
    "openai-chat": {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": NAME, "arguments": json.dumps(ARGUMENTS)},
                        }
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    },
    "bedrock": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "call_1", "name": NAME, "input": ARGUMENTS}}],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
        "metrics": {"latencyMs": 1},
    },
    "gemini": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"functionCall": {"id": "call_1", "name": NAME, "args": ARGUMENTS}}],
                },
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
    },
}


class Stub:
    """A local endpoint that keeps what it is sent and answers as one provider would."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.answer: Any = None
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                stub.bodies.append(json.loads(self.rfile.read(length)))
                answer = json.dumps(stub.answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    stub = Stub()
    thread = threading.Thread(target=stub.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield stub
    stub.server.shutdown()
    stub.server.server_close()
    thread.join()


def send_anthropic(url: str, tools: Any, messages: Any) -> tuple[str, str, Any]:
    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    message = client.messages.create(model="m", max_tokens=16, messages=messages, tools=tools)
    (block,) = message.content
    assert block.type == "tool_use"
    return block.id, block.name, block.input


def send_responses(url: str, tools: Any, messages: Any) -> tuple[str, str, Any]:
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
    response = client.responses.create(model="m", input=messages, tools=tools)
    (item,) = response.output
    assert item.type == "function_call"
    return item.call_id, item.name, json.loads(item.arguments)


def send_chat(url: str, tools: Any, messages: Any) -> tuple[str, str, Any]:
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
    completion = client.chat.completions.create(model="m", messages=messages, tools=tools)
    (call,) = completion.choices[0].message.tool_calls or []
    assert call.type == "function"
    return call.id, call.function.name, json.loads(call.function.arguments)


def send_bedrock(url: str, tools: Any, messages: Any) -> tuple[str, str, Any]:
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="eu-central-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
    )
    answer = client.converse(modelId="m", messages=messages, toolConfig=tools)
    (block,) = answer["output"]["message"]["content"]
    return block["toolUse"]["toolUseId"], block["toolUse"]["name"], block["toolUse"]["input"]


def send_gemini(url: str, tools: Any, messages: Any) -> tuple[str, str, Any]:
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url))
    answer = client.models.generate_content(
        model="m",
        contents=[types.Content.model_validate(content) for content in messages],
        config=types.GenerateContentConfig(
            tools=[types.Tool.model_validate(tool) for tool in tools],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        ),
    )
    (call,) = answer.function_calls or []
    return call.id or "", call.name or "", call.args


SEND = {
    "anthropic": send_anthropic,
    "openai-responses": send_responses,
    "openai-chat": send_chat,
    "bedrock": send_bedrock,
    "gemini": send_gemini,
}


def as_documented(body: dict[str, Any]) -> dict[str, Any]:
    """Google's client writes one member by its protocol name; the service reads both spellings of a field alike."""
    for tool in body["tools"] if isinstance(body.get("tools"), list) else ():
        for declaration in tool.get("functionDeclarations", ()):
            declaration["parametersJsonSchema"] = declaration.pop("parameters_json_schema")
    return body


@pytest.mark.parametrize("name", list(SEND))
def test_the_published_client_sends_what_we_render_and_reads_what_we_read(name: str, stub: Stub) -> None:
    provider = PROVIDERS[name]
    stub.answer = ANSWERS[name]
    tools, messages = provider.render_offer(OFFERS).value, provider.render_conversation("Where is it?", EXCHANGES)
    read_by_them = SEND[name](stub.url, tools, messages)
    (sent,) = stub.bodies
    body = as_documented(sent)
    assert body[provider.offer_member] == json.loads(provider.spell(tools))
    assert body[provider.conversation_member] == json.loads(provider.spell(messages))
    (call,) = provider.read_answer(json.dumps(stub.answer)).calls
    assert (call.id, call.name, call.arguments) == read_by_them == ("call_1", NAME, ARGUMENTS)


def test_every_provider_is_driven_by_its_own_client() -> None:
    assert set(SEND) == set(ANSWERS) == set(PROVIDERS)
