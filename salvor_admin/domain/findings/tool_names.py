"""What names say: whether a tool's name promises a change, whether a field is an amount or a party."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Verbs that say wherever they stand at the front or the end of a name that something changes.
_CHANGES: Final = _set(
    "pay send delete remove destroy purge erase drop create add insert update edit change set write submit execute "
    "issue approve reject revoke grant cancel terminate close disable enable activate deactivate archive publish "
    "dispatch ship deliver reserve purchase buy sell withdraw disburse payout capture void reverse settle move rename "
    "upload notify invite assign unassign subscribe unsubscribe schedule reschedule restart reboot deploy rollback "
    "reset merge"
)
#: What may follow such a verb in the name of a tool that only asks: `cancel_preview`, `delete_eligibility`.
_RECKONED: Final = _set(
    "preview estimate estimates eligibility check checks policy policies quote quotes validation calculator history log "
    "logs progress fee fees reasons availability stats"
)
#: Verbs that are nouns as often: they promise a change only where they open the name, and an object follows.
_CHANGES_IN_FRONT: Final = _set(
    "refund charge transfer wire order book post mail email message deposit invoice credit debit fund load reload "
    "stop start lock unlock block unblock ban release return remit collect sign"
)
#: What one asks of a noun: `refund_status`, `transfer_limits`, `order_lines`.
_ASKED_OF_A_NOUN: Final = _RECKONED | _set(
    "status state states history list lists info information detail details count counts total totals report reports "
    "summary balance balances eligibility policy policies option options estimate estimates quote quotes preview "
    "lookup search check checks log logs event events method methods reason reasons schema limit limits rate rates "
    "fee fees amount receipt receipts template templates date dates window windows label labels type types level "
    "levels price prices progress availability validation calculator schedule schedules slots slot queue stats "
    "statistics metrics id ids number url link query get read exists view items lines pdf thread location locations "
    "address page currency owner name names code codes document documents attachments members recipients images text "
    "body subject size weight route eta tracking position point points"
)
#: First words that ask: what follows is what is asked about.
_ASKS: Final = _set(
    "get list read fetch find search show view check count describe lookup query is has can may preview estimate quote "
    "validate verify simulate calculate compute compare inspect peek poll retrieve see tell track watch"
)

_AMOUNTS: Final = _set(
    "amount amounts sum price cost total quantity qty units cents discount tip fee betrag montant importe belopp "
    "beløb kwota prezzo menge"
)
_CURRENCIES: Final = _set("cents cent pence öre eur usd gbp dkk sek nok chf jpy pln")
_UNITS: Final = _CURRENCIES | _set("minor major units unit value decimal net gross")
_PARTIES: Final = _set(
    "payee payer recipient recipients receiver beneficiary creditor debtor account customer merchant vendor supplier "
    "seller buyer employee patient user member tenant owner card wallet iban bic phone msisdn email address to cc bcc "
    "destination target sender payor client contact empfänger destinataire destinatario mottagare modtager"
)
_NAMING: Final = _set("id ids no nr number ref reference iban bic email address name key uuid handle code")


def words(name: str) -> list[str]:
    """A name's words in lower case: `payout.createNow` is payout, create, now."""
    return [word.casefold() for piece in _HUMP.sub(" ", name).split() for word in _WORD.findall(piece)]


#: Scripts whose letters look alike; in one word they are mixed by mistake, or to be taken for another word.
_LOOK_ALIKE: Final = ("LATIN", "CYRILLIC", "GREEK", "COPTIC")


def taken_for_another(name: str) -> str | None:
    """Why a name can be read as one that it is not, although nothing in it is hidden; None when it cannot."""
    if name != unicodedata.normalize("NFC", name):
        return "spells an accented letter as letter and accent, so one that looks the same is another name"
    if name != name.strip() or "  " in name:
        return "begins or ends with a space, or holds two together, which nobody sees"
    for word in _WORD.findall(name):
        scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word} & set(_LOOK_ALIKE)
        if len(scripts) > 1:
            kinds = " and ".join(sorted(script.capitalize() for script in scripts))
            return f"mixes {kinds} letters in “{word}”, and some of them look alike"
    return None


def promised_change(name: str) -> str | None:
    """The word in a tool's name that says it changes something; None when it asks for something."""
    parts = words(name)
    if not parts or parts[0] in _ASKS:
        return None
    if parts[0] in _CHANGES:
        return None if parts[-1] in _RECKONED else parts[0]
    if parts[0] in _CHANGES_IN_FRONT:
        return None if parts[-1] in _ASKED_OF_A_NOUN else parts[0]
    return parts[-1] if parts[-1] in _CHANGES else None


def is_amount(field: str) -> bool:
    """Whether a field's name says how much: `amount_cents`, `qty`, `totalPrice`; not `price_list` or `total_pages`."""
    parts = words(field)
    while len(parts) > 1 and parts[-1] in _UNITS:
        if parts.pop() in _CURRENCIES:
            return True
    return bool(parts) and parts[-1] in _AMOUNTS


def is_party(field: str) -> bool:
    """Whether a field's name says who: `payee_iban`, `customerId`, `to`; not `account_type` or `email_template`."""
    parts = words(field)
    while len(parts) > 1 and parts[-1] in _NAMING and not (len(parts) == 2 and parts[0] not in _PARTIES):
        parts.pop()
    return bool(parts) and parts[-1] in _PARTIES
