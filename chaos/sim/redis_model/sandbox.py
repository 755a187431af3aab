"""The Lua side of scripts: what they see, and how values and errors come back out of them.

Scripts run in Lua 5.1, the server's own dialect, through `lupa`. Their globals are those that the
server gives and that are the same at every run; what is left out (cjson, os, math.random, …) is
refused by name, never answered wrongly. `redis.call` is a Python callable, because Lua sees it as
a C function then and finds the script's line number above it, as in the server.
"""

from __future__ import annotations

PRELUDE = b"""
local host, known_elsewhere = ...
local debug, error, type, tostring, select, unpack = debug, error, type, tostring, select, unpack
local rawget, rawset, setmetatable = rawget, rawset, setmetatable
local loadstring, setfenv, xpcall = loadstring, setfenv, xpcall

local function text_of(failure)
  if type(failure) == 'userdata' then return host.text_of(failure) end
  if type(failure) == 'table' then
    local text = failure['err']
    if type(text) == 'string' or type(text) == 'number' then return tostring(text) end
    return 'ERR unknown error'
  end
  return 'ERR ' .. tostring(failure)
end

local function with_line(failure)
  local text = text_of(failure)
  for level = 2, 4 do
    local where = debug.getinfo(level, 'Sl')
    if where and where.source == '@user_script' then
      return text .. ' script: on @user_script:' .. where.currentline .. '.'
    end
  end
  return text .. ' script: '
end

local function protected(ok, ...)
  if ok then return true, ... end
  local failure = ...
  if type(failure) == 'userdata' then return false, host.text_of(failure) end
  if type(failure) == 'table' and type(failure['err']) == 'string' then
    return false, failure['err']
  end
  return false, ...
end

local plain_pcall = pcall
local globals = {
  assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs, next = next,
  pairs = pairs, rawequal = rawequal, rawget = rawget, select = select,
  setmetatable = setmetatable, tonumber = tonumber, tostring = tostring, type = type,
  unpack = unpack, string = string, table = table,
  pcall = function(...) return protected(plain_pcall(...)) end,
}
local math_ = {}
for name, value in pairs(math) do math_[name] = value end
math_.random, math_.randomseed = nil, nil

local function readonly(content, missing)
  return setmetatable({}, {
    __index = function(_, name)
      local value = content[name]
      if value == nil then return missing(name) end
      return value
    end,
    __newindex = function() error('Attempt to modify a readonly table', 2) end,
  })
end

globals.math = readonly(math_, function(name) host.missing('math.' .. tostring(name)) end)

local api = {
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  call = host.call, pcall = host.pcall, sha1hex = host.sha1hex, log = host.log,
  error_reply = host.error_reply, status_reply = host.status_reply, setresp = host.setresp,
}
globals.redis = readonly(api, function(name) host.missing('redis.' .. tostring(name)) end)
globals.server = globals.redis

globals._G = globals

local missing_globals = {}
for name in known_elsewhere:gmatch('%S+') do missing_globals[name] = true end
setmetatable(globals, {
  __index = function(_, name)
    if missing_globals[name] then host.missing(tostring(name)) end
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
  __newindex = function() error('Attempt to modify a readonly table', 2) end,
})

local function list(...) return {...} end

local function compile(source)
  local script, problem = loadstring(source, '@user_script')
  if script then setfenv(script, globals) end
  return script, problem
end

local function run(script, key_count, ...)
  local keys, argv = {}, {}
  for place = 1, select('#', ...) do
    if place <= key_count then keys[place] = (select(place, ...))
    else argv[place - key_count] = (select(place, ...)) end
  end
  rawset(globals, 'KEYS', keys)
  rawset(globals, 'ARGV', argv)
  return xpcall(script, with_line)
end

local function field(value, name)
  local found = rawget(value, name)
  if type(found) == 'string' then return found end
end

-- What a table is as a reply: an error, a status, or as many items as come before the first nil
-- (too many for Lua's stack: only how many).
local function open(value)
  local err, ok = field(value, 'err'), field(value, 'ok')
  if err then return 1, err end
  if ok then return 2, ok end
  if rawget(value, 'double') or rawget(value, 'map') or rawget(value, 'set') then return 3 end
  local count = 0
  while rawget(value, count + 1) ~= nil do count = count + 1 end
  if count > 5000 then return 4, count end
  return 0, unpack(value, 1, count)
end

local function single(name, text) return {[name] = text} end

return compile, run, open, list, single
"""

# What the server gives to scripts and this sandbox does not.
ELSEWHERE = (
    b"cjson cmsgpack bit struct os coroutine loadstring load xpcall collectgarbage gcinfo rawset"
)
