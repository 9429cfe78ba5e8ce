"""The main job, by a client that was made from the document: from the first token to a refund.

Whatever the client has no class for, or cannot read, ends the play.
"""

import io
import json
import os
import time

from assent_client import AuthenticatedClient, Client
from assent_client import models as m
from assent_client.api.authentication import create_token
from assent_client.api.billing import answer_billing_request, bill_customers, get_billing_request
from assent_client.api.billing_intents import answer_intent, send_intents
from assent_client.api.customers import onboard_customers
from assent_client.api.merchants import create_merchants, set_merchant_trust
from assent_client.api.reconciliation import send_bank_statement
from assent_client.api.recurring_billing import change_schedule, create_schedule, get_schedule
from assent_client.api.refunds import answer_refund, get_refund, initiate_refund
from assent_client.api.webhook_settings import list_events
from assent_client.types import File

API_URL = os.environ["API_URL"]
# An engine on two busy cores.
PATIENCE_S = 60
PAUSE_S = 0.2


def signed_in(client_id, client_secret):
    body = m.TokenRequest(grant_type="client_credentials", client_id=client_id, client_secret=client_secret)
    token = done(create_token.sync_detailed(client=Client(API_URL), body=body), 200)
    return AuthenticatedClient(API_URL, token.access_token, raise_on_unexpected_status=True)


def done(response, status):
    """What an answer has become in the client's own classes."""
    if response.status_code != status or response.parsed is None:
        raise SystemExit(f"{response.status_code}: {response.content.decode()}")
    return response.parsed


def eventually(what, look):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(PAUSE_S)
    raise SystemExit(f"never came: {what}")


def heard(client, webhook_type, fits):
    """The first thing of that kind that its events tell a party, and that fits."""

    def look():
        events = done(list_events.sync_detailed(client=client, limit=100), 200).data.events
        told = [item for event in events if event.webhook_type == webhook_type for item in event.data]
        return next((item for item in told if fits(item)), None)

    return eventually(webhook_type, look)


def pay(bank, reference):
    asked = heard(bank, "billing.request", lambda item: item.reference == reference)
    body = m.AnswerBillingRequestBody(asked.billing_request_id, bank_transaction_id=f"FT-{reference}")
    assert done(answer_billing_request.sync_detailed(client=bank, body=body), 200).data.status == "successful"


bank_identity = json.loads(os.environ["BANK"])
bank = signed_in(bank_identity["clientId"], bank_identity["clientSecret"])
provider_identity = json.loads(os.environ["PROVIDER"])
provider = signed_in(provider_identity["clientId"], provider_identity["clientSecret"])

shop = m.CreateMerchantsBodyMerchantsItem(name="Palm Grocers", email="shop@palm.example", client_ref="palm")
body = m.CreateMerchantsBody([shop])
made = done(create_merchants.sync_detailed(client=provider, body=body), 201).data.merchants[0]
trust = m.SetMerchantTrustBody(made.merchant_id, m.SetMerchantTrustBodyTrustLevel.TRUSTED)
done(set_merchant_trust.sync_detailed(client=provider, body=trust), 200)
merchant = signed_in(made.client_id, made.client_secret)
print("A provider has made a merchant, which has its token.")

person = m.OnboardCustomersBodyCustomersItem(
    client_ref="ada",
    firstname="Ada",
    lastname="Obi",
    account_name="OBI ADA",
    email="ada@mail.example",
    country="NG",
    account_number="0123456789",
)
batch = done(onboard_customers.sync_detailed(client=bank, body=m.OnboardCustomersBody([person])), 201).data
customer = batch.customers[0]
print("The bank has a customer.")

body = m.SendIntentsBody([customer.lookup_id], m.SendIntentsBodyCurrency.NGN, "Groceries")
[intent] = done(send_intents.sync_detailed(client=merchant, body=body), 200)
asked = heard(bank, "billing.intent", lambda item: item.intent_id == intent.intent_id)
body = m.AnswerIntentBody(
    asked.customer_id,
    made.merchant_id,
    asked.lookup_id,
    m.AnswerIntentBodyCustomerDecision.APPROVE_RECURRING,
    spending_limits=m.AnswerIntentBodySpendingLimits(monthly=50_000),
)
assert done(answer_intent.sync_detailed(client=bank, body=body), 200).data.status == "approved"
payment_id = heard(merchant, "billing.intent.response", lambda item: item.intent_id == intent.intent_id).payment_id
print("The customer lets the merchant bill.")

body = m.BillCustomersBodyByMerchant(1500, m.BillCustomersBodyByMerchantCurrency.NGN, "Shoes", payment_i_ds=[payment_id])
[charge] = done(bill_customers.sync_detailed(client=merchant, body=body, idempotency_key="shoes"), 201)
pay(bank, charge.reference)
shown = done(get_billing_request.sync_detailed(charge.billing_request_id, client=merchant), 200).data
assert shown.status == "successful"
body = m.BillCustomersBodyByMerchant(60_000, m.BillCustomersBodyByMerchantCurrency.NGN, "Boots", payment_i_ds=[payment_id])
refused = done(bill_customers.sync_detailed(client=merchant, body=body), 403)
assert refused.code == refused.data[0].code == m.ErrorCode.LIMIT_REACHED
print("A bill is paid, and one beyond the limit is refused.")

body = m.CreateScheduleBody(
    customer.customer_id,
    payment_id,
    2000,
    m.CreateScheduleBodyCurrency.NGN,
    m.CreateScheduleBodyFrequency.MONTHLY,
)
schedule = done(create_schedule.sync_detailed(client=merchant, body=body), 201).data


def first_attempt():
    billings = done(get_schedule.sync_detailed(schedule.schedule_id, client=merchant), 200).data.billings
    return next((attempt for billing in billings for attempt in billing.attempts or []), None)


pay(bank, eventually("the first charge of the schedule", first_attempt).reference)
eventually("its payment", lambda: first_attempt().status == "successful")
body = m.ChangeScheduleBody(max_billings=12)
changed = done(change_schedule.sync_detailed(schedule.schedule_id, client=merchant, body=body), 200).data
assert (changed.status, changed.max_billings) == ("active", 12)
print("A schedule charges.")

body = m.InitiateRefundBody(charge.reference, amount=500)
refund = done(initiate_refund.sync_detailed(client=merchant, body=body), 201).data
asked = heard(bank, "refund.request", lambda item: item.refund_id == refund.refund_id)
body = m.AnswerRefundBody(asked.refund_id, m.AnswerRefundBodyAction.COMPLETED, bank_transaction_id="FT-refund")
done(answer_refund.sync_detailed(client=bank, body=body), 200)
shown = done(get_refund.sync_detailed(refund.refund_id, client=merchant), 200).data
assert shown.status == "completed"
beyond = done(initiate_refund.sync_detailed(client=merchant, body=m.InitiateRefundBody(charge.reference, 1001)), 409)
assert beyond.code == m.ErrorCode.EXCEEDS_REMAINING
print("A part is refunded, and more than what is left is refused.")

file = File(io.BytesIO(b"bankTransactionId,bookingDate,amount,currency,direction\r\n"))
done(send_bank_statement.sync_detailed(client=bank, body=file), 202)
print("The bank has sent what it booked.")
