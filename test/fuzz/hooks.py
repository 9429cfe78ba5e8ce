"""What the document cannot tell a generator: which things there are, and which values go together.

A request that is meant to be valid gets ids, phrases and references of things that the caller has, all of one story
(`cast.ts`), and is put right where JSON Schema has no words for a rule. What is meant to be invalid is left alone, except that a
well-formed id becomes another well-formed one.
"""

import atexit
import datetime
import json
import os
import re
import unicodedata
import zlib
from collections import Counter, defaultdict

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData

ROLE = os.environ["FUZZ_ROLE"]
SEEDS = json.loads(os.environ["FUZZ_SEEDS"])
COUNTS_FILE = os.environ["FUZZ_COUNTS"]

ID = re.compile(r"([a-z]{3})_(?:[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}|(?<=dev_)[A-Za-z0-9_-]{26,200})")
# Of four requests, three name things that exist.
KNOWN_OF_FOUR = 3


@schemathesis.serializer("application/xml", "text/xml")
def as_it_is(ctx, value):
    """A file is sent as the text that it is, and not as an element that has it."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@schemathesis.hook
def before_load_schema(ctx, raw_schema):
    """Of a body that roles send in different forms, the caller's own stays."""
    schemas = raw_schema["components"]["schemas"]

    def named(schema):
        return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    for methods in raw_schema["paths"].values():
        for operation in methods.values():
            for media in operation.get("requestBody", {}).get("content", {}).values():
                forms = named(media["schema"]).get("anyOf", [])
                own = [form for form in forms if ROLE in named(form).get("x-roles", [ROLE])]
                if len(own) == 1:
                    media["schema"] = own[0]
                elif forms:
                    named(media["schema"])["anyOf"] = own


@schemathesis.hook
def before_call(ctx, case, kwargs):
    # In the stateful phase ids come from the answers to earlier requests.
    seed = {} if phase_of(case) == "stateful" else seed_for(case)
    put_in(case, seed, named=False)
    give_own_key(case)
    # Asked only now: what is changed may turn out to be valid, as with a header that nobody knows.
    if is_positive(case):
        put_in(case, seed, named=True)
        for rule in (notes_are_kept, *RULES.get(operation_id(case), ())):
            rule(case)
        give_own_key(case)


def operation_id(case):
    return case.operation.definition.raw["operationId"]


def phase_of(case):
    return case.meta.phase.name.value if case.meta else None


