"""Fields that take what JSON said and nothing like it: no "5" for 5, no trimming, no local times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.utils.dateparse import parse_datetime
from rest_framework import serializers

from salvor_admin.domain import strict_json
from salvor_admin.domain.strict_json import Json


class Text(serializers.CharField):
    """A string as it came; empty only where the rule behind it says no itself."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"trim_whitespace": False, "allow_blank": True, **kwargs})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class Whole(serializers.IntegerField):
    """A whole number, not a string or a double that looks like one."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return data


class OneOf(serializers.ChoiceField):
    """One of a few words."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError(f"is none of {', '.join(map(str, self.choices))}")
        return data


class Id(serializers.UUIDField):
    """A UUID in its usual spelling."""

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        try:
            return UUID(data)
        except ValueError:
            self.fail("invalid", value=data)


_WITH_OFFSET: Final = "is no time with an offset; write it as 2026-03-01T09:30:00Z"


class Instant(serializers.DateTimeField):
    """A time as RFC 3339 says it: an offset when it comes in, UTC when it goes out."""

    def to_internal_value(self, value: Any) -> datetime:
        try:
            instant = parse_datetime(value) if isinstance(value, str) and len(value) <= 40 else None
            if instant is None or instant.tzinfo is None:
                raise serializers.ValidationError(_WITH_OFFSET)
            return instant.astimezone(UTC)
        except (ValueError, OverflowError):
            raise serializers.ValidationError(_WITH_OFFSET) from None

    def to_representation(self, value: Any) -> str:
        return instant_text(value)


def instant_text(value: datetime) -> str:
    """RFC 3339 in UTC, with the microseconds that the database keeps."""
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class FreeJson(serializers.JSONField):
    """Any JSON value, null included."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_null": True, **kwargs})

    def to_internal_value(self, data: Any) -> Json:
        return data


class StoredJson(serializers.JSONField):
    """Canonical text as it is kept, shown as the value it spells."""

    def to_representation(self, value: Any) -> Json:
        return strict_json.read(value.encode(), max_depth=strict_json.MAX_DEPTH)


class Flag(serializers.BooleanField):
    """true or false, no word that means one of them."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data
