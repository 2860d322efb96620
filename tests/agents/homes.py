"""The least configuration that each agent CLI needs for a model of one's own (docs/agents.md shows the same).

Each function writes it into the CLI's home and returns the variables that are needed besides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.scripted_model import MODEL

KEY = "sk-scripted"
LIMIT = {"context": 200_000, "output": 8192}


def hermes(home: Path, url: str) -> dict[str, str]:
    (home / "config.yaml").write_text(f"""\
model: {{default: {MODEL}, provider: custom, base_url: "{url}/v1", api_key: "${{MODEL_KEY}}"}}
agent: {{max_turns: 60, verify_on_stop: false}}
approvals: {{mode: "off"}}
terminal: {{cwd: "."}}
security: {{tirith_enabled: false, allow_lazy_installs: false}}
lsp: {{enabled: false}}
display: {{inline_diffs: false, file_mutation_verifier: false, turn_completion_explainer: false}}
memory: {{memory_enabled: false, user_profile_enabled: false}}
""")
    (home / ".env").write_text(f"MODEL_KEY={KEY}\n")
    return {}


def opencode(home: Path, url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Mine",
        "options": {"baseURL": f"{url}/v1", "apiKey": "{env:MODEL_KEY}"},
        "models": {MODEL: {"limit": LIMIT, "cost": {"input": 1, "output": 2, "cache_read": 0.1}}},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "model": f"mine/{MODEL}",
        "small_model": f"mine/{MODEL}",
        "provider": {"mine": provider},
    }
    _write(home / "opencode.json", settings)
    return {"MODEL_KEY": KEY, "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def pi(home: Path, url: str) -> dict[str, str]:
    model = {
        "id": MODEL,
        "contextWindow": 200_000,
        "maxTokens": 8192,
        "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0},
    }
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "MODEL_KEY", "models": [model]}
    _write(home / "models.json", {"providers": {"mine": provider}})
    _write(
        home / "settings.json", {"defaultProvider": "mine", "defaultModel": MODEL, "retry": {"maxRetries": 3}}
    )
    return {"MODEL_KEY": KEY}


def mini(home: Path, url: str) -> dict[str, str]:
    (home / "ent.yaml").write_text(f"""\
agent: {{step_limit: 60, cost_limit: 0}}
environment: {{timeout: 600}}
model: {{model_name: openai/{MODEL}, cost_tracking: ignore_errors, model_kwargs: {{api_base: "{url}/v1", drop_params: true}}}}
""")
    (home / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    return {"MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "3"}


def gemini(home: Path, url: str, **model: Any) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "context": {"fileName": ["AGENTS.md", "GEMINI.md"]},
        "model": model,
    }
    _write(home / ".gemini/settings.json", settings)
    (home / ".gemini/.env").write_text(f"GEMINI_API_KEY={KEY}\n")
    return {"GOOGLE_GEMINI_BASE_URL": url}


def codex(home: Path, url: str) -> dict[str, str]:
    (home / "config.toml").write_text(f"""\
model = "{MODEL}"
model_provider = "mine"
model_context_window = 200000
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
analytics.enabled = false
[model_providers.mine]
name = "mine"
base_url = "{url}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
""")
    return {"MODEL_KEY": KEY}


def claude(home: Path, url: str) -> dict[str, str]:
    environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, "CLAUDE_CODE_MAX_RETRIES": "1"}
    _write(home / "settings.json", {"env": environment, "model": MODEL})
    return environment


def _write(path: Path, document: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1))
