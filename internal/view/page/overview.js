// overview.js: the whole capture in a strip, to see where things are and to choose a
// range of time.

const strip = { drag: null, hover: -1 };

function sized(canvas) {
  const dpr = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * dpr) || canvas.height !== Math.round(h * dpr)) {
    canvas.width = Math.round(w * dpr);
    canvas.height = Math.round(h * dpr);
  }
  const g = canvas.getContext('2d');
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
  g.clearRect(0, 0, w, h);
  return { g, w, h };
}

// The bars are the same until the size or the theme changes, so they are kept.
let stripPicture = null;

function drawStripPicture(w, h) {
  const dpr = window.devicePixelRatio || 1;
  const c = document.createElement('canvas');
  c.width = Math.max(1, Math.round(w * dpr));
  c.height = Math.max(1, Math.round(h * dpr));
  const g = c.getContext('2d');
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
  const left = 12, wide = w - 24, x = (t) => left + place(t) / axis.total * wide;
  const base = h - 20, step = 3, n = Math.max(1, Math.floor(wide / step));
  const up = new Float64Array(n), down = new Float64Array(n), bad = new Uint8Array(n), own = new Uint8Array(n);
  for (let i = 0; i < H.rows; i++) {
    const k = Math.min(n - 1, Math.floor(axis.w[i] / axis.total * n));
    if (C.kind[i] !== EVENT) (C.from[i] === CLIENT ? up : down)[k]++;
    if (C.flags[i] & FAILED) bad[k] = 1;
    if (C.flags[i] & (CHANGED | MADE)) own[k] = 1;
  }
  let most = 1;
  for (let k = 0; k < n; k++) most = Math.max(most, up[k] + down[k]);
  // Roots: one frame is seen beside a thousand.
  const tall = (v) => v ? Math.max(2, Math.sqrt(v / most) * (base - 16)) : 0;
  g.fillStyle = ink('hatch');
  for (const i of axis.breaks) {
    const a = left + axis.w[i - 1] / axis.total * wide, b = left + axis.w[i] / axis.total * wide;
    if (b - a < 3) continue;
    for (let px = a + 2; px < b - 1; px += 4) g.fillRect(px, 8, 1, base - 8);
  }
  for (let k = 0; k < n; k++) {
    const both = tall(up[k] + down[k]), mine = both * (up[k] / (up[k] + down[k] || 1));
    g.fillStyle = ink('bar');
    g.fillRect(left + k * step, base - both, step - 1, both - mine);
    g.fillStyle = ink('bar-client');
    g.fillRect(left + k * step, base - mine, step - 1, mine);
    if (own[k]) { g.fillStyle = ink('changed'); g.fillRect(left + k * step, base + 2, step - 1, 2); }
    if (bad[k]) { g.fillStyle = ink('bad'); g.fillRect(left + k * step, base + 5, step - 1, 2); }
  }
  g.fillStyle = ink('turn');
  for (const s of H.spans) {
    if (s.kind !== 'turn') continue;
    g.fillRect(x(s.from), 4, Math.max(1.5, x(s.to) - x(s.from) - 0.5), 3);
  }
  g.strokeStyle = ink('line');
  g.beginPath();
  g.moveTo(left, base + 0.5);
  g.lineTo(left + wide, base + 0.5);
  g.stroke();
  g.fillStyle = ink('muted');
  g.font = '11px ' + ink('sans');
  g.textBaseline = 'alphabetic';
  let free = -1e9;
  for (let px = 0; px <= wide; px += 110) {
    const t = when(px / wide * axis.total), text = shortTime(t), tw = g.measureText(text).width;
    let at = left + px;
    if (at + tw > w - 6) at = w - 6 - tw;
    if (at < free) continue;
    g.fillText(text, at, h - 4);
    free = at + tw + 16;
  }
  return { c, w, h };
}

// shortTime is a place on the axis in seconds, in its run.
function shortTime(t) {
  let base = 0;
  for (const r of H.runs) if (r.base <= t) base = r.base;
  return dur(t - base);
}

