-- What scripts see, and nothing else. Called once with functions of the host; returns the one that runs a call.
--
-- Karmada runs scripts on a Lua 5.1 with goto, in which much is forbidden. This is Lua 5.2, which has goto, with the names
-- of 5.1. Every call has fresh globals. `pairs` goes through keys in their order, so that one object always has one answer.

local kube_call, fold_case, utc_seconds, instructions = ...

local type, next, tostring, error, pcall, load = type, next, tostring, error, pcall, load
local floor, huge = math.floor, math.huge
local format, find, gsub, byte = string.format, string.find, string.gsub, string.byte
local match, gmatch, lower = string.match, string.gmatch, string.lower
local concat, sort, pack, unpack = table.concat, table.sort, table.pack, table.unpack
local setupvalue, sethook = debug.setupvalue, debug.sethook
local date = os.date

local MOST_DEPTH, MOST_SIZE = 200, 1000000

local function copy(from, into)
  into = into or {}
  for key, value in next, from do into[key] = value end
  return into
end

local function refuse(name)
  return function() error(name .. " is not allowed in a script", 2) end
end

-- Values of scripts as JSON. An empty table is {}; whoever reads it knows whether it was a list.

local ESCAPES = {['"'] = '\\"', ['\\'] = '\\\\'}
for code = 0, 31 do ESCAPES[string.char(code)] = format("\\u%04x", code) end
ESCAPES["\127"] = "\\u007f"

-- Bytes that are no UTF-8 become U+FFFD, each of them.

local SEQUENCES = {
  "[\241-\243][\128-\191][\128-\191][\128-\191]", "\240[\144-\191][\128-\191][\128-\191]",
  "\244[\128-\143][\128-\191][\128-\191]", "[\225-\236\238\239][\128-\191][\128-\191]",
  "\224[\160-\191][\128-\191]", "\237[\128-\159][\128-\191]", "[\194-\223][\128-\191]", "[%z\1-\127]+",
}

