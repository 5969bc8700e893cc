-- What wrk sends. Arguments: method, path, authorization, name of the run, requests per second (0: as fast as answers come), threads,
-- file with the body ("-": none), file with ids and references to work on ("-": none).
--
-- With a rate, requests leave at fixed moments whether answers came or not: `delay` hands the next moment to whichever connection is free.
-- There are many more connections than answers that are waited for, so a moment is missed only when all of them wait; `late_max` tells by
-- how much, in microseconds.

local ffi = require("ffi")
ffi.cdef [[
    typedef struct { long sec; long nsec; } dropin_moment;
    int clock_gettime(int clock, dropin_moment *moment);
]]
local MONOTONIC = 1
local REFERENCE, NUMBER = "@REFERENCE@", "@NUMBER@"
local LEAD_IN = 50000

local threads = {}

function setup(thread)
    thread:set("number", #threads)
    table.insert(threads, thread)
end

local function now()
    local moment = ffi.new("dropin_moment")
    ffi.C.clock_gettime(MONOTONIC, moment)
    return tonumber(moment.sec) * 1e6 + tonumber(moment.nsec) / 1e3
end

local function read_body(path)
    local text = assert(io.open(path)):read("*a")
    local from, to = assert(text:find(REFERENCE, 1, true))
    local from2, to2 = assert(text:find(NUMBER, to, true))
    return text:sub(1, from - 1), text:sub(to + 1, from2 - 1), text:sub(to2 + 1)
end

local function read_targets(path)
    local targets = {}
    for line in io.lines(path) do
        local id, reference = line:match("^(%S+) (%S+)$")
        table.insert(targets, { id = assert(id, line), reference = reference })
    end
    assert(#targets > 0, "no targets")
    return targets
end

function init(args)
    local method, path, authorization, run = args[1], args[2], args[3], args[4]
    local rate, thread_count = tonumber(args[5]), tonumber(args[6])
    local head, middle, tail
    if args[7] ~= "-" then head, middle, tail = read_body(args[7]) end
    local targets = args[8] ~= "-" and read_targets(args[8])
    local headers = { ["Authorization"] = authorization, ["Content-Type"] = head and "application/json" or nil }
    sent = 0

    function request()
        sent = sent + 1
        local here, body = path, nil
        local name = run .. "-" .. number .. "-" .. sent
        local reference = name
        if targets then
            -- Each thread works on targets of its own, one after the other: no two requests meet on one of them.
            local target = targets[(sent * thread_count + number) % #targets + 1]
            here = path .. "/" .. target.id
            reference = target.reference
        end
        if head then
            body = head .. reference .. middle .. sent .. tail
            headers["Idempotency-Key"] = name
        end
        return wrk.format(method, here, headers, body)
    end

    late_max = 0
    if rate > 0 then
        local interval = thread_count * 1e6 / rate
        local moment

        function delay()
            local at = now()
            moment = moment and moment + interval or at + LEAD_IN + interval * number / thread_count
            if moment < at then
                late_max = math.max(late_max, at - moment)
                return 0
            end
            return math.floor((moment - at) / 1000)
        end
    end
end

function done(summary, latency, requests)
    local late, sent = 0, 0
    for _, thread in ipairs(threads) do
        late = math.max(late, thread:get("late_max"))
        sent = sent + thread:get("sent")
    end
    local errors = summary.errors
    io.write(string.format(
        'wrk {"requests":%d,"micros":%d,"p50":%d,"p99":%d,"max":%d,"refused":%d,"broken":%d,"late":%d,"sent":%d}\n',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max, errors.status,
        errors.connect + errors.read + errors.write + errors.timeout, late, sent))
end
