// charts.js: how fast chunks came, how full the context was, how long answers took.

function drawCharts() {
  const box = $('charts');
  if (box.hidden || !H.rows) return;
  box.textContent = '';
  const wide = Math.max(260, box.clientWidth - 48);
  box.append(chunkChart(wide), usageChart(wide), answerChart(wide));
}

function startCharts() {
  filterChanged.push(drawCharts);
  new ResizeObserver(debounce(50, drawCharts)).observe($('charts'));
}

const CHART = { height: 166, left: 56, right: 12, top: 12, bottom: 24 };

// chart is an empty one, with its axes; y gives [place, text] of its lines.
function chart(title, hint, wide, lines) {
  const fig = el('figure', 'chart');
  const cap = el('figcaption');
  cap.append(el('h2', '', title), el('p', '', hint));
  const s = svg('svg', { width: wide, height: CHART.height, role: 'img', 'aria-label': title + '. ' + hint });
  const inner = wide - CHART.left - CHART.right, base = CHART.height - CHART.bottom, tall = base - CHART.top;
  const y = (v) => base - v * tall;
  for (const [v, text] of lines) {
    s.append(svg('path', { class: 'grid', d: `M${CHART.left} ${Math.round(y(v)) + 0.5}h${inner}` }));
    const t = svg('text', { class: 'label', x: CHART.left - 8, y: y(v) + 4, 'text-anchor': 'end' });
    t.textContent = text;
    s.append(t);
  }
  const [a, b] = lookedAt();
  for (let px = 0; px < inner - 30; px += 120) {
    const t = svg('text', { class: 'label', x: CHART.left + px, y: CHART.height - 6 });
    t.textContent = shortTime(when(a + (b - a) * px / inner));
    s.append(t);
  }
  const x = (t) => CHART.left + (place(t) - a) / (b - a) * inner;
  fig.append(cap, s);
  return { fig, s, x, y, inner, a, b };
}

// round is the next round number above.
function round(v) {
  if (!(v > 0)) return 1;
  const p = 10 ** Math.floor(Math.log10(v));
  for (const k of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (k * p >= v) return k * p;
  return 10 * p;
}

const short = (v) => v >= 1e6 ? +(v / 1e6).toPrecision(3) + 'M' : v >= 1e3 ? +(v / 1e3).toPrecision(3) + 'k' : String(+v.toPrecision(3));
const inRange = (i) => C.t[i] >= F.from && C.t[i] <= F.to && (!F.session || S[C.session[i]] === F.session);

function chunkChart(wide) {
  const inner = wide - CHART.left - CHART.right, n = Math.max(20, Math.floor(inner / 5));
  const [a, b] = lookedAt();
  const count = new Float64Array(n);
  let total = 0;
  for (let i = 0; i < H.rows; i++) {
    if (!(C.flags[i] & CHUNK) || C.flags[i] & (REPLAYED | LOST) || !inRange(i)) continue;
    count[Math.max(0, Math.min(n - 1, Math.floor((axis.w[i] - a) / (b - a) * n)))]++;
    total++;
  }
  let most = 0;
  const rate = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    // A bucket is never shorter than 10 ms: two chunks of one write are no rate.
    const d = Math.max(1e7, when(a + (b - a) * (k + 1) / n) - when(a + (b - a) * k / n));
    rate[k] = count[k] / (d / 1e9);
    most = Math.max(most, rate[k]);
  }
  const top = round(most);
  const c = chart('Chunk rate', total ? `${plural(total, 'chunk')} of message and thought, at most ${short(most)} a second` : 'No chunk is in this range.', wide, [[0, '0'], [0.5, short(top / 2)], [1, short(top) + '/s']]);
  let d = '';
  for (let k = 0; k < n; k++) {
    if (!rate[k]) continue;
    const x = CHART.left + k / n * inner, h = Math.max(1, rate[k] / top * (CHART.height - CHART.bottom - CHART.top));
    d += `M${x.toFixed(1)} ${c.y(0)}v${(-h).toFixed(1)}h${(inner / n - 1).toFixed(1)}v${h.toFixed(1)}z`;
  }
  c.s.append(svg('path', { class: 'area', d }));
  return c.fig;
}

function usageChart(wide) {
  const [rows, used, size] = H.usage;
  const bySession = new Map();
  let most = 0, limit = 0;
  rows.forEach((r, k) => {
    if (!inRange(r)) return;
    most = Math.max(most, used[k]);
    limit = Math.max(limit, size[k]);
    const s = C.session[r];
    if (!bySession.has(s)) bySession.set(s, []);
    bySession.get(s).push(k);
  });
  const top = round(most);
  const hint = most ? `at most ${num(most)} tokens` + (limit ? ` of ${num(limit)}, ${(most / limit * 100).toPrecision(2)} %` : '') : 'No usage was reported in this range.';
  const c = chart('Context used', hint, wide, [[0, '0'], [0.5, short(top / 2)], [1, short(top)]]);
  let hue = 0;
  for (const [, list] of bySession) {
    const step = Math.max(1, Math.floor(list.length / 1500));
    let d = '';
    for (let i = 0; i < list.length; i += step) {
      const k = list[i], x = c.x(C.t[rows[k]]).toFixed(1), y = c.y(used[k] / top).toFixed(1);
      d += d ? `H${x}V${y}` : `M${x} ${y}`;
      if (list.length <= 200) c.s.append(svg('circle', { class: 'dot u' + hue % 5, cx: x, cy: y, r: 2.5 }));
    }
    c.s.append(svg('path', { class: 'curve u' + hue++ % 5, d: d + `H${CHART.left + c.inner}` }));
  }
  return c.fig;
}

function answerChart(wide) {
  const list = [];
  let most = 1e6, least = 1e9;
  for (let i = 0; i < H.rows; i++) {
    if (C.kind[i] !== RESPONSE || !(C.took[i] > 0) || !inRange(i)) continue;
    list.push(i);
    most = Math.max(most, C.took[i]);
    least = Math.min(least, C.took[i]);
  }
  const lo = Math.floor(Math.log10(Math.max(1e3, least))), hi = Math.max(lo + 1, Math.ceil(Math.log10(most)));
  const lines = [];
  for (let p = lo; p <= hi; p++) lines.push([(p - lo) / (hi - lo), dur(10 ** p).replace(/\.0+ /, ' ')]);
  const c = chart('Time to answer', list.length ? `${plural(list.length, 'answer')}, at most ${dur(most)}; each a dot, red where it is an error` : 'No answer is in this range.', wide, lines);
  const step = Math.max(1, Math.ceil(list.length / 4000));
  for (let k = 0; k < list.length; k += step) {
    const i = list[k];
    const dot = svg('circle', {
      class: 'answer ' + (C.flags[i] & FAILED ? 'bad' : C.flags[i] & MADE ? 'made' : ''), r: 3.5,
      cx: c.x(C.t[i]).toFixed(1), cy: c.y((Math.log10(Math.max(10 ** lo, C.took[i])) - lo) / (hi - lo)).toFixed(1),
    });
    const t = svg('title', {});
    t.textContent = `${nameOf(i)}, ${dur(C.took[i])}`;
    dot.append(t);
    dot.addEventListener('click', () => { select(i); openDetail(); });
    c.s.append(dot);
  }
  return c.fig;
}