local function sound(text)
  local rest = text
  for _, sequence in next, SEQUENCES do rest = gsub(rest, sequence, "_") end
  if not find(rest, "[\128-\255]") then return text end
  local out, at = {}, 1
  while at <= #text do
    local last
    for _, sequence in next, SEQUENCES do last = last or select(2, find(text, "^" .. sequence, at)) end
    out[#out + 1] = last and string.sub(text, at, last) or "\239\191\189"
    at = (last or at) + 1
  end
  return concat(out)
end

local function quoted(text)
  if find(text, "[\128-\255]") then text = sound(text) end
  if find(text, '[%c"\\]') then text = gsub(text, '[%c"\\]', ESCAPES) end
  return '"' .. text .. '"'
end

local function numeral(value)
  if value ~= value or value == huge or value == -huge then error("a result has a number that is none", 0) end
  if value == floor(value) and value > -1e15 and value < 1e15 then return format("%d", value) end
  return format("%.17g", value)
end

local encode

local function members(value, out, seen, depth)
  local keys, count, positions = {}, 0, 0
  for key in next, value do
    count = count + 1
    keys[count] = key
    if type(key) == "number" then positions = positions + 1
    elseif type(key) ~= "string" then error("a result has a key that is no text", 0) end
  end
  if count == 0 then out[#out + 1] = "{}" return end
  if positions == count then
    out[#out + 1] = "["
    for place = 1, count do
      local item = value[place]
      if item == nil then error("a result has a list with holes", 0) end
      if place > 1 then out[#out + 1] = "," end
      encode(item, out, seen, depth)
    end
    out[#out + 1] = "]"
    return
  end
  if positions > 0 then error("a result has a table that is both a list and a map", 0) end
  sort(keys)
  for place = 1, count do
    out[#out + 1] = place == 1 and "{" or ","
    out[#out + 1] = quoted(keys[place])
    out[#out + 1] = ":"
    encode(value[keys[place]], out, seen, depth)
  end
  out[#out + 1] = "}"
end

function encode(value, out, seen, depth)
  local kind = type(value)
  if #out > MOST_SIZE then error("a result is too large", 0) end
  if kind == "table" then
    if seen[value] then error("a result has the same table twice", 0) end
    if depth >= MOST_DEPTH then error("a result is nested too deeply", 0) end
    seen[value] = true
    members(value, out, seen, depth + 1)
  elseif kind == "string" then out[#out + 1] = quoted(value)
  elseif kind == "number" then out[#out + 1] = numeral(value)
  elseif kind == "boolean" then out[#out + 1] = tostring(value)
  elseif kind == "nil" then out[#out + 1] = "null"
  else error("a result has a " .. kind, 0) end
end

local function as_json(values)
  local out, seen = {"["}, {}
  for place = 1, values.n do
    if place > 1 then out[#out + 1] = "," end
    encode(values[place], out, seen, 0)
  end
  out[#out + 1] = "]"
  return concat(out)
end

-- Libraries

local function before(a, b)
  local kind, other = type(a), type(b)
  if kind ~= other then return kind == "number" or (kind == "string" and other ~= "number") end
  return (kind == "number" or kind == "string") and a < b
end

local function pairs_in_order(value)
  local keys, count = {}, 0
  for key in next, value do
    count = count + 1
    keys[count] = key
  end
  sort(keys, before)
  local place = 0
  return function()
    while place < count do
      place = place + 1
      local key = keys[place]
      if value[key] ~= nil then return key, value[key] end
    end
  end
end

local function cased(name, plain)
  return function(text)
    text = text or error("bad argument #1 to '" .. name .. "' (string expected)", 2)
    text = tostring(text)
    if not find(text, "[\128-\255]") then return plain(text) end
    return fold_case(name, text)
  end
end

-- Numbers as texts, and back, as Karmada's Lua has them: no exponent without a point, and none in whole numbers.

local function shown(value)
  if type(value) ~= "number" then return tostring(value) end
  if value ~= value then return "NaN" end
  if value == huge or value == -huge then return value > 0 and "+Inf" or "-Inf" end
  if value == floor(value) and value >= -2^63 and value < 2^63 then return format("%d", value) end
  for digits = 0, 16 do
    local text = format("%." .. digits .. "e", value)
    if tonumber(text) == value then
      local exponent = tonumber(match(text, "e(.+)$"))
      if exponent < -4 or exponent >= 6 then return text end
      return format("%." .. (digits > exponent and digits - exponent or 0) .. "f", value)
    end
  end
end

local function number_of(value, base)
  if type(value) ~= "string" or base ~= nil then return tonumber(value, base) end
  local text = match(value, "^[ \n\t]*(.-)[ \n\t]*$")
  if find(text, ".", 1, true) then return not find(text, "[xX]") and tonumber(text) or nil end
  if match(lower(text), "^0x%x+$") then return tonumber(text) end
  local sign, digits = match(text, "^([+-]?)0*(%d+)$")
  if not digits or #digits > 19 then return nil end
  local most = sign == "-" and "9223372036854775808" or "9223372036854775807"
  return (#digits < 19 or digits <= most) and tonumber(text) or nil
end

local function formatted(layout, ...)
  local values, place = pack(...), 0
  for kind in gmatch(tostring(layout), "%%[%-+ #0]*%d*%.?%d*(.)") do
    if kind ~= "%" then
      place = place + 1
      if kind == "s" and type(values[place]) == "number" then values[place] = shown(values[place]) end
    end
  end
  return format(layout, unpack(values, 1, values.n))
end

local strings = {
  format = formatted,
  upper = cased("upper", string.upper), lower = cased("lower", string.lower),
  rep = refuse("string.rep"), gsub = refuse("string.gsub"), dump = refuse("string.dump"),
}
for _, name in next, {"len", "sub", "find", "match", "gmatch", "byte", "char", "reverse"} do
  strings[name] = string[name]
end
getmetatable("").__index = copy(strings)

local tables = {
  insert = table.insert, remove = table.remove, sort = sort,
  concat = function(list, ...)
    local texts = {}
    for key, value in next, list do texts[key] = type(value) == "number" and shown(value) or value end
    return concat(texts, ...)
  end,
  getn = function(list) return #list end,
  maxn = function(list)
    local most = 0
    for key in next, list do if type(key) == "number" and key > most then most = key end end
    return most
  end,
}

local numbers = copy(math)
numbers.mod, numbers.huge = math.fmod, 1.7976931348623157e308

local kube = {}
for _, name in next, {"accuratePodRequirements", "getPodDependencies", "getResourceQuantity", "resourceAdd"} do
  kube[name] = function(...)
    local fine, answer = kube_call(name, as_json(pack(...)))
    if not fine then error("kube." .. name .. ": " .. answer, 2) end
    return answer
  end
end

local REFUSED = {
  "load", "loadstring", "dofile", "loadfile", "setmetatable", "getmetatable", "rawget", "rawset", "rawequal",
  "collectgarbage", "module", "newproxy", "setfenv", "getfenv",
}

local refused = {}
for _, name in next, REFUSED do refused[name] = refuse(name) end

local function globals(now)
  local env = {
    _VERSION = "Lua 5.1", assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs_in_order,
    pcall = pcall, xpcall = xpcall, select = select, tonumber = number_of, tostring = shown, type = type,
    unpack = unpack, print = function() end,
    string = copy(strings), table = copy(tables), math = copy(numbers),
    os = {
      time = function(fields)
        if fields == nil then return now end
        local answer = utc_seconds(fields.year, fields.month, fields.day, fields.hour, fields.min, fields.sec)
        return answer or error("a time needs numbers that can be counted with", 2)
      end,
      date = function(layout, seconds)
        layout = layout or "%c"
        if byte(layout) ~= 33 then layout = "!" .. layout end
        return date(layout, seconds or now)
      end,
    },
  }
  copy(refused, env)
  env._G = env
  local library = copy(kube)
  env.require = function(name)
    if name == "kube" then return library end
    if name == "string" or name == "table" or name == "math" or name == "os" then return env[name] end
    error("module '" .. tostring(name) .. "' not found: a script has kube, string, table, math and os", 2)
  end
  return env
end

-- One call. The limit of instructions holds for every line of a script, also for those that come after a pcall.

local function stop()
  sethook(function() error("the script takes too long", 0) end, "", 1)
  error("the script takes too long", 0)
end

local cached, kept = {}, 0

local function compiled(text)
  local chunk = cached[text]
  if chunk then return chunk end
  local reason
  chunk, reason = load(text, "=script", "t", {})
  if not chunk then error(reason, 0) end
  if kept >= 256 then cached, kept = {}, 0 end
  cached[text], kept = chunk, kept + 1
  return chunk
end

local function run(text, name, now, first, second)
  local chunk = compiled(text)
  local env = globals(now)
  setupvalue(chunk, 1, env)
  math.randomseed(1)
  if instructions then sethook(stop, "", instructions) end
  local results = pack(pcall(function()
    local returned = pack(chunk())
    local wanted = env[name]
    if type(wanted) ~= "function" then error("the script has no function " .. name, 0) end
    if returned.n == 0 then return wanted(first, second) end
    -- As in Karmada, the results of the script itself come before those of its function.
    local found = pack(wanted(first, second))
    for place = 1, found.n do returned[returned.n + place] = found[place] end
    return unpack(returned, 1, returned.n + found.n)
  end))
  sethook()
  setupvalue(chunk, 1, {})
  if not results[1] then error(tostring(results[2]), 0) end
  return as_json({n = results.n - 1, unpack(results, 2, results.n)})
end

return {
  run = function(...) return pcall(run, ...) end,
  check = function(text)
    local fine, reason = load(text, "=script", "t", {})
    return fine and true or reason
  end,
}
