// The main job, by a client that was made from the document: from the first token to a refund.
//
// Whatever the client has no type for, or cannot read, ends the play.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	api "assent/client"
)

const (
	// An engine on two busy cores.
	patience = 60 * time.Second
	pause    = 200 * time.Millisecond
)

var ctx = context.Background()

type identity struct{ ClientID, ClientSecret string }

func main() {
	log.SetFlags(0)
	bank := signedIn(given("BANK"))
	provider := signedIn(given("PROVIDER"))

	shop := api.CreateMerchantsBodyMerchantsItem{Name: "Palm Grocers", Email: "go@palm.example", ClientRef: "go"}
	made := answer(provider.CreateMerchantsWithResponse(ctx, nil,
		api.CreateMerchantsBody{Merchants: []api.CreateMerchantsBodyMerchantsItem{shop}}))
	created := must(read(made, made.JSON201).Data.Merchants[0].AsCreatedMerchant())
	trusted := answer(provider.SetMerchantTrustWithResponse(ctx, nil,
		api.SetMerchantTrustBody{MerchantId: created.MerchantId, TrustLevel: api.SetMerchantTrustBodyTrustLevelTrusted}))
	read(trusted, trusted.JSON200)
	merchant := signedIn(identity{created.ClientId, *created.ClientSecret})
	fmt.Println("A provider has made a merchant, which has its token.")

	person := api.OnboardCustomersBodyCustomersItem{
		ClientRef: "ada", Firstname: "Ada", Lastname: "Obi", AccountName: "OBI ADA",
		Email: "ada@mail.example", Country: "NG", AccountNumber: "0123456789",
	}
	batch := answer(bank.OnboardCustomersWithResponse(ctx, nil,
		api.OnboardCustomersBody{Customers: []api.OnboardCustomersBodyCustomersItem{person}}))
	customer := read(batch, batch.JSON201).Data.Customers[0]
	fmt.Println("The bank has a customer.")

	paymentID := permission(bank, merchant, created.MerchantId, customer.LookupID)
	fmt.Println("The customer lets the merchant bill.")

	reference := bill(bank, merchant, paymentID)
	fmt.Println("A bill is paid, and one beyond the limit is refused.")

	schedule(bank, merchant, customer.CustomerId, paymentID)
	fmt.Println("A schedule charges.")

	refund(bank, merchant, reference)
	fmt.Println("A part is refunded, and more than what is left is refused.")

	sendStatement(bank)
	fmt.Println("The bank has sent what it booked.")
}

func permission(bank, merchant *api.ClientWithResponses, merchantID, lookupID string) string {
	sent := answer(merchant.SendIntentsWithResponse(ctx, nil, api.SendIntentsBody{
		LookupIDs: []string{lookupID}, Currency: api.SendIntentsBodyCurrencyNGN, Description: "Groceries",
	}))
	intent := must((*read(sent, sent.JSON200))[0].AsSendIntentsResultItemAccepted())
	asked := heard(bank, "billing.intent", api.ListEventsResultDataEventsItem.AsBillingIntentEvent,
		func(event api.BillingIntentEvent) []api.BillingIntentItem { return event.Data },
		func(item api.BillingIntentItem) bool { return item.IntentId == intent.IntentId })
	monthly := 50_000.0
	given := answer(bank.AnswerIntentWithResponse(ctx, nil, api.AnswerIntentBody{
		CustomerId: asked.CustomerId, EntityId: merchantID, LookupID: asked.LookupID,
		CustomerDecision: api.AnswerIntentBodyCustomerDecisionApproveRecurring,
		SpendingLimits:   &api.AnswerIntentBodySpendingLimits{Monthly: &monthly},
	}))
	same("the intent", read(given, given.JSON200).Data.Status, "approved")
	decided := heard(merchant, "billing.intent.response", api.ListEventsResultDataEventsItem.AsBillingIntentResponseEvent,
		func(event api.BillingIntentResponseEvent) []api.BillingIntentResponseItem { return event.Data },
		func(item api.BillingIntentResponseItem) bool { return item.IntentId == intent.IntentId })
	return *decided.PaymentID
}

