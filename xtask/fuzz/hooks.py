"""What schemathesis needs to know of Dropin beyond the documents, so that valid requests are accepted.

Loaded by `cargo xtask fuzz-api`. A document says what one field may hold; rules over several fields stand there in words. The hooks make a request
that the tool thinks valid follow those words too, so that it has to be accepted. A request that is wrong on purpose is left as it is.
"""

import datetime
import json
import os
import random
import re
import uuid
import zlib

import requests
import schemathesis
from hypothesis import strategies as st

BASE = os.environ["FUZZ_BASE"]
CHECKOUT = os.environ["FUZZ_CHECKOUT"]
ASSET = os.environ["FUZZ_ASSET"]
STASH = os.environ["FUZZ_STASH"]
MERCHANT = os.environ["FUZZ_MERCHANT"]
CREDENTIALS = (os.environ["FUZZ_USERNAME"], os.environ["FUZZ_PASSWORD"])
POOL = 6

DECIMALS = {"JPY": 0, "KRW": 0, "CLP": 0, "ISK": 0, "VND": 0, "KWD": 3, "BHD": 3, "OMR": 3}
# Published test numbers; no other number is made up here.
CARDS = ["4242424242424242", "5555555555554444", "4000000000000002", "4000000000009995", "", "not a number"]
# What the countries that ask for more get.
COUNTRIES = {
    "US": {"Region": "US-CA", "Postcode": "90012"},
    "CA": {"Region": "ON", "Postcode": "K1A 0B1"},
    "MX": {"Region": "CMX", "Postcode": "06000"},
    "BR": {"Postcode": "01310-100"},
}
# Some of what PAYPAL charges in.
PAYPAL = ["AUD", "CAD", "EUR", "GBP", "USD"]
HIDDEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")
IDENTIFIERS = {"BR": "529.982.247-25", "AR": "20123456", "IN": "ABCDE1234F"}

schemathesis.openapi.format("country", st.sampled_from(["DE", "IE", "JP", "NG", "US", "CA", "MX", "BR", "AR", "IN"]))
schemathesis.openapi.format("email", st.from_regex(r"\A[a-z0-9]{1,10}([.+][a-z0-9]{1,5})?@[a-z]{1,10}\.example\Z"))
schemathesis.openapi.format("phone", st.from_regex(r"\A\+?[0-9]{5,8}[ ./()-]?[0-9]{0,7}\Z"))
schemathesis.openapi.format("web-url", st.from_regex(r"\Ahttps?://[a-z]{1,10}\.example(:[1-9][0-9]{1,3})?/[a-z0-9_~%7E{}?=&]{0,30}\Z"))
schemathesis.openapi.format("date", st.dates(datetime.date(1900, 1, 1), datetime.date(2020, 1, 1)).map(str))
schemathesis.openapi.format(
    "card",
    st.builds(
        lambda number, code, month, name: json.dumps(
            {"Name": name, "Number": number, "VerificationCode": code, "Expiry": {"Year": "2031", "Month": month}}
        ),
        st.sampled_from(CARDS),
        st.sampled_from(["123", "", "x"]),
        st.sampled_from(["1", "12", "13", "x"]),
        st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=40),
    ),
)

schemathesis.openapi.format(
    "wallet-token",
    st.builds(
        lambda data: json.dumps({"Type": "APPLEPAY", "Data": data}),
        st.dictionaries(st.text(st.characters(codec="ascii", exclude_categories=("Cc", "Cs")), max_size=10), st.integers(), max_size=3),
    ),
)


def new_session(**change):
    """A Session that can be paid."""
    body = {
        "MerchantReference": str(uuid.uuid4()), "AutoCapture": False, "Currency": "EUR",
        "CompleteUrl": "https://shop.example/paid", "CancelUrl": "https://shop.example/cart",
        "Items": [{"Name": "Notebook", "Amount": 24.95, "Quantity": 1}],
        "BillingProfile": billing(),
    }
    answer = requests.post(f"{BASE}/v1/session", json={**body, **change}, auth=CREDENTIALS, timeout=30)
    answer.raise_for_status()
    return answer.json()


def billing():
    address = {"Street": "7 Harbour Lane", "City": "Dublin", "Country": "IE"}
    return {"Name": "Robin Example", "Email": "robin@example.com", "Address": address}


def new_card():
    """A stashed card; its StashId."""
    stash_id = str(uuid.uuid4())
    card = {"Name": "Robin", "Number": CARDS[0], "VerificationCode": "123", "Expiry": {"Year": "2031", "Month": "12"}}
    form = {"DeviceFingerprint": "fuzz", "card": json.dumps(card)}
    requests.post(f"{STASH}/{MERCHANT}/{stash_id}", data=form, timeout=30).raise_for_status()
    return stash_id


