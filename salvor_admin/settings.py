"""One file of settings; every knob is an environment variable whose odd values are refused at start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent


def env_text(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def env_flag(name: str, default: bool) -> bool:
    value = env_text(name).lower()
    if value == "":
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} is {value!r}; say 1 or 0.")


def env_number(name: str, default: int, *, least: int, most: int) -> int:
    value = env_text(name)
    if value == "":
        return default
    if not value.isdecimal() or not least <= int(value) <= most:
        raise ImproperlyConfigured(f"{name} is {value!r}; say a whole number from {least} to {most}.")
    return int(value)


def env_list(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in env_text(name, default).split(",") if part.strip()]


def database_from_url(url: str) -> dict[str, Any]:
    """Django's database settings from a postgresql:// URL; a socket folder may stand in `?host=`."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(
            f"SALVOR_DATABASE_URL has the scheme {parts.scheme!r}; only postgresql:// works here."
        )
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    host = query.pop("host", "") or unquote(parts.hostname or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "salvor_admin",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(query.pop("port", "") or parts.port or ""),
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": False,
        "OPTIONS": {
            "connect_timeout": 5,
            "options": "-c statement_timeout=30000 -c lock_timeout=10000 -c random_page_cost=1.1 "
            "-c max_parallel_workers_per_gather=0",
            **query,
        },
    }


DEBUG = env_flag("SALVOR_DEBUG", False)
STATE_DIR = Path(env_text("SALVOR_STATE_DIR") or BASE_DIR / ".state")

SECRET_KEY = env_text("SALVOR_SECRET_KEY")
if not SECRET_KEY:
    # Commands that touch no session (checks, migrations, collectstatic) run without one; `salvor.E001` stops the rest.
    SECRET_KEY = os.urandom(32).hex()
    SECRET_KEY_IS_FLEETING = True
else:
    SECRET_KEY_IS_FLEETING = False
SECRET_KEY_FALLBACKS = env_list("SALVOR_SECRET_KEY_FALLBACKS")

ALLOWED_HOSTS = env_list("SALVOR_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env_list("SALVOR_CSRF_TRUSTED_ORIGINS")
PUBLIC_URL = env_text("SALVOR_PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
HTTPS = env_flag("SALVOR_HTTPS", PUBLIC_URL.startswith("https://"))

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "salvor_admin.web",
    "salvor_admin.audit",
    "salvor_admin.outbox",
    "salvor_admin.people",
    "salvor_admin.reviews",
    "salvor_admin.catalogue",
    "salvor_admin.discovery",
    "salvor_admin.runtimes",
    "salvor_admin.ledger",
    "salvor_admin.settlement",
    "salvor_admin.delivery",
    "salvor_admin.wire",
    "salvor_admin.api",
    "salvor_admin.home",
]

MIDDLEWARE = [
    # First of all: `/v1` and `/api` need none of what follows, and pay for none of it.
    "salvor_admin.wire.middleware.LeanWire",
    "salvor_admin.api.middleware.LeanApi",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "salvor_admin.web.middleware.Pages",
]

ROOT_URLCONF = "salvor_admin.urls"
WSGI_APPLICATION = "salvor_admin.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
                "salvor_admin.web.layout.frame",
            ],
            "builtins": ["django.templatetags.static", "salvor_admin.web.templatetags.console"],
            "loaders": [
                ("django.template.loaders.cached.Loader", ["django.template.loaders.filesystem.Loader"]),
            ],
        },
    },
]

DATABASES = {"default": database_from_url(env_text("SALVOR_DATABASE_URL", "postgresql:///salvor_admin"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = env_text("SALVOR_REDIS_URL", "redis://127.0.0.1:6379/0")

AUTH_USER_MODEL = "people.Person"
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# A user name is unique without regard to case: a constraint over Lower("username"), which the check cannot see.
SILENCED_SYSTEM_CHECKS = ["auth.E003"]
LOGIN_URL = "people:sign_in"
LOGIN_REDIRECT_URL = "home:start"
LOGOUT_REDIRECT_URL = "people:sign_in"

SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_AGE = env_number("SALVOR_SESSION_SECONDS", 12 * 3600, least=300, most=30 * 86400)
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "salvor_admin.web.refusals_page.csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = env_flag("SALVOR_SSL_REDIRECT", HTTPS)
SECURE_HSTS_SECONDS = env_number("SALVOR_HSTS_SECONDS", 31536000 if HTTPS else 0, least=0, most=63072000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
if env_flag("SALVOR_BEHIND_PROXY", False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}

DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
# Of one form with files: 200 declarations of 512 kB are the most that any page takes.
MOST_UPLOADED = 104 * 1024 * 1024
FILE_UPLOAD_HANDLERS = [
    "salvor_admin.web.uploads.Bounded",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = Path(env_text("SALVOR_STATIC_ROOT") or BASE_DIR / "staticfiles")
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(STATE_DIR / "evidence")},
    },
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

LANGUAGE_CODE = "en"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
    },
}

CELERY_BROKER_URL = f"redis+socket://{REDIS_URL[7:]}" if REDIS_URL.startswith("unix://") else REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 600, "socket_timeout": 5, "socket_connect_timeout": 2}
CELERY_TASK_TIME_LIMIT = 300
CELERY_TIMEZONE = "UTC"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["salvor_admin.api.authentication.BearerToken"],
    "DEFAULT_PERMISSION_CLASSES": ["salvor_admin.api.permissions.HasToken"],
    "DEFAULT_RENDERER_CLASSES": ["salvor_admin.api.rendering.CanonicalJson"],
    "DEFAULT_PARSER_CLASSES": ["salvor_admin.api.parsing.StrictJson"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "salvor_admin.api.errors.envelope",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Salvor Admin",
    "DESCRIPTION": "Reviewed declarations and grants, and the calls that wait for a person.",
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    # Words are listed where they may stand; enums of their own would need a name each.
    "POSTPROCESSING_HOOKS": [],
}

EMAIL_BACKEND = env_text("SALVOR_EMAIL_BACKEND", "django.core.mail.backends.console.EmailBackend")
DEFAULT_FROM_EMAIL = env_text("SALVOR_EMAIL_FROM", "salvor-admin@localhost")
EMAIL_HOST = env_text("SALVOR_EMAIL_HOST", "localhost")
EMAIL_PORT = env_number("SALVOR_EMAIL_PORT", 25, least=1, most=65535)
EMAIL_HOST_USER = env_text("SALVOR_EMAIL_USER")
EMAIL_HOST_PASSWORD = env_text("SALVOR_EMAIL_PASSWORD")
EMAIL_USE_TLS = env_flag("SALVOR_EMAIL_STARTTLS", False)
EMAIL_USE_SSL = env_flag("SALVOR_EMAIL_SSL", False)
EMAIL_TIMEOUT = 10
#: When digests are sent, in UTC.
DIGEST_HOUR = env_number("SALVOR_DIGEST_HOUR", 7, least=0, most=23)

EGRESS_ALLOW = env_list("SALVOR_EGRESS_ALLOW")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env_text("SALVOR_LOG_LEVEL", "INFO").upper()},
    "loggers": {"django.request": {"level": "ERROR"}},
}
