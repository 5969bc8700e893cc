-- What wrk sends to the stash. Arguments: path of the merchant, name of the run, file with the form. Every request is another browser's: it has a
-- StashId and a fingerprint of its own.

local NAME = "@NAME@"
local threads = {}

function setup(thread)
    thread:set("number", #threads)
    table.insert(threads, thread)
end

function init(args)
    local path, run = args[1], args[2]
    local form = assert(io.open(args[3])):read("*a")
    local from, to = assert(form:find(NAME, 1, true))
    local head, tail = form:sub(1, from - 1), form:sub(to + 1)
    local headers = { ["Content-Type"] = "application/x-www-form-urlencoded" }
    sent = 0

    function request()
        sent = sent + 1
        local name = run .. "-" .. number .. "-" .. sent
        return wrk.format("POST", path .. "/" .. name, headers, head .. name .. tail)
    end
end

function done(summary, latency, requests)
    local sent = 0
    for _, thread in ipairs(threads) do
        sent = sent + thread:get("sent")
    end
    local errors = summary.errors
    io.write(string.format(
        'wrk {"requests":%d,"micros":%d,"p50":%d,"p99":%d,"max":%d,"refused":%d,"broken":%d,"late":0,"sent":%d}\n',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max, errors.status,
        errors.connect + errors.read + errors.write + errors.timeout, sent))
end
