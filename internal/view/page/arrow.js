// arrow.js: the lifelines, and the arrow of a row between them.

const lanes = { x: [], width: 0, gap: 0, byLane: [] };

// layLanes places the lifelines for a list of that width.
function layLanes(listWidth, small) {
  const n = 2 + H.lanes, pad = small ? 12 : 30;
  const room = Math.min(listWidth * (small ? 0.32 : 0.38), 480) - 2 * pad;
  const gap = Math.max(small ? 14 : 24, Math.min(96, room / Math.max(1, n - 1)));
  lanes.gap = gap;
  lanes.x = Array.from({ length: n }, (_, i) => Math.round(pad + i * gap) + 0.5);
  lanes.width = Math.round(2 * pad + (n - 1) * gap);
  lanes.byLane = Array.from({ length: H.lanes }, () => []);
  H.agents.forEach((a, i) => lanes.byLane[a.lane].push({ first: a.first, last: a.last < 0 ? Infinity : a.last, i }));
}

// inLane is the agent that has a lane at a row, or else the nearest one.
function inLane(lane, row) {
  const list = lanes.byLane[lane];
  let a = 0, b = list.length - 1;
  while (a < b) {
    const m = (a + b + 1) >> 1;
    if (list[m].first <= row) a = m; else b = m - 1;
  }
  return list[a];
}

const laneOf = (p) => p === CLIENT ? 0 : p === SHIM ? 1 : p >= AGENTS ? 2 + H.agents[p - AGENTS].lane : 1;

function newArrow() {
  const s = svg('svg', { class: 'band', 'aria-hidden': 'true' });
  const parts = {}, now = {};
  for (const name of ['dead', 'live', 'line', 'head', 'mark']) {
    parts[name] = svg('path', { class: 'a-' + name });
    s.append(parts[name]);
  }
  return { svg: s, parts, now };
}

// tone says how a row is drawn: by what the shim did first, then by the kind.
function tone(row) {
  const f = C.flags[row];
  if (C.kind[row] === EVENT) return f & FAILED ? 'event bad' : 'event';
  if (f & FAILED) return 'bad';
  if (f & CHANGED) return 'changed';
  if (f & REPLAYED) return 'gone';
  if (f & HELD) return 'held';
  if (f & LOST) return 'gone';
  if (f & MADE) return 'made';
  return 'plain';
}

function drawArrow(a, row, height) {
  // Most rows look like the one that was here: only what differs is set.
  const set = (name, d) => {
    if (a.now[name] === d) return;
    a.now[name] = d;
    a.parts[name].setAttribute('d', d);
  };
  const own = (name, v) => {
    if (a.now[name] === v) return;
    a.now[name] = v;
    a.svg.setAttribute(name, v);
  };
  const x = lanes.x, mid = Math.round(height / 2) + 0.5;
  own('width', lanes.width);
  own('height', height);
  let live = '', dead = '';
  for (let i = 0; i < x.length; i++) {
    let on = true, top = 0, end = height;
    if (i >= 2) {
      const g = inLane(i - 2, row);
      on = g && g.first <= row && row <= g.last;
      if (on && g.first === row) top = mid;
      if (on && g.last === row) end = mid;
    }
    if (on) live += `M${x[i]} ${top}V${end}`;
    else dead += `M${x[i]} 0V${height}`;
  }
  set('live', live);
  set('dead', dead);
  const f = C.flags[row], kind = C.kind[row];
  let line = '', head = '', mark = '';
  if (kind === EVENT) {
    const at = C.from[row] >= AGENTS ? x[laneOf(C.from[row])] : x[1];
    const what = S[C.method[row]];
    if (what === 'exit') mark = `M${at - 4} ${mid - 4}l8 8m0 -8l-8 8`;
    else if (what === 'spawn') mark = `M${at - 4} ${mid}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z`;
    else mark = `M${at - 3.5} ${mid - 3.5}h7v7h-7z`;
    own('class', 'band ' + tone(row) + ' ev-' + (what === 'exit' ? 'exit' : 'note'));
  } else {
    const made = f & AGAIN || C.from[row] === SHIM;
    const from = made ? x[1] : x[laneOf(C.from[row])];
    let to = x[laneOf(C.to[row])];
    const stopped = f & LOST || to === from;
    if (stopped) to = from === x[1] ? x[1] + (C.from[row] === CLIENT ? -lanes.gap / 2 : lanes.gap / 2) : x[1];
    const dir = to > from ? 1 : -1;
    const short = f & LOST ? 7 : 0;
    line = `M${from} ${mid}H${to - dir * (short || 2)}`;
    if (f & HELD) mark = `M${to - dir * 6} ${mid - 5}v10m${dir * 4} -10v10`;
    else if (f & LOST) mark = `M${to - dir * 6 - 4} ${mid - 4}l8 8m0 -8l-8 8`;
    else if (kind === NOTIFICATION) head = `M${to - dir * 7} ${mid - 4}L${to - dir} ${mid}L${to - dir * 7} ${mid + 4}`;
    else head = `M${to - dir * 8} ${mid - 4}L${to - dir * 0.5} ${mid}L${to - dir * 8} ${mid + 4}z`;
    const crosses = (from - x[1]) * (to - x[1]) < 0;
    if (f & CHANGED) mark += `M${x[1] - 5} ${mid}l5 -5l5 5l-5 5z`;
    else if (made) mark += `M${from - 3} ${mid}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`;
    else if (!(f & LOST) && crosses) mark += `M${x[1] - 1.5} ${mid}a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0 -3 0z`;
    own('class', 'band ' + tone(row) + ' k-' + KIND[kind] + (f & (LOST | HELD) ? ' stop' : ''));
  }
  set('line', line);
  set('head', head);
  set('mark', mark);
}
