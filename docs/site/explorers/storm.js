/* The explorer `storm`: the interleaved mode of the CPU emulation
 * (common/cpu/interleave.c), number by number. */
(function () {
'use strict';

const fp = window.course.fp16, page = window.course.page;
const half = fp.formats.half;
const LATENCY = 8, JITTER = 8; /* ticks */
const ADDEND = 0x211e; /* lesson 1's product */
const RING = 4096; /* ticks that requests may lie apart: more than in flight */

/* xorshift64 of a seed below 2^53, in two halves; draws 0 .. JITTER. */
function generator(seed) {
  let high = Math.floor(seed / 2 ** 32) >>> 0, low = seed >>> 0;
  return () => {
    high ^= high << 13 | low >>> 19;
    low ^= low << 13;
    low ^= low >>> 7 | high << 25;
    high ^= high >>> 7;
    high ^= high << 17 | low >>> 15;
    low ^= low << 17;
    /* 2^32 is 4 modulo 9 */
    return ((high >>> 0) % 9 * 4 + (low >>> 0) % 9) % (JITTER + 1);
  };
}

/* n threads, one add each, in blocks of `threads` of which `resident` are in
 * flight. way: 'cas', the loop, or 'add', one request per add. step() serves
 * what is next in the queue: the beginning of a thread, or a request. */
function simulate(o) {
  const draw = generator(o.seed), isLoop = o.way !== 'add';
  const blocks = Math.ceil(o.n / o.threads);
  const resident = Math.min(o.resident, blocks), slots = resident * o.threads;
  /* What arrives at one tick waits in the order in which it was sent. */
  const first = new Int32Array(RING).fill(-1), last = new Int32Array(RING);
  const next = new Int32Array(slots), due = new Int32Array(slots);
  const thread = new Int32Array(slots), seen = new Int32Array(slots);
  const sends = new Uint8Array(slots); /* 0: begins */
  const unfinished = new Int32Array(resident);
  const sums = {};
  let nextBlock = 0, waiting = 0, tick = 0;
  const s = {
    now: 0, word: o.start, tries: 0, done: 0, moved: 0, slot: -1, event: '',
    each: o.each ? new Uint32Array(o.n) : null, /* the tries of each thread */
    slots, due, thread, sends, step, queue, isStale, next: nextTick
  };

  function push(slot, at) {
    const place = at % RING;
    due[slot] = at;
    next[slot] = -1;
    if (first[place] < 0)
      first[place] = slot;
    else
      next[last[place]] = slot;
    last[place] = slot;
    waiting++;
  }

  function startBlock(place) {
    for (let i = 0; i < o.threads; i++) {
      sends[place * o.threads + i] = 0;
      thread[place * o.threads + i] = nextBlock * o.threads + i;
      push(place * o.threads + i, s.now + draw());
    }
    unfinished[place] = o.threads;
    nextBlock++;
  }

  function sumOf(word) {
    if (sums[word] === undefined)
      sums[word] = fp.add(half, word, ADDEND);
    return sums[word];
  }

  /* Serves a request. Returns whether the thread needs another. */
  function serve(slot) {
    const won = !isLoop || seen[slot] === s.word;
    s.tries++;
    if (s.each)
      s.each[thread[slot]]++;
    s.event = won ? 'win' : 'fail';
    seen[slot] = s.word;
    if (won) {
      const sum = sumOf(s.word);
      s.moved += sum !== s.word ? 1 : 0;
      s.word = sum;
      s.done++;
    }
    return !won;
  }

  function finish(slot) {
    const place = Math.floor(slot / o.threads);
    sends[slot] = 2;
    if (--unfinished[place] === 0 && nextBlock < blocks)
      startBlock(place);
  }

  /* False when all is done. */
  function step() {
    if (waiting === 0)
      return false;
    while (first[tick % RING] < 0)
      tick++;
    const slot = s.slot = first[tick % RING];
    first[tick % RING] = next[slot];
    waiting--;
    if (sends[slot])
      s.now++; /* the queue serves one request per tick */
    if (s.now < due[slot])
      s.now = due[slot];
    if (sends[slot] ? serve(slot) : begin(slot))
      push(slot, s.now + LATENCY + draw());
    else
      finish(slot);
    return true;
  }

  function begin(slot) {
    s.event = 'begin';
    seen[slot] = s.word; /* the loop's first load */
    sends[slot] = 1;
    return thread[slot] < o.n;
  }

  /* The slots in flight, in the order in which they will be served. */
  function queue() {
    const list = [];
    for (let t = tick; list.length < waiting; t++)
      for (let slot = first[t % RING]; slot >= 0; slot = next[slot])
        list.push(slot);
    return list;
  }

  function isStale(slot) {
    return isLoop && seen[slot] !== s.word;
  }

  /* When the next will be served. */
  function nextTick() {
    if (waiting === 0)
      return Infinity;
    while (first[tick % RING] < 0)
      tick++;
    return Math.max(tick, s.now + (sends[first[tick % RING]] ? 1 : 0));
  }

  for (nextBlock = 0; nextBlock < resident;)
    startBlock(nextBlock);
  return s;
}

/* To the end, at once. */
function run(o) {
  const s = simulate(o);
  while (s.step())
    ;
  return s;
}

/* How lessons 4 and 5 launch: blocks of 256, or one of R where R is less. */
function shape(inFlight) {
  const threads = Math.min(inFlight, 256);
  return {threads, resident: Math.floor(inFlight / threads)};
}

/* The rows that lesson 5 measured, of each file of results that the page was
 * given, with its GPU. No cell there holds a comma. */
function measured(results) {
  const names = Object.keys(results || {}).filter(
    name => /(^|\/)lesson5\.csv$/.test(name));
  return names.map(name => {
    const [head, ...lines] = results[name].trim().split(/\r?\n/)
      .map(line => line.split(','));
    const rows = lines.map(cells => {
      const cell = key => cells[head.indexOf(key)];
      return {gpu: cell('gpu'), variant: cell('variant'),
        start: Number(cell('start')), threads: Number(cell('threads')),
        n: Number(cell('n')), ms: Number(cell('min_ms')),
        tries: Number(cell('tries_per_add'))};
    });
    return {gpu: rows.length ? rows[0].gpu : '', rows};
  });
}

/* How many of n adds move a sum from 0. */
function moving(n) {
  let bits = 0, count = 0;
  for (; count < n; count++) {
    const next = fp.add(half, bits, ADDEND);
    if (next === bits)
      break;
    bits = next;
  }
  return count;
}

window.course.storm = {simulate, run, shape, measured, moving};

/* --- on the page --- */

const FROZEN = 0x5000, HEIGHT = 176;
const MOST_ROWS = 32; /* more threads are packed */
const LEAST_ADDS = 4096; /* in the chart: more than are in flight */
/* What it opens on, or a button asks for. */
const cases = {
  8: {name: '8 threads', flight: 8, n: 64, start: 0},
  1024: {name: '1,024 threads', flight: 1024, n: 4096, start: 0},
  frozen: {name: 'frozen', flight: 1024, n: 4096, start: FROZEN}
};
const IN_FLIGHT = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const {key, select, svgLine, svgText, svgDot, svgDiamond} = page;
const {count, text} = fp;
const number = bits => text(fp.toNumber(half, bits), 5);
const counted = n => [n, count(n)];

const lane = (name, title) => `<div>${page.figure(name, title) +
  page.facts([[name + 'done', 'Adds done'], [name + 'tries', 'Requests'],
    [name + 'each', 'Per add']])}</div>`;

const html = `<p class="x-title">Storm</p>
<p class="x-lead">Many threads add to one half. Each dot is a thread’s request
on its way to the memory, which serves one per tick. More than ${MOST_ROWS} dots
are packed, the next one to be served on the right.</p>
${page.presets('Storms to look at', Object.keys(cases).map(
  key => [key, cases[key].name]))}
<div class="x-controls">${
  select('flight', 'Threads in flight', IN_FLIGHT.map(counted)) +
  select('n', 'Adds', [64, 256, 1024, 4096, 16384].map(counted)) +
  select('start', 'Sum at first', [[0, '0, it moves'], [FROZEN, '32, frozen']])}
<label>Seed<input data-part="seed" type="number" min="1" max="1000000"
value="1"></label></div>
${page.buttons([['play', 'Play'], ['once', 'One request'],
  ['end', 'To the end'], ['reset', 'Reset']])}
<div class="x-two">${lane('loop', 'Compare-and-swap loop') +
  lane('real', 'The real add')}</div>
<p class="x-legend">${key(svgDot(7, 7, 5, 'fresh'), 'would win now') +
  key(svgDot(7, 7, 4.5, 'stale'), 'expects an old value: will fail') +
  key(svgDot(7, 7, 3, 'idle'), 'sends nothing')}</p>
<p class="x-say" data-part="say"></p>
<p class="x-result" data-part="result"></p>
${page.figure('chart', 'Failed requests for each add that moves the sum')}
<p class="x-legend">${key(svgLine(0, 7, 14, 7, 'go'),
  '<span data-part="model"></span>')}<span data-part="legend"></span></p>
<div data-part="measured"></div>
<p class="x-note">This is the CPU emulation’s interleaved mode: the same tries
for the same seed. A request arrives ${LATENCY} to ${LATENCY + JITTER} ticks
after it is sent. Up to 256 threads are one block; when all of them are done,
the next block takes their place. It leaves out warps, caches, a GPU’s several
slices of memory, and the cost of anything but an atomic; and it gives a real
add the same tick as a try.</p>`;

/* Where the requests are at the time `now`, and the word on the right. A few
 * dots come nearer by one step per tick. */
function drawLane(s, now, width) {
  const BOX = 84, PACKED = 24, right = width - BOX - 10;
  const isPacked = s.slots > MOST_ROWS;
  const dx = isPacked ? Math.min(7, right / (Math.ceil(s.slots / PACKED) + 1)) :
    (right - 14) / (s.slots + LATENCY + JITTER);
  const r = isPacked ? Math.min(2.5, dx * 0.4) : 60 / s.slots > 3 ? 5 : 3.5;
  const row = i => 10 + (i + 0.5) * (HEIGHT - 20) /
    (isPacked ? PACKED : s.slots);
  const event = s.event === 'win' ? ['won', '✓ added'] :
    s.event === 'fail' ? ['lost', '✗ failed'] : ['', ''];
  const seen = new Set();
  let t = s.now, stale = 0, inside = '';
  for (const slot of s.queue()) {
    t = Math.max(t + (s.sends[slot] ? 1 : 0), s.due[slot]);
    if (!s.sends[slot])
      continue;
    const isOld = s.isStale(slot), place = seen.size;
    const x = isPacked ? right - (Math.floor(place / PACKED) + 1) * dx :
      right - (t - now) * dx;
    inside += svgDot(Math.max(8, x), row(isPacked ? place % PACKED : slot),
      isOld ? r * 0.9 : r, isOld ? 'stale' : 'fresh');
    seen.add(slot);
    stale += isOld;
  }
  for (let slot = 0; slot < s.slots && !isPacked; slot++)
    if (!seen.has(slot))
      inside += svgDot(8, row(slot), r * 0.6, 'idle');
  const middle = width - BOX / 2 - 2;
  return {inside: inside + `<rect x="${width - BOX - 2}" y="${HEIGHT / 2 - 30}"
    width="${BOX}" height="60" rx="6" class="${event[0]}"/>` +
    svgText(middle, HEIGHT / 2 - 4, number(s.word), 'b') +
    svgText(middle, HEIGHT / 2 + 16, event[1]),
  alt: `${seen.size} requests on their way to the word, which holds ${
    number(s.word)}; ${stale} of them expect an old value.`};
}

/* Fails for each moving add against the threads in flight, both logarithmic. */
function drawChart(model, points, flight, width) {
  const LEFT = 40, RIGHT = width - 14, TOP = 12, BOTTOM = 206;
  const X = points.length ? 5.6 : 3.1, Y = points.length ? 5.1 : 3;
  const x = v => LEFT + Math.log10(v) / X * (RIGHT - LEFT);
  const y = v => BOTTOM - (Math.log10(v) + 0.5) / (Y + 0.5) * (BOTTOM - TOP);
  const tick = v => v < 1000 ? v : v / 1000 + 'k';
  const tell = list => list.map(([threads, fails]) =>
    `${text(fails, 3)} at ${count(threads)}`).join(', ');
  let inside = '';
  for (let k = 0; k <= X; k++) {
    const v = 10 ** k;
    inside += svgText(x(v), BOTTOM + 16, tick(v), 'm');
    if (k <= Y)
      inside += svgLine(LEFT, y(v), RIGHT, y(v), 'grid') +
        svgText(LEFT - 6, y(v) + 4, tick(v), 'm', 'end');
  }
  inside += svgText(RIGHT, BOTTOM + 32, 'threads in flight', 'm', 'end');
  const line = model.filter(p => p[1] > 0);
  if (line.length)
    inside += `<path class="go" d="M${line.map(p => x(p[0]).toFixed(1) + ' ' +
      y(p[1]).toFixed(1)).join('L')}"/>`;
  for (const p of line.filter(p => p[0] === flight))
    inside += svgDot(x(p[0]), y(p[1]), 6, 's1');
  for (const p of points)
    inside += svgDiamond(x(p[0]), y(p[1]), 5);
  return {inside, alt: 'Chart of failed requests for each moving add against ' +
    `threads in flight. Both grow together: ${tell(model)}${points.length ?
      '. Measured points lie on from there: ' + tell(points) : ''}.`};
}

/* What was measured: the loop's rows whose tries were counted, each with the
 * real add's. */
function table({gpu, rows}) {
  const name = 'Measured on ' + page.escape(gpu);
  const heads = ['Start', 'In flight', 'Adds', 'Tries per add', 'Loop, ms',
    'Real add, ms'];
  const head = heads.map(s => `<th scope="col">${s}</th>`).join('');
  const body = rows.filter(row => row.tries &&
    /^(moving|frozen|threads)_2B$/.test(row.variant)).map(row => {
    const real = rows.find(other => other.n === row.n && other.variant ===
      row.variant.replace('2B', '4B') && other.threads === row.threads);
    return '<tr>' + [row.start, count(row.threads), count(row.n),
      text(row.tries, 4), text(row.ms, 4), real ? text(real.ms, 4) : '']
      .map((s, i) => `<td data-label="${heads[i]}">${s}</td>`).join('') + '</tr>';
  }).join('');
  return `<details><summary>${name}</summary><div class="table cards flow"
    role="region" tabindex="0" aria-label="${name}"><table><thead><tr>${head}</tr></thead>
    <tbody>${body}</tbody></table></div></details>`;
}

page.explorer('storm', html, cases, (part, on, div, preset) => {
  const o = {seed: 1}, points = [];
  let loop, real, clock = 0, speed, last, stop = null, timer = 0, model = [];
  const lanes = [
    page.drawing(part('loop'), HEIGHT, width => drawLane(loop, clock, width)),
    page.drawing(part('real'), HEIGHT, width => drawLane(real, clock, width))];
  const chart = page.drawing(part('chart'), 244, width =>
    drawChart(model, points, o.flight, width));
  const say = s => part('say').textContent = s;
  const explain = () => say(o.start ? 'The sum is frozen: a compare-and-swap ' +
    'that writes the same bits disturbs nobody.' : 'The sum moves: each add ' +
    'that wins makes all requests on their way fail.');
  const options = (flight, way) => Object.assign(shape(flight),
    {seed: o.seed, n: o.n, start: o.start, way});

  function show() {
    for (const [name, s] of [['loop', loop], ['real', real]]) {
      part(name + 'done').textContent = count(s.done);
      part(name + 'tries').textContent = count(s.tries);
      part(name + 'each').textContent = s.done ?
        (s.tries / s.done).toFixed(2) : '–';
    }
    lanes.forEach(redraw => redraw());
  }

  function pause() {
    if (stop)
      stop();
    stop = null;
    part('play').textContent = 'Play';
  }

  function reset() {
    pause();
    loop = simulate(options(o.flight, 'cas'));
    real = simulate(options(o.flight, 'add'));
    clock = 0;
    explain();
    for (const name of ['play', 'once', 'end'])
      page.turnOff(part(name), false);
    show();
  }

  /* Both lanes up to the time `clock`. */
  function advance() {
    for (const s of [loop, real])
      while (s.next() <= clock)
        s.step();
    show();
    if (loop.next() < Infinity || real.next() < Infinity)
      return;
    pause();
    for (const name of ['play', 'once', 'end'])
      page.turnOff(part(name), true);
    say(`Done: ${count(loop.tries)} requests for the loop, ${
      count(real.tries)} for the real add.`);
  }

  on('play', 'click', () => {
    if (stop)
      return pause();
    part('play').textContent = 'Pause';
    explain();
    /* Faster with many threads and adds. */
    speed = Math.max(10, o.flight / 2, o.n / 8);
    last = performance.now();
    if (page.isStill()) {
      const id = setInterval(() => {
        clock = Math.min(loop.next(), real.next());
        advance();
      }, 500);
      stop = () => clearInterval(id);
    } else {
      let id = requestAnimationFrame(function frame(now) {
        id = requestAnimationFrame(frame);
        clock += Math.min(100, now - last) / 1000 * speed;
        last = now;
        advance();
      });
      stop = () => cancelAnimationFrame(id);
    }
  });
  function once() {
    let before, stale = 0;
    pause();
    do
      before = loop.word;
    while (loop.step() && loop.event === 'begin');
    const {slot, event} = loop, word = number(loop.word);
    clock = Math.max(clock, loop.now);
    for (const other of loop.queue())
      stale += loop.sends[other] && loop.isStale(other);
    say(`Tick ${loop.now}: thread ${loop.thread[slot]} ${event === 'fail' ?
      `expected an old value. It fails, and tries again with ${word}.` :
      `finds what it expected and writes ${word}${before === loop.word ?
        ', the same bits: nobody fails for it.' : '.'}`} Of those on their ` +
      `way, ${stale} will fail.`);
    advance();
  }
  on('once', 'click', once);
  on('end', 'click', () => {
    clock = Number.MAX_SAFE_INTEGER;
    advance();
  });
  on('reset', 'click', reset);

  /* What the choice comes to; and the model for each number of threads, one
   * after another. */
  function compute() {
    const list = IN_FLIGHT.slice(), n = Math.max(o.n, LEAST_ADDS);
    const s = run(options(o.flight, 'cas')), flight = Math.min(o.flight, o.n);
    part('result').textContent = `${count(flight)} thread${flight > 1 ? 's' :
      ''} in flight${flight < o.flight ? ', as there are no more' : ''}: ${
      count(s.tries)} requests for ${count(o.n)} adds, ${
      (s.tries / o.n).toFixed(2)} tries per add; ${count(s.moved)} adds move ` +
      `the sum. The real add needs ${count(o.n)} requests.`;
    part('model').textContent = `this model, ${count(n)} adds from 0`;
    clearTimeout(timer);
    model = [];
    timer = setTimeout(function next() {
      const flight = list.shift();
      const s = run(Object.assign(options(flight, 'cas'), {n, start: 0}));
      model.push([flight, (s.tries - n) / s.moved]);
      if (list.length)
        timer = setTimeout(next, 0);
      else
        chart();
    }, 0);
  }

  /* Takes on some of flight, n, start and seed. */
  function take(some) {
    for (const name of ['flight', 'n', 'start', 'seed'])
      part(name).value = o[name] = name in some ? some[name] : o[name];
    page.press(div, Object.keys(cases).find(key => ['flight', 'n', 'start']
      .every(name => cases[key][name] === o[name])));
    reset();
    compute();
  }
  /* What the first add that is done does to those on their way. */
  function open(name) {
    take(cases[name]);
    once();
  }
  for (const name of ['flight', 'n', 'start', 'seed'])
    on(name, 'change', () => {
      const x = Math.round(Number(part(name).value));
      take({[name]: name === 'seed' ? Math.min(1e6, Math.max(1, x || 1)) : x});
    });
  div.querySelectorAll('[data-name]').forEach(button =>
    button.addEventListener('click', () => open(button.dataset.name)));

  for (const file of measured(window.course_results)) {
    for (const row of file.rows)
      if (/^(moving|threads)_2B$/.test(row.variant) && row.tries)
        points.push([row.threads, (row.tries - 1) * row.n / moving(row.n)]);
    part('measured').innerHTML += table(file);
    part('legend').innerHTML += key(svgDiamond(7, 7, 6),
      'measured: ' + page.escape(file.gpu));
  }
  open(preset);
  chart();
});
}());
