/* Compares what the explorers compute with the tables of the C programs beside
 * this file. Gives a function of tables = {freeze, storm, slot}, each the JSON
 * of its program, and course = window.course; it returns a list of
 * differences, each one line, and so an empty list where all is right.
 *
 * In a browser: evaluate `(TEXT OF THIS FILE)(tables, window.course)`.
 * Under node, see compare_node.js. */
(function (tables, course) {
    'use strict';
    var fp = course.fp16, differences = [];

    function same(what, is, expected) {
        if (is !== expected)
            differences.push(what + ': ' + is + ', expected ' + expected);
    }

    /* What it says of a sum that stops: that it is exact, or how far off. */
    function checkWords(what, f, r, row) {
        var addend = fp.toNumber(f, row.addend), end = fp.toNumber(f, row.bits);
        var off = (end / (addend * row.moves) - 1) * 100;
        var said = course.freeze.describe(f, r, addend);
        if (!isFinite(off))
            return;
        var exact = /exactly that/.test(said);
        var stops = /stops ([0-9.e−]+) % too (high|low)/.exec(said);
        var told = !stops ? 0 : Number(stops[1].replace('−', '-')) *
            (stops[2] === 'high' ? 1 : -1);
        if (exact !== (off === 0) || Math.abs(told - off) > Math.abs(off) / 99)
            differences.push(what + ' says: ' + said + ' It is off by ' + off +
                ' %');
    }

    function checkFreezes() {
        tables.freeze.freezes.forEach(function (row) {
            var f = fp.formats[row.format];
            var what = 'freeze ' + row.format + ' ' + fp.hex(f, row.addend);
            var r = course.freeze.freeze(f, row.addend);
            same(what + ' bits', r.bits, row.bits);
            same(what + ' moves', r.moves, row.moves);
            same(what + ' after ' + row.adds,
                course.freeze.sumAfter(f, r, row.adds), row.there);
            checkWords(what, f, r, row);
        });
        tables.freeze.adds.forEach(function (row) {
            var f = fp.formats[row.format];
            same(row.format + ' ' + fp.hex(f, row.a) + ' + ' +
                fp.hex(f, row.b), fp.add(f, row.a, row.b), row.sum);
        });
        tables.freeze.numbers.forEach(function (row) {
            same(row.format + ' ' + row.text, fp.fromNumber(
                fp.formats[row.format], Number(row.text)), row.bits);
        });
    }

    function checkStorms() {
        tables.storm.forEach(function (row) {
            var what = 'storm ' + [row.seed, row.threads, row.resident, row.n,
                row.start].join(' ');
            var o = {seed: row.seed, threads: row.threads, n: row.n,
                resident: row.resident, start: row.start, each: true};
            var s = course.storm.run(o), digest = 0, most = 0;
            s.each.forEach(function (tries) {
                digest = Math.imul(digest, 31) + tries >>> 0;
                most = Math.max(most, tries);
            });
            same(what + ' tries', s.tries, row.tries);
            same(what + ' most', most, row.most);
            same(what + ' digest', digest, row.digest);
            same(what + ' sum', s.word, row.sum);
            same(what + ' done', s.done, row.n);
            o.way = 'add';
            same(what + ' requests', course.storm.run(o).tries, row.requests);
        });
    }

    function checkSlots() {
        var ONE = 0x3c00, OFFSET = 4; /* as in slot_table.cu */
        tables.slot.forEach(function (row) {
            var what = 'slot ' + [row.variant, row.base, row.length, row.index,
                row.value, row.neighbour].join(' ');
            var o = {variant: row.variant, base: row.base,
                length: row.length, index: row.index, value: row.value,
                target: ONE, neighbour: row.neighbour};
            var r = course.slot.fastAdd(o);
            var memory = row.after.map(function () { return row.neighbour; });
            memory[row.base / 2 + row.index + OFFSET] = ONE;
            var harmed = row.after.some(function (bits, i) {
                var k = i - OFFSET - row.base / 2; /* index in the array */
                return bits !== memory[i] && (k < 0 || k >= row.length);
            });
            r.writes.forEach(function (w) {
                memory[w.address / 2 + OFFSET] = w.after;
            });
            same(what + ' error', r.error, row.error);
            same(what + ' memory', memory.join(), row.after.join());
            if (harmed && !course.slot.describe(o, r).bad)
                differences.push(what + ': no harm is told of a write outside');
        });
    }

    checkFreezes();
    checkStorms();
    checkSlots();
    if (tables.freeze.freezes.length < 400 || tables.storm.length < 60 ||
        tables.slot.length < 1000)
        differences.push('a table is too short');
    return differences;
})
