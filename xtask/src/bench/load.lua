-- What wrk sends. Arguments: method, path, name of the run, requests per second (0: as fast as answers come), threads, file with the body
-- ("-": none), file with ids and references to work on ("-": none), lines of headers. A path that ends with a slash is completed by the id
-- that is worked on, or by the request's own name, which is also what a header or the body has in place of @REFERENCE@.
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
    local from2, to2 = text:find(NUMBER, to, true)
    if not from2 then return text:sub(1, from - 1), text:sub(to + 1) end
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
    local method, path, run = args[1], args[2], args[3]
    local rate, thread_count = tonumber(args[4]), tonumber(args[5])
    local head, middle, tail
    if args[6] ~= "-" then head, middle, tail = read_body(args[6]) end
    local targets = args[7] ~= "-" and read_targets(args[7])
    local is_open = path:sub(-1) == "/"
    local headers, named = {}, nil
    for at = 8, #args do
        local name, value = assert(args[at]:match("^([^:]+): (.*)$"))
        headers[name] = value
        if value == REFERENCE then named = name end
    end
    sent = 0

    function request()
        sent = sent + 1
        local body
        local name = run .. "-" .. number .. "-" .. sent
        local id, reference = name, name
        if targets then
            -- Each thread works on targets of its own, one after the other: no two requests meet on one of them.
            local target = targets[(sent * thread_count + number) % #targets + 1]
            id, reference = target.id, target.reference
        end
        if named then headers[named] = name end
        if head then body = tail and head .. reference .. middle .. sent .. tail or head .. reference .. middle end
        return wrk.format(method, is_open and path .. id or path, headers, body)
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
