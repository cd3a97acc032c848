-- Turns one page of the course into its place in the site: links to pages
-- become links to HTML, images get their size, tables scroll, quoted code names
-- its file, and the navigation is made. tools/site.sh calls it and says
-- what it hands over:
--
--   page      the page's source, such as lessons/v0_half/README.md
--   work      the directory of the list of pages; what is found goes there, too
--   edit_at   where the source can be edited, %s for edit_name
--
-- The list has a line for each page: language, source, address, group, title.

local page, work, language, here, strings
local pages, by_source = {}, {}
local links = {}     -- files that the page links to; they get pages, too
local contents = {}  -- headings of the page
local explorers = {} -- names of those on the page
local quoted         -- the file named by the marker above a block of code
local tables = 0
local level = 0      -- of the heading before

-- --- text ---

local function escape(text)
    return (text:gsub('[&<>"]', {
        ['&'] = '&amp;', ['<'] = '&lt;', ['>'] = '&gt;', ['"'] = '&quot;',
    }))
end

local function fail(message)
    io.stderr:write(page, ': ', message, '\n')
    os.exit(1)
end

local function html(format, ...)
    local values = { ... }
    for i, value in ipairs(values) do values[i] = escape(value) end
    return string.format(format, table.unpack(values))
end

local function raw(text) return pandoc.RawBlock('html', text) end

-- --- places ---

local function directory(path) return path:match('^(.*/)') or '' end

-- The path from the root of `target` as the page writes it; nil if that is
-- outside of the root.
local function resolve(target)
    local parts = {}
    if target:sub(1, 1) ~= '/' then target = directory(here.source) .. target end
    for part in target:gmatch('[^/]+') do
        if part == '..' then
            if #parts == 0 then return nil end
            table.remove(parts)
        elseif part ~= '.' then
            table.insert(parts, part)
        end
    end
    return table.concat(parts, '/')
end

local function root() return (directory(here.url):gsub('[^/]+/', '../')) end

-- A link from this page to an address of the site.
local function to(url) return root() .. url end

local function exists(path)
    local file = io.open(path)
    if file then file:close() end
    return file ~= nil
end

local function is_directory(path)
    local file = io.open(path)
    local text, _, code
    if file then
        text, _, code = file:read(1)
        file:close()
    end
    return file ~= nil and text == nil and code == 21
end

-- Where in the site the contents of a file or folder are. A folder of results
-- is one page, with a heading for each file; a CSV has a page of its own.
local function address_of_file(path)
    local folder, name = path:match('^(results/.+)/([^/]+)$')
    if folder and not name:match('%.csv$') and not is_directory(path) then
        links[folder] = true
        return to(folder .. '/index.html#' ..
            name:lower():gsub('[^%w_-]', ''))
    end
    links[path] = true
    return to(path .. (is_directory(path) and '/index.html' or '.html'))
end

-- The page for `source`: in this language, or as it is.
local function page_of(source)
    local translated = source:gsub('%.md$', '.' .. language .. '.md')
    return by_source[translated] or by_source[source]
end

-- Where a link of the page leads to in the site.
local function address(target)
    if target:match('^%a[%w+.-]*:') or target:match('^#') then return target end
    local path, anchor = target:match('^([^#]*)(.*)$')
    local source = resolve(path)
    if not source then fail(target .. ': outside of the course') end
    if page_of(source) then return to(page_of(source).url) .. anchor end
    if not exists(source) then fail(target .. ': there is no such file') end
    return address_of_file(source)
end

-- --- what the page is made of ---

local function heading(element)
    local title = pandoc.utils.stringify(element)
    if element.level > level + 1 then fail(title .. ': its heading skips a level') end
    level = element.level
    if level == 1 then
        if here.is_file then -- a long path breaks between its parts
            element.content = { pandoc.RawInline('html',
                (escape(title):gsub('/', '/<wbr>'))) }
        end
        return element
    end
    if level <= 3 then
        table.insert(contents,
            { level = element.level, id = element.identifier, title = title })
    end
    element.content:insert(pandoc.RawInline('html', html(
        '<a class="anchor" href="#%s" aria-label="%s: %s">#</a>',
        element.identifier, strings.heading, title)))
    return element
end