def is_positive(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


keys = {}


def give_own_key(case):
    """Made-up keys are short and come again: then they are another one, lest the answer be only that they are taken."""
    key = case.headers.get(KEY) if case.headers else None
    if key is None:
        return
    request = shown(case)
    while keys.setdefault((operation_id(case), str(case.path_parameters), key), request) != request:
        key = f"fuzz-{len(keys)}"
    if key != case.headers[KEY]:
        case.headers[KEY] = key


KEY = "Idempotency-Key"


def shown(case):
    return repr((case.operation.label, case.path_parameters, case.query, case.body))


def number_of(case):
    return zlib.crc32(shown(case).encode("utf-8", "surrogatepass"))


def seed_for(case):
    """The same for the same request, so that a failure can be had again."""
    number = number_of(case)
    return SEEDS[number // 4 % len(SEEDS)] if SEEDS and number % 4 < KNOWN_OF_FOUR else {}


def put_in(case, seed, named):
    for part in "path_parameters", "query", "body":
        given = getattr(case, part)
        if isinstance(given, (dict, list)):
            better = known(given, seed, named)
            if better != given:
                setattr(case, part, better)


def known(value, seed, named, name=None):
    """@param named whether values go by the name of their field too, whatever they are"""
    if isinstance(value, dict):
        return {key: known(inner, seed, named, key) for key, inner in value.items()}
    if isinstance(value, list):
        # An id is named once: the rest of a list stays made up.
        return [known(value[0], seed, named, name), *value[1:]] if value else value
    if not isinstance(value, str):
        return value
    found = ID.fullmatch(value)
    if found:
        return seed.get(found[1], value)
    if named and name is not None:
        return seed.get(name, seed.get(name.removesuffix("s"), value))
    return value


def amounts_fit_the_currency(case):
    """
    `multipleOf: 0.01` would say some of it, but many a validator counts in binary, where 19.99 is no multiple. And where the currency
    is not the request's to name, it may be any.
    """

    def mend(value):
        if isinstance(value, dict):
            return {
                key: min(max(0.01, round(inner, 2)), MOST) if key in AMOUNTS and is_number(inner) else mend(inner)
                for key, inner in value.items()
            }
        return value

    case.body = mend(case.body)


AMOUNTS = ("amount", "daily", "monthly")
# Naira.
MOST = 10_000_000_000


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def notes_are_kept(case):
    """What would be lost is refused: a digit of a long whole number, a value of two names that mean the same."""
    notes = case.body.get("metadata") if isinstance(case.body, dict) else None
    if isinstance(notes, dict):
        case.body["metadata"] = {clean(name): with_all_digits(note) for name, note in notes.items()}


def with_all_digits(value):
    if isinstance(value, dict):
        return {key: with_all_digits(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_all_digits(inner) for inner in value]
    return float(value) if type(value) is int else value


def identifiers_are_of_one_kind(case):
    if ROLE != "bank":
        if "paymentIDs" in case.body:
            case.body.pop("lookupIDs", None)
        elif "lookupIDs" not in case.body:
            case.body["lookupIDs"] = [SEEDS[0]["lookupID"]]


def identifiers_differ(case):
    """`uniqueItems` counts spellings; what means the same is the same identifier."""
    for name, meaning in ("lookupIDs", phrase_of), ("paymentIDs", clean):
        given = case.body.get(name)
        if given:
            case.body[name] = list({meaning(one): one for one in reversed(given)}.values())


def clean(text):
    """As the API reads text."""
    return unicodedata.normalize("NFC", re.sub(r"^[\s\ufeff]+|[\s\ufeff]+$", "", text))


def phrase_of(text):
    return re.sub(r"\s*-\s*|\s+", "-", clean(text).lower())


def interval_is_three_years_at_most(case):
    longest = {"daily": 1095, "weekly": 156, "monthly": 36, "yearly": 3}[case.body["frequency"]]
    case.body["interval"] = min(case.body.get("interval", 1), longest)


def answer_says_one_thing(case):
    """An approval has its transaction and no reason; without an action, one of the two says which it is."""
    approves = case.body.get("action", "").startswith("approve")
    if approves or not {"action", "declineReason"} & set(case.body):
        case.body.setdefault("bankTransactionId", f"fuzz {number_of(case)}")
    if "bankTransactionId" in case.body and (approves or "action" not in case.body):
        case.body.pop("declineReason", None)


def money_is_proven(case):
    """What was moved has its transaction."""
    if case.body.get("action", case.body.get("resolution")) in ("completed", "reversed"):
        case.body.setdefault("bankTransactionId", f"fuzz {number_of(case)}")


def payee_is_somebody_else(case):
    """Two fields that must differ."""
    payers = {phrase_of(payer) for payer in case.body.get("lookupIDs", ())}
    if "payee" in case.body and phrase_of(case.body["payee"]["lookupID"]) in payers:
        others = [seed["lookupID"] for seed in SEEDS if phrase_of(seed["lookupID"]) not in payers]
        case.body["payee"]["lookupID"] = others[0]


def dates_follow_each_other(case):
    """The start is no past, and the end is after it; they are counted from now."""
    for name, year in ("startDate", "2080"), ("endDate", "2088"):
        if case.body.get(name) is not None:
            # A leap year for a leap year, so that each has the day.
            case.body[name] = year + case.body[name][4:]


def batch_is_that_of_the_charge(case):
    batches = {seed["brq"]: seed["batchOfCharge"] for seed in SEEDS}
    if "batchId" in case.body:
        del case.body["batchId"]
        if case.body["billingRequestId"] in batches:
            case.body["batchId"] = batches[case.body["billingRequestId"]]


def one_customer_is_named(case):
    """Of the parameters of a query, OpenAPI cannot say that there is to be one or the other."""
    if len(case.query) != 1:
        case.query = {"customerId": case.query.get("customerId", SEEDS[0]["cus"])}


def events_are_own(case):
    """The one id of ours that is refused with 400 where there is no such thing."""
    if "after" in case.query:
        case.query["after"] = SEEDS[0]["evt"]


def merchants_are_named_apart(case):
    """One field of each must differ, where all of `uniqueItems` may be the same in it."""
    case.body["merchants"] = list({clean(one["clientRef"]): one for one in case.body["merchants"]}.values())


def clock_goes_forward(case):
    """More than nothing, and at most ten years from wherever the clock is."""
    case.body["by"] = f"P{1 + zlib.crc32(case.body['by'].encode('utf-8', 'surrogatepass')) % 400}D"


def statement_is_there(case):
    """Of a bank there is one statement, and in a currency that is accepted."""
    if "currency" in case.query:
        case.query["currency"] = "NGN"
    if ROLE == "bank":
        case.query.pop("merchantId", None)


def days_are_few(case):
    """The first and the last, where one of them is named."""
    for name, other in ("from", "to"), ("to", "from"):
        if name in case.query:
            case.query[other] = case.query[name]


def debits_are_named_by_banks(case):
    """Metadata is the merchants'."""
    if ROLE != "bank":
        case.query.pop("bankTransactionId", None)
    else:
        case.query = {name: value for name, value in case.query.items() if not name.startswith("metadata")}


def file_reaches_to_today_at_most(case):
    """It begins before it ends, and the bank's own day is not over everywhere."""
    yesterday = (datetime.date.today() - datetime.timedelta(days=1)).isoformat()
    for name in "from", "through":
        if name in case.query:
            case.query[name] = min(case.query[name], yesterday)
    if "from" in case.query and "through" in case.query:
        case.query["from"] = min(case.query["from"], case.query["through"])


def statement_can_be_read(case):
    """To OpenAPI a file is any text."""
    if case.media_type != "text/csv":
        case.body = '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt/></Document>'
    else:
        lines = case.body if isinstance(case.body, str) else ""
        case.body = f"bankTransactionId,bookingDate,amount,currency,direction\n{clean(lines)}\n"


# What JSON Schema has no words for, or none that tools agree on.
RULES = {
    "advanceClock": [clock_goes_forward],
    "answerBillingRequest": [batch_is_that_of_the_charge, answer_says_one_thing, notes_are_kept],
    "answerIntent": [amounts_fit_the_currency],
    "answerRefund": [money_is_proven],
    "billCustomers": [
        amounts_fit_the_currency,
        identifiers_are_of_one_kind,
        identifiers_differ,
        payee_is_somebody_else,
    ],
    "changeDecision": [amounts_fit_the_currency],
    "changeSchedule": [amounts_fit_the_currency, dates_follow_each_other, notes_are_kept],
    "createMerchants": [merchants_are_named_apart],
    "createSchedule": [
        amounts_fit_the_currency,
        interval_is_three_years_at_most,
        dates_follow_each_other,
        notes_are_kept,
    ],
    "getStatement": [statement_is_there],
    "getStatementFile": [statement_is_there],
    "getSummary": [days_are_few],
    "initiateRefund": [amounts_fit_the_currency],
    "listEvents": [events_are_own],
    "listTransactions": [debits_are_named_by_banks],
    "respondToException": [money_is_proven],
    "sendBankStatement": [statement_can_be_read, file_reaches_to_today_at_most],
    "sendIntents": [identifiers_differ],
    "updateCustomer": [one_customer_is_named],
}


@schemathesis.hook
def filter_failure(ctx, failure, case, response):
    """A person who is not valid is no reason to refuse a batch: the answer to it counts the failure."""
    if operation_id(case) == "onboardCustomers" and isinstance(failure, AcceptedNegativeData):
        batch = response.json()["data"]
        # A large one is only looked at after the answer.
        return batch["summary"]["failed"] == 0 and batch["status"] != "processing"
    return True


answers = defaultdict(Counter)


@schemathesis.hook
def after_call(ctx, case, response):
    if response.request.method.lower() == case.operation.method.lower():
        answers[operation_id(case)][response.status_code] += 1


@atexit.register
def write_counts():
    with open(COUNTS_FILE, "w", encoding="utf-8") as file:
        json.dump(answers, file)
