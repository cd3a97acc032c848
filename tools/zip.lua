-- Packs the site into one ZIP file, which every system opens: called through
-- pandoc, as it has Lua where nothing else here makes a ZIP. tools/site.sh hands
-- over in the environment:
--
--   zip     the file to write
--   top     the folder in it
--   work    the directory with archive, a list of names, and archive.gz/, where
--           each of them is by gzip -n: its data and check sum are what ZIP has
--
-- All entries have one date, so that the same site gives the same bytes.

local work, top = os.getenv('work'), os.getenv('top')
local out = assert(io.open(os.getenv('zip'), 'wb'))
local entries, at = {}, 0

local function put(text)
    assert(out:write(text))
    at = at + #text
end

for name in io.lines(work .. '/archive') do
    local file = assert(io.open(work .. '/archive.gz/' .. name .. '.gz', 'rb'))
    local gz = file:read('a')
    file:close()
    local path, data = top .. '/' .. name, gz:sub(11, -9)
    local crc, size = string.unpack('<I4I4', gz:sub(-8))
    -- Version 2.0, names in UTF-8, deflated, 1 January 1980.
    local shared = string.pack('<I2I2I2I2I2I4I4I4I2I2', 20, 0x800, 8, 0, 0x21,
        crc, #data, size, #path, 0)
    table.insert(entries, 'PK\1\2' .. string.pack('<I2', 0x314) .. shared ..
        string.pack('<I2I2I2I4I4', 0, 0, 0, 0x81a40000, at) .. path)
    put('PK\3\4' .. shared .. path .. data)
end

local start = at
for _, entry in ipairs(entries) do put(entry) end
put('PK\5\6' .. string.pack('<I2I2I2I2I4I4I2', 0, 0, #entries, #entries,
    at - start, start, 0))
assert(out:close())
