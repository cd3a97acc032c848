/* Numbers of half, bf16 and float by their bits, as common/fp16.h has them:
 * every operation rounds once, to nearest, ties to even; subnormals are kept;
 * a result that is NaN is 0x7fff (0x7fffffff in float). No DOM in the first
 * part; the second has the few helpers that the explorers share. */
(function () {
'use strict';

const course = window.course = window.course || {};

/* exponent and fraction: bits of these fields. infinity, nan and sign: bits of
 * the number. */
function format(name, exponent, fraction) {
  const bias = 2 ** (exponent - 1) - 1, fractions = 2 ** fraction;
  return {
    name, exponent, fraction, bias, fractions,
    width: 1 + exponent + fraction,
    sign: 2 ** (exponent + fraction),
    infinity: (2 ** exponent - 1) * fractions,
    nan: 2 ** (exponent + fraction) - 1,
    leastUlp: 2 ** (1 - bias - fraction),
    largest: (2 - 1 / fractions) * 2 ** bias
  };
}

const formats = {
  half: format('half', 5, 10),
  bf16: format('bf16', 8, 7),
  float: format('float', 8, 23)
};

/* The gap between numbers of the format at |x|, if its binade went on. */
function ulpAt(f, x) {
  const size = Math.abs(x);
  let k = Math.floor(Math.log2(size)); /* rounded: perhaps one off */
  if (2 ** k > size)
    k--;
  else if (2 ** (k + 1) <= size)
    k++;
  return size === 0 ? f.leastUlp : Math.max(f.leastUlp, 2 ** (k - f.fraction));
}

function roundToEven(x) {
  const low = Math.floor(x), rest = x - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
}

/* The bits of the number of the format that is nearest to x. */
function fromNumber(f, x) {
  const size = Math.abs(x), ulp = ulpAt(f, size);
  let bits = f.infinity;
  if (x !== x)
    return f.nan;
  if (size <= 2 * f.largest)
    /* Above the lowest binade, one more in the exponent field for each; a
     * carry out of the fraction steps it, up to infinity. */
    bits = Math.min(bits, roundToEven(size / ulp) +
      Math.log2(ulp / f.leastUlp) * f.fractions);
  return bits + (x < 0 || Object.is(x, -0) ? f.sign : 0);
}

const magnitude = (f, bits) => bits >= f.sign ? bits - f.sign : bits;

/* sign, exponent and fraction fields. */
function fields(f, bits) {
  const m = magnitude(f, bits);
  return {
    sign: bits >= f.sign ? 1 : 0,
    exponent: Math.floor(m / f.fractions),
    fraction: m % f.fractions
  };
}

function toNumber(f, bits) {
  const p = fields(f, bits), m = magnitude(f, bits);
  const value = m === f.infinity ? Infinity :
    p.exponent === 0 ? p.fraction * f.leastUlp :
    (f.fractions + p.fraction) * 2 ** (p.exponent - f.bias - f.fraction);
  return m > f.infinity ? NaN : p.sign ? -value : value;
}

/* NaN for infinity and NaN. */
function ulp(f, bits) {
  return magnitude(f, bits) >= f.infinity ? NaN :
    f.leastUlp * 2 ** (Math.max(fields(f, bits).exponent, 1) - 1);
}

/* Exact before it rounds: a double has room for the sum of two halves, and for
 * two floats its own rounding cannot change the second one. */
function add(f, a, b) {
  return fromNumber(f, toNumber(f, a) + toNumber(f, b));
}

/* Numbers in their order, both zeros 0; infinity stands where the next binade
 * would begin. */
function rank(f, bits) {
  return bits >= f.sign ? f.sign - bits : bits;
}

function atRank(f, k) {
  const size = Math.min(Math.abs(k), f.infinity);
  return Math.sign(k) *
    (size === f.infinity ? 2 ** (f.bias + 1) : toNumber(f, size));
}

const hex = (f, bits) => '0x' + bits.toString(16).padStart(f.width / 4, '0');

/* The fields in binary, three strings. */
function binary(f, bits) {
  const p = fields(f, bits);
  return [String(p.sign), p.exponent.toString(2).padStart(f.exponent, '0'),
    p.fraction.toString(2).padStart(f.fraction, '0')];
}

/* A number to so many digits, as C's %g, but with separators; a whole one in
 * full. */
function text(x, digits = 6) {
  const size = Math.abs(x);
  if (x !== x || size === Infinity)
    return x !== x ? 'NaN' : x < 0 ? '−inf' : 'inf';
  return (x !== 0 && size < 1e-4 || size >= 1e15 ?
    Number(x.toPrecision(digits)).toExponential() : x.toLocaleString('en-US',
      {maximumSignificantDigits: Number.isInteger(x) ? 16 : digits}))
    .replace('e-', 'e−').replace(/^-/, '−');
}

const count = n => n.toLocaleString('en-US');

course.fp16 = {
  formats, fromNumber, toNumber, add, ulp, ulpAt, fields, rank, atRank, hex,
  binary, text, count
};

/* --- what the explorers share on the page --- */

const escape = s => String(s).replace(/&/g, '&amp;').replace(/</g, '&lt;')
  .replace(/"/g, '&quot;');

/* Pieces of HTML. Lists are of [part, label] or of [value, label]. */
const key = (shape, label) => `<span><svg viewBox="0 0 14 14"
  aria-hidden="true">${shape}</svg> ${label}</span> `;

const options = (list, chosen) => list.map(([value, label]) =>
  `<option value="${value}"${value === chosen ? ' selected' : ''}>
  ${escape(label)}</option>`).join('');

const select = (part, label, list, chosen) => `<label>${label}
  <select data-part="${part}">${options(list, chosen)}</select></label>`;

const facts = list => `<dl class="x-facts">${list.map(([part, label]) =>
  `<div><dt>${label}</dt><dd data-part="${part}">0</dd></div>`).join('')}</dl>`;

/* Buttons of which one holds: press(name) says which. */
const presets = (label, names) => `<div class="x-buttons" role="group"
aria-label="${label}">${names.map(([name, text]) => `<button type="button"
data-name="${name}" aria-pressed="false">${text}</button>`).join('')}</div>`;
const press = (div, name) => div.querySelectorAll('[data-name]').forEach(
  button => button.setAttribute('aria-pressed', button.dataset.name === name));

const buttons = list => `<div class="x-buttons">${list.map(([part, label], i) =>
  `<button type="button" data-part="${part}"${i ? '' : ' class="x-main"'}>
  ${label}</button>`).join('')}</div>`;

const figure = (part, title) => `<figure><figcaption>${title}</figcaption>
  <div><svg data-part="${part}" role="img"></svg></div></figure>`;

/* An SVG that is drawn anew at each width: draw(width) returns its inside and
 * says in `alt` what is seen. Returns what draws it. */
function drawing(svg, height, draw) {
  let width = 0;
  function redraw() {
    width = Math.max(240, svg.parentNode.clientWidth);
    const d = draw(width);
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('aria-label', d.alt);
    svg.innerHTML = d.inside;
  }
  svg.style.height = height + 'px';
  new ResizeObserver(() => svg.parentNode.clientWidth !== width && redraw())
    .observe(svg.parentNode);
  return redraw;
}

const round = x => Math.round(x * 10) / 10;

const svgText = (x, y, s, kind = '', anchor = 'middle') => `<text
  x="${round(x)}" y="${round(y)}" class="${kind}"
  text-anchor="${anchor}">${escape(s)}</text>`;

const svgLine = (x1, y1, x2, y2, kind = '') => `<path class="${kind}"
  d="M${round(x1)} ${round(y1)}L${round(x2)} ${round(y2)}"/>`;

const svgDot = (x, y, r, kind) =>
  `<circle class="${kind}" cx="${round(x)}" cy="${round(y)}" r="${r}"/>`;

const svgDiamond = (x, y, r) => `<path class="s2"
  d="M${round(x)} ${round(y) - r}l${r} ${r}l-${r} ${r}l-${r} -${r}Z"/>`;

/* A button that can do nothing now. It keeps the keyboard's focus, which
 * `disabled` would take away. */
const isOff = button => button.getAttribute('aria-disabled') === 'true';
const turnOff = (button, off) => button.setAttribute('aria-disabled', off);

/* Fills each div of the page that asks for the explorer: html stands in place
 * of the fallback; begin(part, on, div, preset) is given its parts by name, a
 * way to listen to them, and what it opens on: that of `cases` which the div
 * names in data-preset, or the first. */
function explorer(name, html, cases, begin) {
  function fill(div) {
    const part = name => div.querySelector(`[data-part="${name}"]`);
    const preset = div.dataset.preset || Object.keys(cases)[0];
    if (!Object.hasOwn(cases, preset))
      throw new Error(`${name} has no preset ${preset}: ${
        Object.keys(cases).join(', ')}`);
    div.innerHTML = html;
    div.setAttribute('role', 'group');
    div.setAttribute('aria-label', 'Explorer: ' + name);
    begin(part, (name, event, act) => part(name).addEventListener(event,
      () => isOff(part(name)) || act()), div, preset);
    /* Only what changes from now on is read out. */
    setTimeout(() => div.querySelectorAll('.x-say, .x-result').forEach(
      p => p.setAttribute('aria-live', 'polite')), 500);
  }
  const fillAll = () => document.querySelectorAll(
    `[data-explorer="${name}"]`).forEach(fill);
  if (document.readyState === 'loading')
    document.addEventListener('DOMContentLoaded', fillAll);
  else
    fillAll();
}

const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

course.page = {
  escape, key, options, select, facts, presets, press, buttons, figure,
  drawing, svgText, svgLine, svgDot, svgDiamond, explorer, isStill, turnOff
};
}());