func bill(bank, merchant *api.ClientWithResponses, paymentID string) string {
	key := "shoes"
	params := &api.BillCustomersParams{IdempotencyKey: &key}
	billed := answer(merchant.BillCustomersWithResponse(ctx, params, billOf(paymentID, 1500.25, "Shoes")))
	charge := must((*read(billed, billed.JSON201))[0].AsBillCustomersResultItemAccepted())
	pay(bank, charge.Reference)
	shown := answer(merchant.GetBillingRequestWithResponse(ctx, charge.BillingRequestId, nil))
	same("the charge", read(shown, shown.JSON200).Data.Status, "successful")
	same("its amount", shown.JSON200.Data.Amount, 1500.25)
	beyond := answer(merchant.BillCustomersWithResponse(ctx, nil, billOf(paymentID, 60_000, "Boots")))
	refused := read(beyond, beyond.JSON403)
	same("the refusal", refused.Code, api.ErrorCodeLimitReached)
	same("the refusal of the item", (*refused.Data)[0].Code, api.ErrorCodeLimitReached)
	return charge.Reference
}

func billOf(paymentID string, amount float64, description string) api.BillCustomersBody {
	var body api.BillCustomersBody
	check(body.FromBillCustomersBodyByMerchant(api.BillCustomersBodyByMerchant{
		PaymentIDs: &[]string{paymentID}, Amount: amount,
		Currency: api.BillCustomersBodyByMerchantCurrencyNGN, Description: description,
	}))
	return body
}

func pay(bank *api.ClientWithResponses, reference string) {
	asked := heard(bank, "billing.request", api.ListEventsResultDataEventsItem.AsBillingRequestEvent,
		func(event api.BillingRequestEvent) []api.BillingRequestItem { return event.Data },
		func(item api.BillingRequestItem) bool { return item.Reference == reference })
	transaction := "FT-" + reference
	paid := answer(bank.AnswerBillingRequestWithResponse(ctx, nil, api.AnswerBillingRequestBody{
		BillingRequestId: asked.BillingRequestId, BankTransactionId: &transaction,
	}))
	same("the answer", read(paid, paid.JSON200).Data.Status, "successful")
}

func schedule(bank, merchant *api.ClientWithResponses, customerID, paymentID string) {
	made := answer(merchant.CreateScheduleWithResponse(ctx, nil, api.CreateScheduleBody{
		CustomerId: customerID, PaymentID: paymentID, Amount: 2000,
		Currency: api.CreateScheduleBodyCurrencyNGN, Frequency: api.CreateScheduleBodyFrequencyMonthly,
	}))
	id := read(made, made.JSON201).Data.ScheduleId
	firstAttempt := func() *api.BillingAttemptsItem {
		shown := answer(merchant.GetScheduleWithResponse(ctx, id, nil))
		for _, billing := range read(shown, shown.JSON200).Data.Billings {
			for _, attempt := range billing.Attempts {
				return &attempt
			}
		}
		return nil
	}
	pay(bank, eventually("the first charge of the schedule", firstAttempt).Reference)
	eventually("its payment", func() *api.BillingAttemptsItem {
		if attempt := firstAttempt(); attempt.Status == "successful" {
			return attempt
		}
		return nil
	})
	most := 12
	changed := answer(merchant.ChangeScheduleWithResponse(ctx, id, nil, api.ChangeScheduleBody{MaxBillings: &most}))
	same("the schedule", read(changed, changed.JSON200).Data.Status, "active")
	same("its end", *changed.JSON200.Data.MaxBillings, most)
}