def pay(session):
    """Pays a Session; its Order's id."""
    requests.post(f"{ASSET}/v1/shopper/session/{session}/submit", json=submission(session), timeout=30).raise_for_status()
    found = requests.get(f"{BASE}/v1/session/{session}", auth=CREDENTIALS, timeout=30).json()
    return found["Order"]["OrderId"]


def new_checkout(**change):
    """A checkout that is paid; its Order's id."""
    body = {
        "MerchantId": MERCHANT, "ReferenceId": str(uuid.uuid4()), "ConsumerCurrency": "EUR", "PaymentMethod": "VISA", "Capture": False,
        "Items": [{"Description": "Notebook", "ConsumerPrice": 24.95, "Quantity": 1}], "StashId": new_card(), "DeviceFingerprint": "fuzz",
        "Consumer": {"Name": "Robin", "Email": "robin@example.com", "Address": "7 Harbour Lane", "City": "Dublin", "Country": "IE"},
        "Return": "https://shop.example/back",
    }
    answer = requests.post(f"{CHECKOUT}/v2.21", json={**body, **change}, auth=CREDENTIALS, timeout=30)
    answer.raise_for_status()
    return answer.json()["OrderId"]


def new_contract():
    """A contract that may be charged; its id."""
    body = {
        "MerchantId": MERCHANT, "ReferenceId": str(uuid.uuid4()), "ConsumerCurrency": "EUR", "PaymentMethod": "VISA", "Kind": "UNSCHEDULED",
        "StashId": new_card(), "DeviceFingerprint": "fuzz", "Return": "https://shop.example/back",
        "Consumer": {"Name": "Robin", "Email": "robin@example.com", "Address": "7 Harbour Lane", "City": "Dublin", "Country": "IE"},
    }
    answer = requests.post(f"{CHECKOUT}/v2.21/openContract", json=body, auth=CREDENTIALS, timeout=30)
    answer.raise_for_status()
    return answer.json()["ContractId"]


def new_refund(order):
    """A refund of a captured Order; its id."""
    body = {"RefundReference": str(uuid.uuid4()), "Amount": 0.01}
    answer = requests.post(f"{BASE}/v1/order/{order}/refund", json=body, auth=CREDENTIALS, timeout=30)
    answer.raise_for_status()
    return answer.json()["RefundId"]


def submission(session):
    version = requests.get(f"{ASSET}/v1/shopper/session/{session}", timeout=30).json()["Version"]
    stash_id = new_card()
    return {"Version": version, "AttemptId": stash_id, "StashId": stash_id, "DeviceFingerprint": "fuzz"}


PROFILE = new_session(BillingProfile={**billing(), "BillingProfileReference": "fuzz"})["BillingProfileId"]
SESSIONS = [new_session()["SessionId"] for _ in range(POOL)]
ORDERS = [pay(new_session()["SessionId"]) for _ in range(POOL)] + [new_checkout(Capture=True) for _ in range(POOL)]
CONTRACTS = [new_contract() for _ in range(POOL)]
REFUNDS = [new_refund(ORDERS[-1]) for _ in range(POOL)]


def dice(case):
    """Chance that depends on the case alone, so that a failure can be shown again."""
    return random.Random(zlib.crc32(repr((case.path_parameters, case.query, case.body)).encode()))


@schemathesis.hook
def filter_case(context, case):
    """Leaves out what is wrong in nothing that counts: an optional text that is empty is left out, and the tool fills in Authorization itself."""
    if case.meta is None or case.meta.generation.mode.is_positive:
        return True
    if holds_an_empty_text(case.body):
        return False
    wrongs = getattr(case.meta.phase.data, "mutations", ())
    return not wrongs or not all(is_harmless(wrong) for wrong in wrongs)


def holds_an_empty_text(body):
    """An empty text counts as left out (docs/SPECIFICATION.md#empty-text), which no minLength can say; that a required one is missing has tests of its own."""
    if isinstance(body, dict):
        return any(holds_an_empty_text(value) for value in body.values())
    if isinstance(body, list):
        return any(holds_an_empty_text(value) for value in body)
    return isinstance(body, str) and not body.strip()


def is_harmless(wrong):
    return wrong.parameter_location.value == "header" and set(wrong.keywords) == {"required"} and wrong.parameter == "Authorization"