function drawStrip() {
  const canvas = $('overview');
  if (!canvas.clientWidth || !H.rows) return;
  const { g, w, h } = sized(canvas);
  if (!stripPicture || stripPicture.w !== w || stripPicture.h !== h) stripPicture = drawStripPicture(w, h);
  g.drawImage(stripPicture.c, 0, 0, w, h);
  const left = 12, wide = w - 24, x = (t) => left + place(t) / axis.total * wide;
  const shade = (a, b) => {
    g.fillStyle = ink('veil');
    g.fillRect(0, 0, Math.max(0, a), h - 17);
    g.fillRect(b, 0, Math.max(0, w - b), h - 17);
    g.fillStyle = ink('accent');
    g.fillRect(a - 0.5, 0, 1, h - 17);
    g.fillRect(b - 0.5, 0, 1, h - 17);
  };
  if (strip.drag && Math.abs(strip.drag.b - strip.drag.a) > 3) shade(Math.min(strip.drag.a, strip.drag.b), Math.max(strip.drag.a, strip.drag.b));
  else if (F.from > -Infinity || F.to < Infinity) shade(x(F.from), x(F.to));
  if (V.n && !$('sequence').hidden && sequence && sequence.first >= 0) {
    const a = x(C.t[V.rows[sequence.first]]), b = x(C.t[V.last[Math.max(0, sequence.last)]]);
    g.fillStyle = ink('window');
    g.fillRect(a, 8, Math.max(3, b - a), h - 28);
  }
  if (selected >= 0) {
    g.fillStyle = ink('accent');
    g.fillRect(x(C.t[selected]) - 0.75, 2, 1.5, h - 20);
  }
  if (strip.hover >= 0 && !strip.drag) {
    const t = when((strip.hover - left) / wide * axis.total), text = shortTime(t);
    g.font = '11px ' + ink('sans');
    const tw = g.measureText(text).width + 8, at = Math.min(w - tw, strip.hover + 5);
    g.fillStyle = ink('muted');
    g.fillRect(strip.hover, 0, 1, h - 18);
    g.fillStyle = ink('panel');
    g.fillRect(at, 2, tw, 15);
    g.fillStyle = ink('text');
    g.fillText(text, at + 4, 13);
  }
}

let stripAsked = false;
function drawSoon() {
  if (stripAsked) return;
  stripAsked = true;
  requestAnimationFrame(() => {
    stripAsked = false;
    drawStrip();
  });
}

function startOverview() {
  const c = $('overview');
  const at = (e) => Math.max(12, Math.min(c.clientWidth - 12, e.clientX - c.getBoundingClientRect().left));
  const time = (px) => when((px - 12) / (c.clientWidth - 24) * axis.total);
  c.addEventListener('pointerdown', (e) => {
    c.setPointerCapture(e.pointerId);
    strip.drag = { a: at(e), b: at(e) };
  });
  c.addEventListener('pointermove', (e) => {
    strip.hover = at(e);
    if (strip.drag) strip.drag.b = at(e);
    drawSoon();
  });
  c.addEventListener('pointerleave', () => { strip.hover = -1; drawSoon(); });
  c.addEventListener('pointercancel', () => { strip.drag = null; drawSoon(); });
  c.addEventListener('pointerup', () => {
    const d = strip.drag;
    strip.drag = null;
    if (!d) return;
    if (Math.abs(d.a - d.b) > 3) {
      setRange(time(Math.min(d.a, d.b)), time(Math.max(d.a, d.b)));
    } else if (F.from > -Infinity || F.to < Infinity) {
      setRange(-Infinity, Infinity);
    } else if (H.rows) {
      select(Math.min(H.rows - 1, lowerBound(C.t, time(d.a))));
    }
    drawSoon();
  });
  new ResizeObserver(drawSoon).observe(c);
  theme.changed.push(() => { stripPicture = null; drawSoon(); });
  filterChanged.push(drawSoon);
  selectedChanged.push(drawSoon);
}
