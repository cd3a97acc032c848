/* The explorer `freeze`: equal addends, one after another, in half, bf16 or
 * float, until adding no longer moves the sum. */
(function () {
'use strict';

const fp = window.course.fp16, page = window.course.page;
const {text, count, toNumber} = fp;

/* The sum of equal addends from 0, up to where it no longer changes:
 *
 *     path    [{adds, value}]: between two entries the sum grows evenly
 *     bits    what it ends as        moves   how many adds moved it
 *
 * Within a binade each add moves the sum by the same number of ulps, once a
 * tie has made the sum even; so two equal steps tell the rest of the binade. */
function freeze(f, addend) {
  const size = Math.abs(toNumber(f, addend)), path = [{adds: 0, value: 0}];
  let bits = 0, moves = 0, sum = 0, step = 0, ulp = 0;

  function move(adds, to) {
    moves += adds;
    sum = to;
    bits = fp.fromNumber(f, to);
    path.push({adds: moves, value: to});
  }

  for (;;) {
    const next = fp.add(f, bits, addend), value = toNumber(f, next);
    let leap = 0;
    if (next === bits)
      return {addend, bits, moves, path};
    if (fp.ulpAt(f, sum) !== ulp) {
      ulp = fp.ulpAt(f, sum); /* the first step in this binade */
    } else if (value - sum === step) {
      /* Stay a step and an addend below the next binade. */
      const room = ulp * 2 * f.fractions - Math.abs(value);
      leap = Math.floor((room - size) / Math.abs(step)) - 1;
    }
    step = value - sum;
    move(1, value);
    if (leap > 1)
      move(leap, value + leap * step);
  }
}

/* The bits of the sum after so many adds. */
function sumAfter(f, frozen, adds) {
  const path = frozen.path;
  let low = 0, high = path.length - 1;
  if (adds >= frozen.moves)
    return frozen.bits;
  while (high - low > 1) {
    const middle = low + high >> 1;
    if (path[middle].adds <= adds)
      low = middle;
    else
      high = middle;
  }
  const p = path[low], q = path[high];
  return fp.fromNumber(f, p.value + (adds === p.adds ? 0 :
    (q.value - p.value) / (q.adds - p.adds) * (adds - p.adds)));
}

/* One add, as it is drawn: the exact sum, the two numbers around it (the lower
 * one's rank is `low`), which way it rounds, how far along the gap it lies. */
function oneAdd(f, bits, addend) {
  const exact = toNumber(f, bits) + toNumber(f, addend);
  const result = fp.add(f, bits, addend), moves = result !== bits;
  let low = fp.rank(f, result);
  if (!(Math.abs(exact) < fp.atRank(f, f.infinity)))
    return {exact, result, moves};
  if (fp.atRank(f, low) > exact)
    low--;
  const below = fp.atRank(f, low), above = fp.atRank(f, low + 1);
  return {exact, result, moves, low, below, above,
    part: (exact - below) / (above - below), up: fp.rank(f, result) > low};
}

/* What becomes of an addend, in words. asked: the number as it was typed. */
function describe(f, r, asked) {
  const a = toNumber(f, r.addend), end = toNumber(f, r.bits);
  const truth = a * r.moves, off = (end / truth - 1) * 100;
  let s = '';
  if (a !== a)
    return `NaN plus anything is NaN: the first add makes the sum ${
      fp.hex(f, r.bits)}, and it stays so.`;
  if (Math.abs(a) === Infinity)
    return (Math.abs(asked) === Infinity ? '' : `The largest ${f.name} is ${
      text(f.largest)}, so the addend is infinite. `) +
      'The first add makes the sum infinite, and it stays so.';
  if (a === 0)
    return (asked === 0 ? '' : `${text(asked)} is nearer to 0 than to the ` +
      `least ${f.name}, ${text(f.leastUlp)}. `) +
      'Adding zero moves nothing: the sum is frozen from the start.';
  if (asked !== a)
    s = `${text(asked, 9)} is stored as ${text(a, 9)}. `;
  if (fp.fields(f, r.addend).exponent === 0)
    s += 'The addend is subnormal. ' + (f.name !== 'float' ?
      'The add keeps it. ' : 'Here it is kept; a GPU’s atomicAdd on float in ' +
      'global memory takes it for 0. ');
  if (Math.abs(end) === Infinity)
    return `${s}It never freezes: it exceeds half a ulp of the largest ${
      f.name}, so the sum passes ${text(Math.sign(a) * f.largest)} and is ` +
      `infinite after ${count(r.moves)} adds.`;
  return s + (a < 0 ? 'The mirror image of the positive addend. ' : '') +
    `The sum freezes at ${text(end)} (${fp.hex(f, r.bits)}) after ${
      count(r.moves)} adds that move it. Those are worth ${text(truth)}: ` +
    (off === 0 ? 'the sum is exactly that.' : `it stops ${
      text(Math.abs(off), 3)} % too ${off > 0 ? 'high' : 'low'}.`);
}

/* The next add in words. */
function describeAdd(f, one) {
  const still = one.moves ? '' : ' Nothing moves, now and from here on.';
  const result = text(toNumber(f, one.result), 9);
  if (one.low === undefined)
    return `The exact sum is ${text(one.exact)}: it becomes ${result}.${still}`;
  if (one.part === 0)
    return `The exact sum, ${text(one.exact, 9)}, is a ${f.name}: nothing is ` +
      `rounded.${still}`;
  return `The exact sum lies between ${text(one.below, 9)} and ${
    text(one.above, 9)}, ${one.part === 0.5 ? 'halfway: it goes to the even ' +
    'one, whose last bit is 0' : (one.part < 5e-4 ? 'hardly above the first' :
    one.part > 0.9995 ? 'hardly below the second' : one.part.toFixed(3) +
    ' of the way') + ': it rounds ' + (one.up ? 'up' : 'down')}, ${
    one.moves ? 'to' : 'back to'} ${result}.${still}`;
}

/* What n adds come to, most of them of no use where the sum freezes. */
function describeAll(f, r, n) {
  const sum = toNumber(f, sumAfter(f, r, n)), a = toNumber(f, r.addend);
  return !Number.isFinite(a) || !Number.isFinite(sum) ? '' :
    ` Of n = ${count(n)} adds, ${count(Math.min(n, r.moves))} move the sum: ` +
    `it is ${text(sum)}, and the true sum ${text(a * n)}.`;
}

window.course.freeze = {freeze, sumAfter, oneAdd, describe, describeAll};

/* --- on the page --- */

const PRODUCT = 0.0099945068359375; /* of two halves of 0.1, as a half */
const ALL = 2 ** 25; /* adds of lesson 1 */
const cases = {lesson1: PRODUCT}; /* addends of half, seen at the freeze */
let groups = 0; /* of radio buttons: one for each explorer of the page */
const {key, svgLine, svgText, svgDot, svgDiamond} = page;

const html = `<p class="x-title">Freeze</p>
<p class="x-lead">Add one number again and again, from 0. Where does the sum
stop?</p>
<div class="x-controls"><fieldset><legend>Format of the sum</legend>
<div class="x-choices">${Object.keys(fp.formats).map((name, i) => `<label>
<input type="radio" value="${name}"${i ? '' : ' checked'}>
<span>${name}</span></label>`).join('')}</div></fieldset>
<label>Addend<input data-part="number" inputmode="decimal" autocomplete="off"
spellcheck="false"></label>
<label>Addend as bits<input data-part="hex" class="x-mono" autocomplete="off"
spellcheck="false"></label></div>
<div class="x-buttons" role="group" aria-label="Addends to try">
${[1, 0.1, 0.01, 0.001, PRODUCT].map(x => `<button type="button"
data-addend="${x}">${x === PRODUCT ? '0.1 × 0.1' : x}</button>`).join('')}</div>
<p class="x-result" data-part="result"></p>
<div class="x-bits" data-part="bits"></div>
<p class="x-legend x-fields"><span>sign</span> <span>exponent</span>
<span>fraction</span></p>
${page.figure('line', 'The next add')}
<p class="x-legend">${key(svgDot(7, 7, 5, 's1'), 'sum') +
  key(svgDiamond(7, 7, 6), 'exact') + key(svgDot(7, 7, 5, 'ring'), 'rounded') +
  key(svgLine(7, 0, 7, 14), 'a number of the format') +
  key(svgLine(7, 0, 7, 14, 'half'), 'halfway')}</p>
<p class="x-say" data-part="say"></p>
${page.buttons([['once', 'Add once'], ['run', 'Run'],
  ['jump', 'Jump to the freeze'], ['all', `All ${count(ALL)}`],
  ['reset', 'Reset']]) +
  page.facts([['adds', 'Adds'], ['moved', 'Moved the sum'], ['sum', 'Sum'],
    ['truth', 'True sum'], ['ratio', 'Sum / true sum']]) +
  page.figure('chart', 'The sum as a share of the true sum')}`;

/* A horizontal arrow. */
function arrow(x1, x2, y, kind) {
  const head = Math.sign(x2 - x1) * Math.min(6, Math.abs(x2 - x1));
  return svgLine(x1, y, x2, y, kind) + svgLine(x2 - head, y - 4, x2, y, kind) +
    svgLine(x2 - head, y + 4, x2, y, kind);
}

/* The number line around the next add. */
function drawLine(f, bits, addend, width) {
  const one = oneAdd(f, bits, addend), sum = toNumber(f, bits);
  const a = toNumber(f, addend), AXIS = 96, EDGE = 8, placed = [];
  if (one.low === undefined)
    return {alt: 'No number line.', inside: svgText(width / 2, 75,
      `${text(one.exact)}: beyond every ${f.name}`, 'm')};
  const gap = one.above - one.below;
  const span = width < 480 && Math.abs(a) <= 2 * gap ? 4 : 6;
  const left = (Math.abs(a) <= 4 * gap ? (sum + one.exact) / 2 : one.exact) -
    span / 2 * gap;
  const x = v => EDGE + (v - left) / (span * gap) * (width - 2 * EDGE);
  const isSeen = px => px >= 0 && px <= width;
  let inside = svgLine(0, AXIS, width, AXIS, 'grid');

  for (let k = one.low - 14; k <= one.low + 15; k++) {
    const v = fp.atRank(f, k), middle = (v + fp.atRank(f, k + 1)) / 2;
    if (Math.abs(k) > f.infinity || !isSeen(x(v)))
      continue;
    inside += svgLine(x(v), AXIS - 9, x(v), AXIS + 9);
    if (middle !== v)
      inside += svgLine(x(middle), AXIS - 6, x(middle), AXIS + 6, 'half');
  }
  /* Neighbours are labelled on two lines, where there is room. */
  for (const k of [0, 1, -1, 2, -2, 3].map(i => one.low + i)) {
    const v = fp.atRank(f, k), line = k % 2 ? 138 : 122;
    const s = Math.abs(k) === f.infinity ? 'inf' : text(v, 9);
    const isBold = k === fp.rank(f, one.result);
    const reach = s.length * (isBold ? 4 : 3.4) + 4;
    if (Math.abs(k) > f.infinity || x(v) < reach || x(v) > width - reach ||
        placed.some(p => p[0] === line && Math.abs(p[1] - x(v)) < p[2] + reach))
      continue;
    placed.push([line, x(v), reach]);
    inside += svgText(x(v), line, s, isBold ? 'b' : 'm');
  }
  const from = Math.max(0, Math.min(width, x(sum))), to = x(one.exact);
  const rounded = x(fp.atRank(f, fp.rank(f, one.result)));
  const name = (a < 0 ? '− ' : '+ ') + text(Math.abs(a));
  inside += svgLine(to, 34, to, AXIS, 'half') + arrow(from, to, 34, 'go');
  inside += isSeen(x(sum)) ? svgLine(from, 34, from, AXIS, 'half') +
    svgDot(from, AXIS, 5, 's1') + svgText(Math.max(46, Math.min(width - 46,
      (from + to) / 2)), 22, name) :
    svgText(from, 22, `${text(sum)} ${name}`, '', a < 0 ? 'end' : 'start');
  if (Math.abs(rounded - to) > 1)
    inside += arrow(to, rounded, 66, 'round');
  inside += svgDiamond(to, AXIS, 6) + svgDot(rounded, AXIS, 9, 'ring');
  return {inside, alt: `Number line: ${text(sum, 9)} ${name} is ${
    text(one.exact, 9)}, rounded to ${text(toNumber(f, one.result), 9)}. ` +
    `Numbers lie ${text(gap)} apart here.`};
}

/* The sum over the true sum against the adds; a dot at `adds`. */
function drawChart(f, r, adds, width) {
  const LEFT = 48, RIGHT = width - 12, TOP = 10, BOTTOM = 160;
  const a = toNumber(f, r.addend), end = toNumber(f, r.bits);
  const isFinal = Math.abs(end) !== Infinity;
  const range = Math.max(4, Math.ceil(r.moves * (isFinal ? 2.5 : 1.25)), adds);
  const last = isFinal ? range : r.moves - 1;
  const ratio = n => toNumber(f, sumAfter(f, r, n)) / (a * n);
  const x = n => LEFT + n / range * (RIGHT - LEFT);
  const label = (n, s, anchor) => svgText(x(n), BOTTOM + 18, s, 'm', anchor);
  if (!(Math.abs(a) > 0 && Math.abs(a) < Infinity))
    return {alt: 'No chart.', inside: svgText(width / 2, 90,
      'There is no true sum to compare with.', 'm')};

  const places = isFinal ? [r.moves] : [];
  for (let i = 0; i <= 240; i++)
    places.push(Math.min(last, Math.max(1, Math.round(range * i / 240))));
  const most = Math.max(1.2, ...places.map(n => ratio(n) * 1.08));
  const y = v => BOTTOM - v / most * (BOTTOM - TOP);
  let inside = '';
  for (let i = 0; i <= most; i += 0.5)
    inside += svgLine(LEFT, y(i), RIGHT, y(i), 'grid') +
      svgText(LEFT - 6, y(i) + 4, i * 100 + ' %', 'm', 'end');
  inside += svgLine(x(r.moves), TOP, x(r.moves), BOTTOM, 'half') +
    '<path class="go" d="M' + places.sort((p, q) => p - q).map(
    n => x(n).toFixed(1) + ' ' + y(ratio(n)).toFixed(1)).join('L') + '"/>' +
    (x(r.moves) - LEFT > 40 ? label(0, '0') : '') +
    label(r.moves, count(r.moves)) +
    svgText(x(r.moves) + 6, BOTTOM - 8, isFinal ? 'stops at ' + text(end) :
      'inf', '', 'start');
  if (isFinal && x(range) - x(r.moves) > 140)
    inside += label(range, count(range) + ' adds', 'end');
  if (adds > 0 && adds <= last)
    inside += svgDot(x(adds), y(ratio(adds)), 5, 's2');
  return {inside, alt: 'Chart of the sum divided by the true sum: ' + (isFinal ?
    `near 100 % at first, ${text(ratio(r.moves) * 100, 6)} % when it ` +
    `stops after ${count(r.moves)} adds, then falling toward 0.` :
    `it ends at infinity after ${count(r.moves)} adds.`)};
}

/* An addend as it is typed: a number, inf or nan; undefined if it is none. */
function readNumber(typed) {
  const s = typed.trim().toLowerCase().replace('−', '-').replace(',', '.')
    .replace(/^([+-]?)inf(inity)?$/, '$1Infinity');
  return /^[+-]?(Infinity|nan|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)$/.test(s) ?
    Number(s) : undefined;
}

page.explorer('freeze', html, cases, (part, on, div, preset) => {
  let f = fp.formats.half, asked, r, adds = 0, timer = 0;
  const draw = [
    page.drawing(part('line'), 150, width =>
      drawLine(f, sumAfter(f, r, adds), r.addend, width)),
    page.drawing(part('chart'), 190, width => drawChart(f, r, adds, width))];

  const row = (name, bits, more) => `<div>${name} <strong>${
    text(toNumber(f, bits), 9)}</strong> <span class="x-mono">${
    fp.hex(f, bits)}</span>${more}<code><span>${
    fp.binary(f, bits).join('</span><span>')}</span></code></div>`;

  function show() {
    const bits = sumAfter(f, r, adds), ulp = fp.ulp(f, bits);
    const sum = toNumber(f, bits), truth = toNumber(f, r.addend) * adds + 0;
    const ratio = sum / truth;
    const facts = {
      adds: count(adds), moved: count(Math.min(adds, r.moves)),
      sum: text(sum), truth: text(truth),
      ratio: Number.isFinite(ratio) ? text(ratio * 100, 6) + ' %' : '–',
      say: `Add ${count(adds + 1)}. ` +
        describeAdd(f, oneAdd(f, bits, r.addend))
    };
    for (const name in facts)
      part(name).textContent = facts[name];
    part('bits').innerHTML = row('Addend', r.addend, '') +
      row('Sum', bits, ulp > 0 ? ', ulp ' + text(ulp) : '');
    for (const name of ['run', 'jump'])
      page.turnOff(part(name), adds >= r.moves);
    page.turnOff(part('all'), adds === ALL);
    draw.forEach(redraw => redraw());
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    part('run').textContent = 'Run';
    part('say').setAttribute('aria-live', 'polite');
  }

  function goTo(to) {
    stop();
    adds = to;
    show();
  }

  function begin(addend) {
    r = freeze(f, addend);
    part('result').textContent = describe(f, r, asked) +
      describeAll(f, r, ALL);
    goTo(r.moves);
  }

  function complain(name, message) {
    for (const input of ['number', 'hex'])
      part(input).setAttribute('aria-invalid', String(input === name));
    part('result').classList.toggle('x-error', !!message);
    part('result').textContent = message;
  }

  function take(x) {
    asked = x;
    complain('', '');
    begin(fp.fromNumber(f, x));
    part('hex').value = fp.hex(f, r.addend);
  }

  on('number', 'input', () => {
    const x = readNumber(part('number').value);
    if (x === undefined)
      complain('number', 'Type a number, such as 0.01, 1e-3, inf or nan.');
    else
      take(x);
  });
  on('hex', 'input', () => {
    const s = part('hex').value.trim().replace(/^0x/i, '');
    if (!/^[0-9a-f]+$/i.test(s) || s.length > f.width / 4) {
      complain('hex', `Type up to ${f.width / 4} hexadecimal digits, such as ${
        fp.hex(f, fp.fromNumber(f, 0.01))}.`);
      return;
    }
    complain('', '');
    asked = toNumber(f, parseInt(s, 16));
    part('number').value = Object.is(asked, -0) ? '-0' : String(asked);
    begin(parseInt(s, 16));
  });
  groups++;
  div.querySelectorAll('[type=radio]').forEach(input => {
    input.name = 'x-format' + groups;
    input.addEventListener('change', () => {
      f = fp.formats[input.value];
      take(asked);
    });
  });
  div.querySelectorAll('[data-addend]').forEach(button =>
    button.addEventListener('click', () => {
      part('number').value = button.dataset.addend;
      take(Number(button.dataset.addend));
    }));
  on('once', 'click', () => goTo(adds + 1));
  on('jump', 'click', () => goTo(r.moves));
  on('all', 'click', () => goTo(ALL));
  on('reset', 'click', () => goTo(0));
  on('run', 'click', () => {
    const isStill = page.isStill(), turns = isStill ? 10 : 200;
    const from = adds, span = r.moves - adds;
    let turn = 0;
    if (timer)
      return stop();
    part('run').textContent = 'Pause';
    part('say').setAttribute('aria-live', 'off');
    timer = setInterval(() => {
      if (++turn === turns)
        stop();
      adds = Math.max(adds, from + Math.floor(span * turn / turns));
      show();
    }, isStill ? 700 : 40);
  });
  part('number').value = cases[preset];
  take(cases[preset]);
});
}());