@schemathesis.hook
def before_call(context, case, kwargs):
    meta = case.meta
    if meta is None:
        return
    use_a_fresh_key(case, meta)
    if not meta.generation.mode.is_positive:
        return
    if isinstance(case.body, dict):
        case.body = without_hidden(case.body)
    for header in ("If-Match", "If-None-Match"):
        # The tool's coverage phase has a form of its own for these headers, and fills it with a bare 0 against the document's pattern.
        if (case.headers or {}).get(header) == "0":
            case.headers[header] = '"0"'
    chance = dice(case)
    if meta.phase.name != "stateful" and case.path_parameters:
        real = {"SessionId": SESSIONS, "OrderId": ORDERS, "MerchantId": [MERCHANT], "RefundId": REFUNDS, "ContractId": CONTRACTS}
        for name in set(real) & set(case.path_parameters):
            if chance.random() < 0.8:
                case.path_parameters[name] = chance.choice(real[name])
    name = case.operation.definition.raw.get("operationId")
    if name in ("createSession", "replaceSession") and isinstance(case.body, dict):
        follow_the_words(case.body, chance)
    amounts = ("captureOrder", "refundOrder", "captureCheckout", "refundCheckout")
    if name in amounts and isinstance(case.body, dict) and case.body.get("Amount") is not None:
        case.body["Amount"] = chance.choice([0.01, 24.95, 7])
    if name in ("captureCheckout", "cancelCheckout", "refundCheckout", "queryCheckout") and isinstance(case.body, dict):
        name_an_order(case.body, chance)
    if name == "checkout" and isinstance(case.body, dict):
        fill_a_cart(case.body, chance)
    if name == "openContract" and isinstance(case.body, dict):
        store_a_card(case.body, chance)
    if name == "closeContract" and isinstance(case.body, dict):
        case.body["MerchantId"], case.body["ContractId"] = MERCHANT, chance.choice(CONTRACTS)
    if name == "paymentProgress" and case.query and "from" in case.query:
        # Whoever asks from the state that a Session is in waits as long as it says.
        case.query["wait"] = "0"
    if name == "getPaymentMethods" and case.query:
        ask_for_a_country(case.query, chance)
    if name == "startWalletSession":
        # The page's domain is not verified, and the provider is not asked.
        name_text = str((case.query or {}).get("displayName") or "Fuzz")[:64].strip() or "Fuzz"
        url = "https://wallet-gateway.localhost/paymentservices/startSession"
        case.query = {"validationURL": url, "displayName": name_text, "domainName": "shop.example"}
    if name == "stashCard" and isinstance(case.body, dict):
        stash_one(case.body)
    if name == "submitPayment" and isinstance(case.body, dict):
        pay_for_real(case, chance)


def without_hidden(value):
    """The same without characters that cannot be seen (docs/SPECIFICATION.md#text), which a schema would have to list one by one."""
    if isinstance(value, dict):
        return {name: without_hidden(one) for name, one in value.items()}
    if isinstance(value, list):
        return [without_hidden(one) for one in value]
    return HIDDEN.sub("x", value) if isinstance(value, str) else value


def use_a_fresh_key(case, meta):
    """The tool sends one key with many bodies, and IDEMPOTENCY_KEY_REUSED would hide all that comes after it."""
    headers = [part for place, part in meta.components.items() if place.value == "header"]
    if headers and not headers[0].mode.is_positive:
        return
    if (case.headers or {}).get("Idempotency-Key") and dice(case).random() < 0.9:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())


def pay_for_real(case, chance):
    """A StashId that was never stashed is refused, which is right, so valid requests name a card that waits."""
    # Consent belongs to a Session that opens a contract, which a card alone does.
    opens = case.body.get("Consent") is not None
    method = chance.choice(["PAYPAL", "BANKTRANSFER"]) if not opens and chance.random() < 0.3 else None
    # A transfer takes the money at once.
    capture = method == "BANKTRANSFER" or chance.random() < 0.5
    session = new_session(AutoCapture=capture, OpenContract=opens)["SessionId"]
    case.path_parameters["SessionId"] = session
    case.body.pop("PaymentMethod", None)
    # A guest has no saved card.
    case.body.pop("ContractId", None)
    # A merchant whose addresses are not checked asks for none.
    case.body.pop("BillingAddress", None)
    case.body.update(submission(session))
    if method:
        # What is paid without a card takes no StashId.
        del case.body["StashId"]
        case.body["PaymentMethod"] = method
    if chance.random() < 0.2:
        case.body["Version"] = case.body["Version"] + 1


def ask_for_a_country(query, chance):
    """A code is one of ISO 3166-1, and an amount is of a currency."""
    if query.get("Country") is not None:
        query["Country"] = chance.choice(["DE", "IE", "JP", "NG", *COUNTRIES])
    if query.get("Amount") is not None:
        query["Currency"], query["Amount"] = "EUR", chance.choice(["0", "24.95", "1000"])


def stash_one(body):
    """Exactly one of two, and the merchant of this run takes no wallet."""
    body.pop("token_data", None)
    if "card" not in body:
        body["card"] = json.dumps({"Number": CARDS[0], "VerificationCode": "123", "Expiry": {"Year": "2031", "Month": "12"}})