local function image(element)
    local path = resolve(element.src)
    local file = path and io.open(path)
    if not file then fail(element.src .. ': there is no such image') end
    local width, height =
        file:read('a'):match('viewBox="0 0 (%d+) (%d+)"')
    file:close()
    if not width then fail(element.src .. ': it has no viewBox="0 0 W H"') end
    if #element.caption == 0 then fail(element.src .. ': it has no text') end
    links['image ' .. path] = true
    element.src = to(path)
    element.attributes = { width = width, height = height }
    return element
end

-- "58.9 ms" stays on one line.
local function keep_units(inlines)
    for i = #inlines - 1, 2, -1 do
        local number, unit = inlines[i - 1], inlines[i + 1]
        if inlines[i].t == 'Space' and number.t == 'Str' and unit.t == 'Str' and
            number.text:match('^%(?[%d.,]+$') and unit.text:match('^[%a%%/]+') then
            inlines[i - 1] =
                pandoc.Str(number.text .. '\u{a0}' .. unit.text)
            inlines:remove(i + 1)
            inlines:remove(i)
        end
    end
    return inlines
end

-- How many letters a column wants: room for its longest word, and below its
-- head for its longest cell up to ROOMY letters. Code does not break.
local ROOMY, PHONE = 15, 40

local function wanted(cells)
    local word, all = 0, 0
    for i, cell in ipairs(cells) do
        local text = pandoc.utils.stringify(pandoc.walk_block(
            pandoc.Div(cell.contents), { Code = function(code)
                return pandoc.Str((code.text:gsub(' ', '_')))
            end }))
        if i > 1 then all = math.max(all, utf8.len(text)) end
        for run in text:gmatch('%S+') do word = math.max(word, utf8.len(run)) end
    end
    return math.max(word, math.min(all, ROOMY))
end

-- A long name may break behind an underscore.
local function break_names(str)
    local parts = {}
    for part in str.text:gmatch('[^_]+_*') do
        if #parts > 0 then table.insert(parts, pandoc.RawInline('html', '<wbr>')) end
        table.insert(parts, pandoc.Str(part))
    end
    return #parts > 1 and #str.text > ROOMY and parts or nil
end

-- A table that a phone has no room for becomes a card for each row there: each
-- cell then shows the head of its column.
local function scroll(element)
    tables = tables + 1
    element = pandoc.walk_block(element, { Inlines = keep_units, Str = break_names })
    local heads, width, class = element.head.rows[1].cells, 0, 'table'
    for i, head in ipairs(heads) do
        local label, column = pandoc.utils.stringify(head.contents), { head }
        for _, row in ipairs(element.bodies[1].body) do
            if #row.cells[i].contents > 0 then
                row.cells[i].attributes['data-label'] = label
            end
            table.insert(column, row.cells[i])
        end
        width = width + wanted(column) + 1
    end
    if width > PHONE then class = 'table cards' end
    if page:match('%.csv$') then class = 'table cards flow' end
    local name = strings.table .. ' ' .. tables
    return {
        raw(html('<div class="%s" role="region" tabindex="0" aria-label="%s">',
            class, name)),
        element, raw('</div>'),
    }
end

-- A row of columns has three gaps or more, or stands far to the right; and
-- there is another near it.
local function in_columns(lines, i)
    for near = i - 2, i + 2 do
        local line = lines[near]
        if near ~= i and line and line.is_row and lines[i] and lines[i].is_row then
            return true
        end
    end
    return false
end

-- Rows of columns, with what a phone leaves out of them: where none of them has
-- a letter, all blanks but one.
local function rows(lines, first, last)
    local taken, out = {}, {}
    for i = first, last do
        local line = lines[i].plain
        if line:match('[\128-\255]') then line = line:gsub('.', 'x') end
        for at in line:gmatch('()%S') do taken[at] = true end
    end
    for i = first, last do
        local line, gap = '', ''
        for at = 1, #lines[i].plain do
            local letter = lines[i].plain:sub(at, at)
            if at > 1 and not taken[at] and not taken[at - 1] then
                gap = gap .. letter
            else
                line = line .. (gap ~= '' and '<i>' .. gap .. '</i>' or '') ..
                    escape(letter)
                gap = ''
            end
        end
        table.insert(out, line .. gap .. '\n')
    end
    return table.concat(out)
end

