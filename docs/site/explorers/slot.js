/* The explorer `slot`: what lesson 3's fast add does to the 4-byte slots of an
 * array of halves, and four ways to get it wrong. */
(function () {
'use strict';

const fp = window.course.fp16, page = window.course.page;
const half = fp.formats.half, MINUS_ZERO = 0x8000;

/* fast_add() of lessons/v2_fastadd. base and the addresses in the answer are
 * in bytes; value is added; target and neighbour are the bits before the add:
 * of the half that is added to, and of all others. */
function fastAdd(o) {
  const told = o.length + (o.variant === 'long' ? 1 : 0);
  const address = o.base + 2 * o.index;
  const isHigh = o.variant === 'parity' ? (o.index & 1) !== 0 :
    (address & 2) !== 0;
  const goesOn = o.variant === 'wrap' ? o.index < (told - 1) >>> 0 :
    o.index + 1 < told;
  const pad = o.variant === 'plus' ? 0 : MINUS_ZERO;
  const branch = !isHigh && goesOn ? 'low' :
    isHigh && o.index > 0 ? 'high' : 'alone';
  const other = branch === 'low' ? address + 2 : address - 2;
  const pair = Math.min(address, other), isWide = branch !== 'alone';
  const r = {address, branch, told, pad, isWide, error: 0,
    at: isWide ? pair : address, writes: []};
  if (isWide && pair % 4 !== 0) {
    r.error = 716; /* and nothing is written */
    return r;
  }
  const write = (at, before, value) => r.writes.push({address: at, before,
    after: fp.add(half, before, value),
    outside: at < o.base || at >= o.base + 2 * o.length});
  write(address, o.target, o.value);
  if (isWide)
    write(other, o.neighbour, pad);
  return r;
}

const byte = address => '0x' + (0xa00 + address).toString(16);
const number = bits => bits === 0 ? '+0' :
  fp.text(fp.toNumber(half, bits), 4);

/* What to say of an add: whether it does harm, and why. */
function describe(o, r) {
  const [target, beside] = r.writes;
  const say = (bad, text) => ({bad, text});
  if (r.error)
    return say(true, `Error 716, misaligned address. Index ${o.index} is ${
      o.index & 1 ? 'odd' : 'even'}, but array[${o.index}] is the ${
      r.address & 2 ? 'high' : 'low'} half of its slot: the pair at ${
      byte(r.at)} is not 4-byte aligned. The error is sticky: every later ` +
      'call fails, too.');
  let s = `array[${o.index}] becomes ${number(target.after)}${target.outside ?
    ', but an array of length 0 has no such half: the call is wrong' : ''}. `;
  if (!beside)
    return say(target.outside, s + 'It is alone in its slot, so the 2-byte ' +
      'add runs: lesson 1’s loop. It swaps the whole slot, and puts the other ' +
      'half back as it was.');
  s += `The half at ${byte(beside.address)} gets ${number(r.pad)} and ${
    beside.before === beside.after ? 'stays as it is' :
    beside.before === MINUS_ZERO ? 'turns from −0 into +0' :
    'stays NaN, but loses its payload'}. `;
  if (beside.outside)
    return say(true, s + 'That half is not the array’s, and may lie outside ' +
      'the allocation. A GPU reports no error; compute-sanitizer and the CPU ' +
      'emulation do.');
  if (beside.before === MINUS_ZERO && beside.after !== MINUS_ZERO)
    return say(true, s + '1/x and a comparison of bits can tell.');
  return say(false, s + 'One half2 atomic did both.');
}

window.course.slot = {fastAdd, describe};

/* --- on the page --- */

/* Each way, with a base, a length and an index that show it; each can be
 * opened on, and `failing` is one that fails. */
const variants = {
  right: ['as in lesson 3', 2, 5, 2],
  parity: ['index & 1 in place of the address', 2, 5, 2],
  long: ['told a length 1 too large', 0, 3, 2],
  wrap: ['tests index < length − 1, unsigned', 0, 0, 0],
  plus: ['pads with +0, not −0', 0, 4, 1]
};
const cases = Object.assign({failing: 'parity'},
  Object.fromEntries(Object.keys(variants).map(name => [name, name])));

function numbers(from, to, step, name = String) {
  const list = [];
  for (let i = from; i <= to; i += step)
    list.push([i, name(i)]);
  return list;
}

const html = `<p class="x-title">Slot</p>
<p class="x-lead">One half of an array is added to. Which 4 bytes does the fast
add touch?</p>
<div class="x-controls">${page.select('variant', 'The code',
  Object.keys(variants).map(v => [v, variants[v][0]]))}
<button type="button" data-part="show">Show a failing case</button></div>
<div class="x-controls">${
  page.select('base', 'Base address', numbers(0, 14, 2, byte), 2) +
  page.select('length', 'Length', numbers(0, 8, 1), 5) +
  page.select('index', 'Index', [])}
<label>Value added<input data-part="value" inputmode="decimal" value="1"
autocomplete="off"></label>${page.select('neighbour', 'Others hold',
  [[MINUS_ZERO, '−0'], [0x7e01, 'NaN, 0x7e01'], [0x3c00, '1']])}</div>
<p class="x-note">Halves stand at even addresses only. A slot is 4 bytes at a
multiple of 4. “other” halves are not the array’s.</p>
<ol class="x-branches" data-part="branches"
aria-label="Branches of the fast add"></ol>
<ul class="x-slots" data-part="slots" aria-label="Memory, slot by slot"></ul>
<p class="x-result" data-part="result"></p>`;

/* The three branches with their tests, and which one runs. */
function branches(o, r) {
  const test = o.variant === 'parity' ? ['index is even', 'index is odd'] :
    ['low half of its slot', 'high half'];
  const next = o.variant === 'wrap' ? 'index < length − 1' +
    (o.length ? '' : ' = 4,294,967,295') : 'index + 1 < length' +
    (o.variant === 'long' ? ` (told ${r.told})` : '');
  return [
    ['low', `${test[0]}, and ${next}`,
      `add {value, ${number(r.pad)}} to the pair here`],
    ['high', `${test[1]}, and index > 0`,
      `add {${number(r.pad)}, value} to the pair one to the left`],
    ['alone', 'else', '2-byte add of value']
  ].map(([branch, when, what]) => (branch === r.branch ?
    '<li class="runs"><strong>Runs: </strong>' : '<li>') +
    `${page.escape(when)}: ${what}</li>`).join('');
}

const bitsOf = bits => `<span class="x-mono">${fp.hex(half, bits)}</span>`;

function cell(o, r, address) {
  const i = (address - o.base) / 2, isMine = i >= 0 && i < o.length;
  const isTarget = i === o.index, before = isTarget ? o.target : o.neighbour;
  const write = r.writes.find(w => w.address === address);
  const isHit = isTarget || (r.isWide && (address - r.at) >> 1 >> 1 === 0);
  const isBad = r.error || (write && (write.outside || (!isTarget &&
    before === MINUS_ZERO && write.after !== before)));
  const kind = (isMine ? ' mine' : '') + (isHit ? ' hit' : '') +
    (isHit && isBad ? ' bad' : '');
  let s = `<span class="x-cell${kind}"><span>${byte(address)}</span>
    <span class="name">${isMine || isTarget ? `[${i}]` : 'other'}</span>${
    bitsOf(before)}<span>${number(before)}</span>`;
  if (isHit)
    s += `<span>+ ${number(isTarget ? o.value : r.pad)}</span>`;
  if (isHit && r.error)
    s += '<span class="now">716</span>';
  if (write)
    s += `<span class="now">= ${number(write.after)}</span>` +
      bitsOf(write.after);
  return s + '</span>';
}

page.explorer('slot', html, cases, (part, on, div, preset) => {
  const o = {variant: cases[preset], value: 0x3c00, target: 0x3c00};

  function show() {
    const last = Math.max(0, o.length - 1), first = o.base - o.base % 4;
    o.index = Math.min(o.index, last);
    part('index').innerHTML = page.options(numbers(0, last, 1), o.index);
    const r = fastAdd(o), said = describe(o, r);
    part('slots').innerHTML = numbers(first, first + 20, 4).map(([at]) =>
      `<li>${cell(o, r, at) + cell(o, r, at + 2)}</li>`).join('');
    part('branches').innerHTML = branches(o, r);
    part('result').innerHTML = (said.bad ? '<strong>Wrong.</strong> ' :
      o.variant !== 'right' ? 'No harm with these inputs. ' : '') + said.text;
    part('result').classList.toggle('x-error', said.bad);
    page.turnOff(part('show'), o.variant === 'right' || said.bad);
  }

  for (const name of ['variant', 'base', 'length', 'index', 'neighbour'])
    on(name, 'change', () => {
      const value = part(name).value;
      o[name] = name === 'variant' ? value : Number(value);
      show();
    });
  on('value', 'input', () => {
    const s = part('value').value.replace('−', '-').replace(',', '.');
    const words = {nan: NaN, inf: Infinity, '-inf': -Infinity};
    const x = words[s.trim().toLowerCase()] ?? Number(s);
    const isBad = s.trim() === '' || isNaN(x) && !/^nan$/i.test(s.trim());
    part('value').setAttribute('aria-invalid', String(isBad));
    o.value = isBad ? o.value : fp.fromNumber(half, x);
    show();
    const value = fp.toNumber(half, o.value);
    if (isBad)
      part('result').textContent = 'Value: type a number, such as 0.5. ' +
        'Until then the last one is shown.';
    else if (value !== x && !isNaN(x))
      part('result').textContent = `As a half, ${s.trim()} is ${
        fp.text(value)}. ` + part('result').textContent;
  });
  function showCase() {
    [, o.base, o.length, o.index] = variants[o.variant];
    o.neighbour = MINUS_ZERO;
    for (const name of ['variant', 'base', 'length', 'neighbour'])
      part(name).value = o[name];
    show();
  }
  on('show', 'click', showCase);
  showCase();
});
}());