def name_an_order(body, chance):
    """One of the merchant's own, in one way."""
    body["MerchantId"] = MERCHANT
    if body.get("ReferenceId") and chance.random() < 0.5:
        body.pop("OrderId", None)
    else:
        body["OrderId"] = chance.choice(ORDERS)
        body.pop("ReferenceId", None)
    body.pop("ContractId", None)


def fill_a_cart(body, chance):
    """The conditions of CheckoutRequest's description."""
    body["MerchantId"] = MERCHANT
    if chance.random() < 0.9:
        body["ReferenceId"] = str(uuid.uuid4())
    charges = chance.random() < 0.2
    if charges:
        body["ConsumerCurrency"] = "EUR"
    decimals = DECIMALS.get(body["ConsumerCurrency"], 2)
    for item in body["Items"]:
        price = round(min(max(item["ConsumerPrice"], 1), 1_000), decimals)
        item["ConsumerPrice"] = int(price) if decimals == 0 else price
    follow_the_region(body["Consumer"])
    body.pop("ContractId", None)
    if charges:
        for name in ("PaymentMethod", "StashId", "Return", "DeviceFingerprint"):
            body.pop(name, None)
        body["ContractId"] = chance.choice(CONTRACTS)
        return
    if not body.get("Return"):
        body["Return"] = "https://shop.example/back"
    # Only beside ContractId it may be left out.
    if not body.get("DeviceFingerprint"):
        body["DeviceFingerprint"] = "fuzz"
    # The others are not for every country, and PAYPAL not for every currency.
    methods = ["VISA", "BANKTRANSFER"] + ["PAYPAL"] * (body["ConsumerCurrency"] in PAYPAL)
    body["PaymentMethod"] = chance.choice(methods)
    if body["PaymentMethod"] == "BANKTRANSFER":
        # A transfer takes the money at once.
        body["Capture"] = True
    if body["PaymentMethod"] == "VISA":
        body["StashId"], body["DeviceFingerprint"] = new_card(), "fuzz"
    else:
        body.pop("StashId", None)


def store_a_card(body, chance):
    """The conditions of OpenContractRequest's description."""
    body["MerchantId"] = MERCHANT
    if chance.random() < 0.9:
        body["ReferenceId"] = str(uuid.uuid4())
    follow_the_region(body["Consumer"])
    body["PaymentMethod"], body["StashId"], body["DeviceFingerprint"] = "VISA", new_card(), "fuzz"


def follow_the_region(consumer):
    consumer.update({name: value for name, value in COUNTRIES.get(consumer["Country"], {}).items() if name == "Region"})


def follow_the_words(body, chance):
    """The conditions of SessionRequest's description."""
    if chance.random() < 0.9:
        body["MerchantReference"] = str(uuid.uuid4())
    # An offer holds for a day and for one merchant; none that the tool makes up exists.
    body.pop("RateOfferId", None)
    if not body.get("Currency"):
        body["Currency"] = "EUR"
    decimals = DECIMALS.get(body["Currency"], 2)

    def amount(value, least=0, most=1_000_000):
        rounded = round(min(max(value, least), most), decimals)
        return int(rounded) if decimals == 0 else rounded

    for item in body["Items"]:
        item["Amount"] = amount(item["Amount"])
    # More than all discounts together, so that the total is positive.
    body["Items"][0]["Amount"] = amount(body["Items"][0]["Amount"] + 1_000, most=2_000_000)
    for discount in body.get("Discounts") or []:
        discount["Amount"] = amount(discount["Amount"], least=10**-decimals, most=1)
    if body.get("TaxAmount") is not None:
        body["TaxAmount"] = amount(body["TaxAmount"])
    # It would have to be one of the merchant's, in this currency, and not closed by another request meanwhile.
    body.pop("ContractId", None)
    shipping = body.get("ShippingDetails")
    if shipping:
        shipping["ShippingAmount"] = amount(shipping["ShippingAmount"])
        shipping["DutyAmount"] = amount(shipping["DutyAmount"])
        follow_the_country(shipping["Address"])
    choose_billing(body, chance)


def choose_billing(body, chance):
    """Exactly one of three."""
    profile = body.pop("BillingProfile", None)
    reference = body.pop("BillingProfileReference", None)
    known = body.pop("BillingProfileId", None)
    if profile:
        profile.pop("Birthdate", None)
        country = follow_the_country(profile["Address"])
        if country in IDENTIFIERS:
            profile["NationalIdentifier"] = IDENTIFIERS[country]
        if country == "BR":
            profile["BirthDate"] = "1990-01-31"
        body["BillingProfile"] = profile
    elif reference:
        body["BillingProfileReference"] = "fuzz"
    elif known:
        body["BillingProfileId"] = PROFILE
    else:
        body["BillingProfile"] = billing()


def follow_the_country(address):
    address.update(COUNTRIES.get(address["Country"], {}))
    return address["Country"]