-- What a program prints breaks between words, so that a line's end is always
-- seen, and goes on below what stands behind its label. Columns scroll.
local function report(text)
    local lines, out = {}, {}
    for line in (text .. '\n'):gmatch('(.-)\n') do
        local _, gaps = line:gsub('%S%s%s+', '')
        local indent = #line:match('^%s*')
        local label = line:sub(1, 10):match('^%l+ ?%d* +$') or
            line:match('^%s*%S+%s%s+') or ''
        table.insert(lines, { text = escape(line), plain = line,
            is_short = utf8.len(line) <= 30,
            is_row = (gaps >= 3 or indent > 16) and not line:match('^result '),
            hang = label ~= '' and #label <= 16 and #label or indent + 2 })
    end
    local i = 1
    while i <= #lines do
        local line, last = lines[i], i
        if in_columns(lines, i) then
            while in_columns(lines, last + 1) do last = last + 1 end
            table.insert(out, '<span class="rows">' .. rows(lines, i, last) ..
                '</span>')
        else
            table.insert(out, line.is_short and line.text .. '\n' or
                string.format('<span style="--at:%dch">%s\n</span>', line.hang,
                    line.text))
        end
        i = last + 1
    end
    return raw('<pre class="report"><code>' .. table.concat(out) .. '</code></pre>')
end

-- A block of code gets a head, which says where it comes from or what it is;
-- the copy button has its place there.
local function code(element)
    local head = escape(strings['code_' .. (element.classes[1] or 'text')] or '')
    if quoted and exists(quoted) then
        head = string.format('<a href="%s">%s</a>',
            escape(address_of_file(quoted)), escape(quoted))
    end
    quoted = nil
    local kind = element.classes[1]
    return {
        raw('<figure class="code"><figcaption>' .. head .. '</figcaption>'),
        (not kind or kind == 'text') and report(element.text) or element,
        raw('</figure>'),
    }
end

-- Comments go; those that quote a file name it.
local function comment(element)
    if element.format ~= 'html' then return nil end
    if not element.text:match('^%s*<!%-%-') then return nil end
    if element.tag == 'RawBlock' then
        quoted = element.text:match('^%s*<!%-%- quote (%S+)')
    end
    return {}
end

-- --- around the page ---

-- The site's pages in this language, in order: the original where there is no
-- translation.
local function in_order()
    local list = {}
    for _, p in ipairs(pages) do
        if not p.original then table.insert(list, page_of(p.source)) end
    end
    return list
end

local function link(p, class, before)
    return string.format('<a%s href="%s"%s>%s%s</a>', class, escape(to(p.url)),
        p.language ~= language and ' hreflang="' .. p.language .. '"' or '',
        before or '', escape(p.label))
end

-- In the navigation a lesson's name is enough: "Lesson 5, v4_storm".
local function short(p)
    return setmetatable({ label = p.label:match('^(%a+ %d+, v%d+_[%w_]+): ') },
        { __index = p })
end

local function navigation(list)
    local out, group = { '<ol>' }, ''
    for _, p in ipairs(list) do
        if p.group ~= group then
            if group ~= '' then table.insert(out, '</ol></li>') end
            group = p.group
            if not strings[group] then
                fail('strings.' .. language .. '.yaml has no "' .. group .. '"')
            end
            table.insert(out, html('<li><p class="nav-title">%s</p><ol>',
                strings[group]))
        end
        local current = p == here and ' aria-current="page"' or ''
        table.insert(out, '<li>' .. link(short(p), current) .. '</li>')
    end
    if group ~= '' then table.insert(out, '</ol></li>') end
    table.insert(out, '</ol>')
    return table.concat(out, '\n')
end

local function turns(list, place)
    local out = { html('<nav class="turn" aria-label="%s (%s)">', strings.turn,
        place) }
    for i, p in ipairs(list) do
        if p == here then
            local before, after = list[i - 1], list[i + 1]
            if before then
                table.insert(out, link(before, ' rel="prev"', html(
                    '<span>%s</span> ', strings.previous)))
            end
            if after then
                table.insert(out, link(after, ' rel="next"', html(
                    '<span>%s</span> ', strings.next)))
            end
        end
    end
    table.insert(out, '</nav>')
    return table.concat(out)
end

local function translations()
    local out = {}
    for _, p in ipairs(pages) do
        if p ~= here and (p.original or p.source) ==
            (here.original or here.source) then
            table.insert(out, html('<a href="%s" lang="%s" hreflang="%s">%s</a>',
                to(p.url), p.language, p.language, p.language_name))
        end
    end
    return table.concat(out, ' ')
end

local function contents_list()
    if #contents < 2 then return nil end
    local out, deep = { '<ol>' }, false
    for i, entry in ipairs(contents) do
        if entry.level == 3 and not deep then
            table.insert(out, '<ol>')
            deep = true
        elseif entry.level == 2 and deep then
            table.insert(out, '</ol></li>')
            deep = false
        elseif i > 1 then
            table.insert(out, '</li>')
        end
        table.insert(out, html('<li><a href="#%s">%s</a>', entry.id,
            entry.title))
    end
    table.insert(out, deep and '</li></ol></li></ol>' or '</li></ol>')
    return table.concat(out, '\n')
end

-- The first paragraph's beginning, for search engines.
local function description(blocks)
    for _, block in ipairs(blocks) do
        if block.t == 'Para' then
            local text = pandoc.utils.stringify(block)
            return #text <= 160 and text or text:sub(1, 160):gsub('%s+%S*$', '')
        end
    end
    return ''
end

-- --- search ---

local function json(text)
    return '"' .. text:gsub('[%c"\\<]', function(c)
        return string.format('\\u%04x', c:byte())
    end) .. '"'
end

-- Those words of code that its section does not have yet: names and numbers.
local function words_of(code, seen)
    local out = {}
    for word in code:gmatch('[%w_\128-\255][%w_.,\128-\255]*') do
        word = word:gsub('[.,]+$', '')
        if not seen[word] then table.insert(out, word) end
        seen[word] = true
    end
    return table.concat(out, ' ')
end

-- A section of a program's page: what its first comment says, then its names.
-- "Exercise 03, name: …" is the heading, without the zero.
local function index_program(code)
    local about, rest = code:match('^/%*(.-)%*/(.*)$')
    if not about then about, rest = '', code end
    about = about:gsub('\n *%*', '\n'):gsub('%s+', ' '):gsub('^ ', '')
    local title = about:match('^%u%l+ %d+, [%w_]+')
    local names, seen = {}, {}
    for name in rest:gmatch('([%a_][%w_]*)%s*%(') do
        if not seen[name] then table.insert(names, name) end
        seen[name] = true
    end
    title = title and title:gsub(' 0', ' ') or here.label
    return { id = '', title = title,
        text = { about .. ' ' .. table.concat(names, ' ') } }
end

-- The text of each section, whole, and the words of its code that are not in it;
-- `blocks` are as they were read.
local function index(blocks)
    local sections, seen = {}, {}
    local function add(text)
        if #sections > 0 and text ~= '' then
            table.insert(sections[#sections].text, text)
        end
    end
    for _, block in ipairs(blocks) do
        if block.t == 'Header' then
            seen = {}
            table.insert(sections, {
                id = block.level > 1 and block.identifier or '',
                title = pandoc.utils.stringify(block), text = {},
            })
        elseif block.t == 'CodeBlock' then
            add(words_of(block.text, seen))
        elseif block.t ~= 'RawBlock' then
            local text = pandoc.utils.stringify(pandoc.walk_block(block, {
                RawInline = function() return pandoc.Str('') end,
                Plain = function(p)
                    p.content:insert(pandoc.Space())
                    return p
                end,
                CodeBlock = function(c)
                    return pandoc.Para { pandoc.Str(words_of(c.text, seen)) }
                end,
                SoftBreak = pandoc.Space,
            }))
            words_of(text, seen)
            add((text:gsub('%s+', ' ')))
        end
    end
    if here.is_file then
        sections = { index_program(blocks[#blocks].text) }
    end
    local out = {}
    for _, s in ipairs(sections) do
        table.insert(out, string.format('[%s,%s,%s]', json(s.id),
            json(s.title), json(table.concat(s.text, ' '))))
    end
    return string.format('[%s,%s,[%s]]', json(here.url), json(here.label),
        table.concat(out, ',\n'))
end

-- --- all of it ---

local function write(name, text)
    local path = work .. '/' .. name .. '/' .. page:gsub('/', '%%')
    local file = assert(io.open(path, 'w'))
    assert(file:write(text))
    assert(file:close())
end

local function read_pages()
    for line in io.lines(work .. '/pages') do
        local lang, source, url, group, title, name =
            line:match('^(.-)\t(.-)\t(.-)\t(.-)\t(.-)\t(.-)$')
        local p = { language = lang, source = source, url = url, group = group,
            title = title, language_name = name, label = title }
        local original = source:gsub('%.' .. lang .. '%.md$', '.md')
        if original ~= source then p.original = original end
        table.insert(pages, p)
        by_source[source] = p
    end
end

local function start(doc)
    page = pandoc.utils.stringify(doc.meta.page)
    work = pandoc.utils.stringify(doc.meta.work)
    strings = {}
    for name, value in pairs(doc.meta) do
        strings[name] = pandoc.utils.stringify(value)
    end
    read_pages()
    here = by_source[page]
    if not here then -- a file that a page shows
        here = { source = page, url = page .. '.html', language = 'en',
            label = page, is_file = true }
        if is_directory(page) then
            here.url = page .. '/index.html'
            here.source = page .. '/'
        end
    end
    language = here.language
    for _, p in ipairs(pages) do
        if p.source:match('^README%.') then p.label = strings.home end
    end
end

local function sorted(set)
    local list = {}
    for name in pairs(set) do table.insert(list, name .. '\n') end
    table.sort(list)
    return table.concat(list)
end

function Pandoc(doc)
    start(doc)
    if not here.is_file or page:match('%.cu?$') or page:match('%.h$') then
        write('search', index(doc.blocks))
    end
    local title = here.label
    for _, block in ipairs(doc.blocks) do
        if block.t == 'Header' and block.level == 1 then
            title = pandoc.utils.stringify(block)
            break
        end
    end
    local about = description(doc.blocks)
    -- In the order of the page: a marker comes before its block.
    local function visit(blocks)
        local out, within = pandoc.List(), false
        for _, block in ipairs(blocks) do
            local new
            local explorer = block.t == 'RawBlock' and
                block.text:match('data%-explorer="([%l_]+)"')
            if within then -- the words that stand for an explorer elsewhere
                new = {}
                if block.t == 'RawBlock' and block.text:match('^</div>') then
                    within, new = false, nil
                end
            elseif explorer then
                if not exists('docs/site/explorers/' .. explorer .. '.js') then
                    fail('there is no explorer ' .. explorer)
                end
                within = not block.text:match('</div>')
                explorers[explorer] = true
                new = { block, raw(html('<noscript><p>%s</p></noscript>',
                    strings.explorer)) }
            elseif block.t == 'RawBlock' then
                new = comment(block)
            elseif block.t == 'CodeBlock' then
                new = code(block)
            elseif block.t == 'Table' then
                new = scroll(block)
            elseif block.t == 'Header' then
                new = heading(block)
            end
            if new == nil then
                out:insert(block)
            elseif new.t then
                out:insert(new)
            else
                out:extend(new)
            end
        end
        return out
    end
    doc = doc:walk({
        Blocks = visit,
        RawInline = comment,
        Image = image,
        Link = function(element)
            element.target = address(element.target)
            return element
        end,
    })
    write('links', sorted(links))

    local list, meta = in_order(), doc.meta
    local function put(name, text)
        if text and text ~= '' then meta[name] = pandoc.RawInline('html', text) end
    end
    put('lang', language)
    put('root', root())
    put('homeurl', page_of('README.md').url)
    put('pagetitle', escape(here == page_of('README.md') and strings.site or
        title .. ' · ' .. strings.site))
    put('description', escape(about))
    put('pagesnav', navigation(list))
    put('turn_top', turns(list, 'top'))
    put('turn_bottom', turns(list, 'bottom'))
    put('translations', translations())
    put('contents_list', contents_list())
    meta.wide = page:match('%.csv$') ~= nil
    local name = pandoc.utils.stringify(meta.edit_name):gsub('[^%w._~/-]',
        function(c) return string.format('%%%02X', c:byte()) end)
    local edit = pandoc.utils.stringify(meta.edit_at)
        :gsub('%%s', function() return name end)
    put('edit_url', escape(edit))
    meta.edit_here = not edit:match('^%a+:')
    if next(explorers) then -- each script once, in any order
        meta.explorers = pandoc.List()
        for name in pairs(explorers) do meta.explorers:insert(name) end
        meta.explorers:sort()
        meta.measured = explorers.storm
    end
    return doc
end
