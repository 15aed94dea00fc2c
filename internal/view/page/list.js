// list.js: a list of any length of which only what can be seen exists, and the
// sequence diagram that is made with it.

// Browsers end at some tens of millions of pixels; beyond this height the
// scroll bar stands for more than a pixel a pixel.
const TALLEST = 8e6;

class VirtualList {
  constructor(box, { height, make, fill, seen }) {
    Object.assign(this, { box, height, make, fill, seen, n: 0, version: 0, pool: [], top: 0 });
    this.pad = el('div', 'pad');
    this.pad.setAttribute('role', 'presentation');
    box.append(this.pad);
    box.addEventListener('scroll', () => this.soon(), { passive: true });
    new ResizeObserver(() => this.soon()).observe(box);
  }

  set(n) {
    this.n = n;
    this.version++;
    const full = n * this.height;
    this.shown = Math.min(full, TALLEST);
    this.pad.style.height = this.shown + 'px';
    this.soon();
  }

  // factor is how many pixels of the list a pixel of the scroll bar stands for.
  factor() {
    const view = this.box.clientHeight, full = this.n * this.height;
    return full > TALLEST ? (full - view) / (this.shown - view) : 1;
  }

  soon() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.draw();
    });
  }

  draw() {
    const view = this.box.clientHeight;
    if (!view) return;
    const scroll = this.box.scrollTop, top = scroll * this.factor();
    const first = Math.max(0, Math.floor(top / this.height) - 4);
    const end = Math.min(this.n, Math.ceil((top + view) / this.height) + 4);
    const need = end - first;
    if (this.pool.length < need || this.pool.length > need + 64) {
      while (this.pool.length < need + 8) {
        const node = this.make();
        this.pad.append(node.el);
        this.pool.push(node);
      }
      while (this.pool.length > need + 64) this.pool.pop().el.remove();
      for (const node of this.pool) node.i = -1;
    }
    const size = this.pool.length;
    for (const node of this.pool) node.used = false;
    for (let i = first; i < end; i++) {
      const node = this.pool[i % size];
      node.used = true;
      if (node.i !== i || node.version !== this.version) {
        node.i = i;
        node.version = this.version;
        this.fill(node, i);
      }
      const y = Math.round(i * this.height - top + scroll);
      if (node.y !== y) {
        node.y = y;
        node.el.style.transform = `translateY(${y}px)`;
      }
      if (node.hidden) { node.el.hidden = false; node.hidden = false; }
    }
    for (const node of this.pool) {
      if (!node.used && !node.hidden) { node.el.hidden = true; node.hidden = true; node.i = -1; }
    }
    this.first = Math.min(this.n - 1, Math.floor(top / this.height));
    this.last = Math.min(this.n - 1, Math.floor((top + view) / this.height));
    if (this.seen) this.seen();
  }

  // show scrolls as little as it takes for an index to be seen; centre puts it there.
  show(i, centre) {
    const view = this.box.clientHeight, f = this.factor();
    const y = i * this.height, top = this.box.scrollTop * f;
    if (centre && (y < top || y + this.height > top + view)) this.box.scrollTop = (y - view / 2) / f;
    else if (y < top) this.box.scrollTop = y / f;
    else if (y + this.height > top + view) this.box.scrollTop = (y + this.height - view) / f;
    this.soon();
  }
}

const narrow = matchMedia('(max-width: 720px)');
let sequence, selected = -1;
const selectedChanged = [];

function startSequence() {
  const box = $('list');
  sequence = new VirtualList(box, {
    height: narrow.matches ? 46 : 26,
    make: newRow,
    fill: fillRow,
    seen: () => { laneHeads(); drawSoon(); },
  });
  const lay = () => {
    layLanes(box.clientWidth, narrow.matches);
    document.documentElement.style.setProperty('--band', lanes.width + 'px');
    sequence.height = narrow.matches ? 46 : 26;
    sequence.set(V.n);
  };
  new ResizeObserver(lay).observe(box);
  narrow.addEventListener('change', lay);
  lay();
  filterChanged.push(() => {
    sequence.set(V.n);
    $('empty').hidden = V.n > 0;
    if (selected >= 0 && isShown(selected)) sequence.show(indexOf(selected), true);
  });
  box.addEventListener('click', (e) => {
    const r = e.target.closest('.row');
    if (!r) return;
    const node = sequence.pool.find((x) => x.el === r);
    if (node && node.i >= 0) {
      select(V.rows[node.i]);
      openDetail();
    }
  });
}

