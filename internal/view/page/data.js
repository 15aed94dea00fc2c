// data.js: what the page was given. C are the columns, S the strings, H the head.

let H, C, S;

function unbase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const bin = atob(text), out = new Uint8Array(bin.length);
  for (let i = 0; i < bin.length; i++) out[i] = bin.charCodeAt(i);
  return out;
}

async function inflate(element) {
  const packed = unbase64(element.textContent);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const utf8 = new TextDecoder();

async function load() {
  const [head, cols] = await Promise.all([inflate($('head')), inflate($('cols'))]);
  H = JSON.parse(utf8.decode(head));
  S = H.strings;
  C = {};
  const types = { Float64Array, Uint32Array, Int32Array, Uint16Array, Uint8Array };
  for (const c of H.columns) C[c.name] = new types[c.type](cols.buffer, c.at, H.rows);
  $('head').remove();
  $('cols').remove();
  for (const key of ['runs', 'agents', 'spans', 'blocks']) H[key] = H[key] || [];
  H.usage = H.usage.map((u) => u || []);
}

const parsed = new Promise((done) => {
  if (document.readyState !== 'loading') done();
  else document.addEventListener('DOMContentLoaded', done, { once: true });
});

// The blocks that were decoded last.
const recent = new Map();

async function block(n) {
  if (recent.has(n)) return recent.get(n);
  let e = $('b' + n);
  if (!e) {
    await parsed;
    e = $('b' + n);
  }
  const list = JSON.parse(utf8.decode(await inflate(e)));
  recent.set(n, list);
  if (recent.size > 8) recent.delete(recent.keys().next().value);
  return list;
}

async function detailOf(row) {
  const n = C.block[row];
  return (await block(n))[row - H.blocks[n]];
}

const peer = (p) => p === CLIENT ? 'client' : p === SHIM ? 'shim' : p >= AGENTS ? H.agents[p - AGENTS].name : 'nobody';
const nameOf = (row) => S[C.update[row]] || S[C.method[row]] || (C.kind[row] === RESPONSE ? 'response' : 'no message');
const timeOf = (row) => C.t[row] - H.runs[C.run[row]].base;

// stamp is a row's time since its run began, in seconds.
const stamp = (row) => (timeOf(row) / 1e9).toFixed(timeOf(row) < 1e12 ? 4 : 2);

// The time axis. Where nothing happens for long it is squeezed, so that what
// happens can be seen; axis.breaks are those places.
const axis = { squeeze: true, w: null, breaks: [], total: 1 };

function buildAxis() {
  const n = H.rows, t = C.t;
  let cap = Infinity;
  if (axis.squeeze && n > 3) {
    const some = [], step = Math.max(1, Math.floor(n / 5000));
    for (let i = 1; i < n; i += step) some.push(Math.max(0, t[i] - t[i - 1]));
    some.sort((a, b) => a - b);
    const floor = some[Math.floor(some.length * 0.97)];
    for (let k = 0; k < 6; k++) {
      let busy = 0;
      for (let i = 1; i < n; i++) busy += Math.min(Math.max(0, t[i] - t[i - 1]), cap);
      cap = Math.max(busy * 0.06, floor);
    }
  }
  axis.w = new Float64Array(n);
  axis.breaks = [];
  for (let i = 1; i < n; i++) {
    const d = Math.max(0, t[i] - t[i - 1]);
    axis.w[i] = axis.w[i - 1] + Math.min(d, cap);
    if (d > cap * 1.5) axis.breaks.push(i);
  }
  axis.total = (n && axis.w[n - 1]) || 1;
}

// place is where a time is on the axis, when is the way back.
function place(t) {
  const n = H.rows;
  if (!n || t <= C.t[0]) return 0;
  const i = lowerBound(C.t, t);
  if (i >= n) return axis.total;
  const d = C.t[i] - C.t[i - 1];
  return d > 0 ? axis.w[i - 1] + (axis.w[i] - axis.w[i - 1]) * (t - C.t[i - 1]) / d : axis.w[i];
}

function when(w) {
  const n = H.rows;
  if (!n) return 0;
  const i = lowerBound(axis.w, w);
  if (i <= 0) return C.t[0];
  if (i >= n) return C.t[n - 1];
  const d = axis.w[i] - axis.w[i - 1];
  return d > 0 ? C.t[i - 1] + (C.t[i] - C.t[i - 1]) * (w - axis.w[i - 1]) / d : C.t[i];
}
