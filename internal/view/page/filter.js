// filter.js: which rows are shown. V is the view: rows in their order, and how many
// rows each stands for.

const V = { rows: new Int32Array(0), last: new Int32Array(0), count: new Int32Array(0), n: 0, lines: 0 };
const F = {
  text: '', whole: false, found: null, method: '', session: '', direction: '', slow: 0,
  errors: false, changed: false, lost: false, events: true, fold: true, from: -Infinity, to: Infinity,
};
const filterChanged = [];

const directions = {
  client: (i) => C.from[i] === CLIENT && C.kind[i] !== EVENT,
  toclient: (i) => C.to[i] === CLIENT,
  agent: (i) => C.from[i] >= AGENTS && C.kind[i] !== EVENT,
  toagent: (i) => C.to[i] >= AGENTS,
  shim: (i) => (C.flags[i] & MADE) !== 0,
};

function applyFilter() {
  const n = H.rows, out = new Int32Array(n), last = new Int32Array(n), count = new Int32Array(n);
  const text = F.text.toLowerCase();
  let hit = null;
  if (text) {
    // Each string is looked at once, however many rows have it.
    hit = new Uint8Array(S.length);
    for (let i = 0; i < S.length; i++) if (S[i].toLowerCase().includes(text)) hit[i] = 1;
  }
  const method = F.method ? S.indexOf(F.method) : -1, session = F.session ? S.indexOf(F.session) : -1;
  const dir = directions[F.direction];
  let k = 0, lines = 0;
  for (let i = 0; i < n; i++) {
    const f = C.flags[i];
    if (C.t[i] < F.from || C.t[i] > F.to) continue;
    if (hit && !hit[C.method[i]] && !hit[C.update[i]] && !hit[C.gist[i]] && !hit[C.session[i]] && !hit[C.why[i]] && !(F.found && F.found[i])) continue;
    if (method >= 0 && C.method[i] !== method && C.update[i] !== method) continue;
    if (session >= 0 && C.session[i] !== session) continue;
    if (dir && !dir(i)) continue;
    if (F.errors && !(f & FAILED)) continue;
    if (F.changed && !(f & CHANGED)) continue;
    if (F.lost && !(f & LOST)) continue;
    if (!F.events && C.kind[i] === EVENT) continue;
    if (F.slow && !(C.took[i] >= F.slow)) continue;
    lines++;
    if (F.fold && k > 0 && alike(out[k - 1], i)) {
      last[k - 1] = i;
      count[k - 1]++;
      continue;
    }
    out[k] = last[k] = i;
    count[k] = 1;
    k++;
  }
  V.rows = out.subarray(0, k);
  V.last = last.subarray(0, k);
  V.count = count.subarray(0, k);
  V.n = k;
  V.lines = lines;
  for (const f of filterChanged) f();
}

// alike tells rows of one stream, which may be shown as one.
function alike(a, b) {
  if (C.method[a] !== C.method[b] || C.update[a] !== C.update[b] || C.session[a] !== C.session[b] || C.from[a] !== C.from[b] ||
    C.to[a] !== C.to[b] || C.flags[a] !== C.flags[b] || C.run[a] !== C.run[b]) return false;
  return (C.flags[a] & CHUNK) !== 0 || C.kind[a] === EVENT && S[C.method[a]] === 'stderr';
}

// indexOf is where a row is in the view, or the one before it where it is not.
function indexOf(row) {
  const k = lowerBound(V.rows, row + 1) - 1;
  return Math.max(0, Math.min(k, V.n - 1));
}
const isShown = (row) => V.n > 0 && V.rows[indexOf(row)] <= row && row <= V.last[indexOf(row)];

// searchFrames looks for the text in the frames themselves, block by block.
let searching = 0;
async function searchFrames(progress) {
  const mine = ++searching;
  F.found = null;
  if (!F.whole || !F.text) return;
  const text = F.text.toLowerCase(), found = new Uint8Array(H.rows);
  for (let b = 0; b < H.blocks.length; b++) {
    const list = await block(b);
    if (mine !== searching) return;
    list.forEach((d, i) => {
      if (d.b.toLowerCase().includes(text) || d.o && d.o.toLowerCase().includes(text)) found[H.blocks[b] + i] = 1;
    });
    if (b % 16 === 0) {
      progress(b / H.blocks.length);
      await new Promise((go) => setTimeout(go));
    }
  }
  if (mine !== searching) return;
  F.found = found;
  applyFilter();
}

function startFilter() {
  const counts = new Map();
  for (let i = 0; i < H.rows; i++) {
    const m = C.update[i] || C.method[i];
    if (m) counts.set(m, (counts.get(m) || 0) + 1);
  }
  option('method', '', 'All methods');
  for (const [m, n] of [...counts].sort((a, b) => b[1] - a[1]).slice(0, 200)) option('method', S[m], `${S[m]} (${num(n)})`);
  option('session', '', 'All sessions');
  sessions.forEach((s, i) => option('session', S[s], `s${i + 1} · ${S[s].slice(0, 60)}`));
  for (const [v, t] of [['', 'Both directions'], ['client', 'From the client'], ['toclient', 'To the client'], ['agent', 'From agents'], ['toagent', 'To agents'], ['shim', 'Made by the shim']]) option('direction', v, t);
  for (const [v, t] of [[0, 'Any duration'], [1e7, '≥ 10 ms'], [1e8, '≥ 100 ms'], [5e8, '≥ 500 ms'], [1e9, '≥ 1 s'], [1e10, '≥ 10 s']]) option('slow', v, t);
  for (const id of ['method', 'session', 'direction', 'slow']) {
    $(id).addEventListener('change', () => {
      F[id] = id === 'slow' ? Number($(id).value) : $(id).value;
      $(id).classList.toggle('on', $(id).selectedIndex > 0);
      applyFilter();
    });
  }
  for (const id of ['errors', 'changed', 'lost', 'events', 'fold']) {
    $(id).addEventListener('click', () => toggle(id));
  }
  const search = debounce(120, () => {
    F.text = $('search').value.trim();
    F.found = null;
    applyFilter();
    searchFrames((x) => { $('count').textContent = `searching frames, ${Math.round(x * 100)} %`; });
  });
  $('search').addEventListener('input', search);
  $('whole').addEventListener('click', () => {
    F.whole = !F.whole;
    $('whole').setAttribute('aria-pressed', F.whole);
    search();
  });
  $('clear').addEventListener('click', clearFilter);
}

function option(id, value, text) {
  const o = el('option', '', visible(text));
  o.value = value;
  $(id).append(o);
}

function toggle(id) {
  F[id] = !F[id];
  $(id).setAttribute('aria-pressed', F[id]);
  applyFilter();
}

function clearFilter() {
  Object.assign(F, { text: '', whole: false, found: null, method: '', session: '', direction: '', slow: 0, errors: false, changed: false, lost: false, events: true, from: -Infinity, to: Infinity });
  $('search').value = '';
  $('whole').setAttribute('aria-pressed', false);
  for (const id of ['method', 'session', 'direction', 'slow']) {
    $(id).selectedIndex = 0;
    $(id).classList.remove('on');
  }
  for (const id of ['errors', 'changed', 'lost', 'events']) $(id).setAttribute('aria-pressed', F[id]);
  applyFilter();
}

const filtered = () => F.text || F.method || F.session || F.direction || F.slow || F.errors || F.changed || F.lost || !F.events || F.from > -Infinity || F.to < Infinity;

function setRange(from, to) {
  F.from = from;
  F.to = to;
  applyFilter();
}