function newRow() {
  const node = { el: el('div', 'row') };
  node.el.setAttribute('role', 'option');
  node.time = el('span', 'c-time');
  node.delta = el('span', 'c-delta');
  node.arrow = newArrow();
  const band = el('span', 'c-band');
  band.append(node.arrow.svg);
  const text = el('span', 'c-text');
  node.name = el('b', 'name');
  node.tags = el('span', 'tags');
  node.gist = el('span', 'gist');
  text.append(node.name, node.tags, node.gist);
  node.took = el('span', 'c-took');
  node.el.append(node.time, node.delta, band, text, node.took);
  return node;
}

function fillRow(node, i) {
  const row = V.rows[i], last = V.last[i], f = C.flags[row];
  const before = i > 0 ? C.t[row] - C.t[V.last[i - 1]] : 0;
  node.el.id = 'r' + i;
  node.el.className = 'row ' + tone(row) + ' k-' + KIND[C.kind[row]] + (before >= 5e8 ? ' pause' : '') + (row <= selected && selected <= last ? ' sel' : '');
  node.el.setAttribute('aria-selected', row <= selected && selected <= last);
  node.el.setAttribute('aria-posinset', i + 1);
  node.el.setAttribute('aria-setsize', V.n);
  node.time.textContent = stamp(row);
  node.delta.textContent = before >= 1e6 ? '+' + dur(before) : '';
  drawArrow(node.arrow, row, sequence ? sequence.height : 26);
  node.name.textContent = nameOf(row);
  const tags = [];
  if (f & CHANGED) tags.push('changed');
  if (f & MADE && C.why[row] === 0) tags.push('by the shim');
  if (C.why[row]) tags.push(S[C.why[row]]);
  if (f & AGAIN) tags.push('released');
  if (sessions.length > 1 && C.session[row]) tags.push('s' + (sessionNumber.get(C.session[row]) + 1));
  node.tags.textContent = tags.join(' · ');
  node.tags.hidden = !tags.length;
  if (last !== row) {
    let text = '';
    for (let k = row; k <= last && text.length < 180; k++) if (k === row || alike(row, k)) text += (k > row && C.kind[k] === EVENT ? ' ↵ ' : '') + S[C.gist[k]];
    const took = C.t[last] - C.t[row], n = V.count[i];
    node.gist.textContent = `${num(n)} × ${text}`;
    node.took.textContent = took > 0 ? `${dur(took)}` : '';
  } else {
    node.gist.textContent = S[C.gist[row]];
    node.took.textContent = C.took[row] > 0 && C.kind[row] === RESPONSE ? dur(C.took[row]) : '';
  }
  node.took.className = 'c-took' + (C.took[row] >= 1e9 && last === row ? ' slow' : '');
  const who = C.kind[row] === EVENT ? (C.from[row] ? peer(C.from[row]) : 'shim') : peer(C.from[row]) + ' to ' + peer(C.to[row]);
  node.el.setAttribute('aria-label', `${stamp(row)} s, ${who}, ${KIND[C.kind[row]]} ${nameOf(row)}${tags.length ? ', ' + tags.join(', ') : ''}: ${node.gist.textContent}`);
}

// laneHeads names the lifelines above the list.
let laneNames = '';
function laneHeads() {
  const row = V.n ? V.rows[Math.max(0, sequence.first)] : 0;
  const until = V.n ? V.last[Math.max(0, sequence.last)] : 0;
  const names = ['client', 'shim'];
  for (let i = 0; i < H.lanes; i++) {
    const now = inLane(i, row), later = inLane(i, until);
    const a = now && now.last >= row && now.first <= until ? now : later;
    names.push(a ? H.agents[a.i].name : '');
  }
  const key = names.join() + lanes.width;
  if (key === laneNames) return;
  laneNames = key;
  const head = $('lanes');
  head.textContent = '';
  names.forEach((n, i) => {
    const tight = lanes.gap < 62;
    const label = el('span', 'lane' + (i === 1 ? ' shim' : ''), tight ? n.replace('agent', '').replace('client', 'C').replace('shim', 'S') : n);
    label.title = n;
    label.style.left = lanes.x[i] + 'px';
    head.append(label);
  });
}

// select makes a row the selected one, and lets it be seen.
function select(row, centre = true) {
  if (row < 0 || row >= H.rows) return;
  if (!isShown(row)) {
    clearFilter();
    say('The filter was cleared to show it.');
  }
  selected = row;
  const i = indexOf(row);
  sequence.version++;
  sequence.show(i, centre);
  sequence.draw();
  $('list').setAttribute('aria-activedescendant', 'r' + i);
  for (const f of selectedChanged) f();
}

// step moves the selection in the view.
function step(by) {
  if (!V.n) return;
  let i = Math.abs(by) < V.n && (selected < 0 || !isShown(selected)) ? (by > 0 ? (sequence.first || 0) : V.n - 1) : indexOf(selected) + by;
  i = Math.max(0, Math.min(V.n - 1, i));
  select(V.rows[i], false);
}