func refund(bank, merchant *api.ClientWithResponses, reference string) {
	amount := 500.0
	begun := answer(merchant.InitiateRefundWithResponse(ctx, nil,
		api.InitiateRefundBody{Reference: reference, Amount: &amount}))
	id := read(begun, begun.JSON201).Data.RefundId
	heard(bank, "refund.request", api.ListEventsResultDataEventsItem.AsRefundRequestEvent,
		func(event api.RefundRequestEvent) []api.RefundRequestItem { return event.Data },
		func(item api.RefundRequestItem) bool { return item.RefundId == id })
	transaction := "FT-refund-go"
	told := answer(bank.AnswerRefundWithResponse(ctx, nil, api.AnswerRefundBody{
		RefundId: id, Action: api.AnswerRefundBodyActionCompleted, BankTransactionId: &transaction,
	}))
	read(told, told.JSON200)
	shown := answer(merchant.GetRefundWithResponse(ctx, id, nil))
	same("the refund", read(shown, shown.JSON200).Data.Status, "completed")
	amount = 1001
	beyond := answer(merchant.InitiateRefundWithResponse(ctx, nil,
		api.InitiateRefundBody{Reference: reference, Amount: &amount}))
	same("the refusal", read(beyond, beyond.JSON409).Code, api.ErrorCodeExceedsRemaining)
}

func sendStatement(bank *api.ClientWithResponses) {
	file := bytes.NewBufferString("bankTransactionId,bookingDate,amount,currency,direction\r\n")
	sent := answer(bank.SendBankStatementWithBodyWithResponse(ctx, nil, "application/octet-stream", file))
	read(sent, sent.JSON202)
}

func given(name string) (one identity) {
	check(json.Unmarshal([]byte(os.Getenv(name)), &one))
	return one
}

func signedIn(by identity) *api.ClientWithResponses {
	open := must(api.NewClientWithResponses(os.Getenv("API_URL")))
	token := answer(open.CreateTokenWithFormdataBodyWithResponse(ctx, nil, api.TokenRequest{
		GrantType: api.ClientCredentials, ClientId: &by.ClientID, ClientSecret: &by.ClientSecret,
	}))
	bearer := "Bearer " + read(token, token.JSON200).AccessToken
	return must(api.NewClientWithResponses(os.Getenv("API_URL"),
		api.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", bearer)
			return nil
		})))
}

// heard is the first thing of that kind that its events tell a party, and that fits.
func heard[Event, Item any](
	client *api.ClientWithResponses,
	webhookType string,
	as func(api.ListEventsResultDataEventsItem) (Event, error),
	dataOf func(Event) []Item,
	fits func(Item) bool,
) Item {
	most := 100
	return *eventually(webhookType, func() *Item {
		listed := answer(client.ListEventsWithResponse(ctx, &api.ListEventsParams{Limit: &most}))
		for _, one := range read(listed, listed.JSON200).Data.Events {
			var kind struct{ WebhookType string }
			check(json.Unmarshal(must(one.MarshalJSON()), &kind))
			if kind.WebhookType != webhookType {
				continue
			}
			for _, item := range dataOf(must(as(one))) {
				if fits(item) {
					return &item
				}
			}
		}
		return nil
	})
}

func eventually[Found any](what string, look func() *Found) *Found {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(pause) {
		if found := look(); found != nil {
			return found
		}
	}
	log.Fatalf("never came: %s", what)
	return nil
}

// told is a response with what it says, whatever it is.
type told interface {
	Status() string
	GetBody() []byte
}

func answer[Response told](response Response, err error) Response {
	check(err)
	return response
}

// read is what a response has become in the client's own types.
func read[Body any](response told, body *Body) *Body {
	if body == nil {
		log.Fatalf("%s: %s", response.Status(), response.GetBody())
	}
	return body
}

func same[Value ~string | ~float64 | ~int](what string, value, expected Value) {
	if value != expected {
		log.Fatalf("%s is %v, and not %v", what, value, expected)
	}
}

func must[Value any](value Value, err error) Value {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
