"""Judges notifications with the function that docs/INTEGRATION.md shows, and files them with the statements that stand there.

Reads [{headers, body (base64), secret, state, reference}] and writes {"documented": [...], "filed": [...], "purchase": [...]}.
"""

import base64
import json
import sqlite3
import sys

cases, snippet, statements = sys.argv[1:]
shown = {}
with open(snippet, encoding="utf-8") as file:
    exec(file.read(), shown)
with open(statements, encoding="utf-8") as file:
    insert, update = [line.split(";")[0] for line in file if line.strip()]

database = sqlite3.connect(":memory:")
database.execute("CREATE TABLE notification (webhook_id TEXT PRIMARY KEY, body BLOB)")
database.execute("CREATE TABLE purchase (reference TEXT PRIMARY KEY, state TEXT, sequence INTEGER)")
database.execute("INSERT INTO purchase VALUES ('order-1001', 'NEW', 0)")

documented, filed = [], []
with open(cases, encoding="utf-8") as file:
    received = json.load(file)
for one in received:
    headers, body = one["headers"], base64.b64decode(one["body"])
    documented.append(shown["is_ours"](headers, body, one["secret"]))
    if not documented[-1]:
        continue
    with database:
        new = database.execute(insert, {"id": headers["webhook-id"], "body": body}).rowcount == 1
        filed.append(new)
        if new:
            order = json.loads(body)["Order"]
            place = {"sequence": int(headers["webhook-sequence"])}
            database.execute(update, {"state": order["State"], "merchant_reference": order["MerchantReference"], **place})

purchase = database.execute("SELECT state, sequence FROM purchase").fetchone()
print(json.dumps({"documented": documented, "filed": filed, "purchase": purchase}))
