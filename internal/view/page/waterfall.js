// waterfall.js: turns, tools, waits and restores, each a bar over time.

let falls, spansShown = [];

// span of the axis that is looked at.
function lookedAt() {
  const a = F.from > -Infinity ? place(F.from) : 0, b = F.to < Infinity ? place(F.to) : axis.total;
  return b > a ? [a, b] : [0, axis.total];
}

function startWaterfall() {
  falls = new VirtualList($('spans'), { height: 26, make: newFall, fill: fillFall });
  filterChanged.push(setFalls);
  selectedChanged.push(() => { falls.version++; falls.soon(); });
  $('spans').addEventListener('click', (e) => {
    const r = e.target.closest('.fall');
    const node = r && falls.pool.find((x) => x.el === r);
    if (!node) return;
    const s = spansShown[node.i];
    if (s.row >= 0) {
      select(s.row);
      openDetail();
    }
  });
  new ResizeObserver(ticks).observe($('ticks'));
  setFalls();
}

function setFalls() {
  const text = F.text.toLowerCase();
  spansShown = H.spans.filter((s) => (!F.session || s.session === F.session) && s.to >= F.from && s.from <= F.to &&
    (!text || (s.label + s.kind + s.status).toLowerCase().includes(text)) && (!F.slow || s.to - s.from >= F.slow) && (!F.errors || /error|failed/.test(s.status || '')));
  $('nospans').hidden = spansShown.length > 0;
  falls.set(spansShown.length);
  ticks();
}

function ticks() {
  const box = $('ticks'), wide = box.clientWidth;
  if (!wide) return;
  box.textContent = '';
  const [a, b] = lookedAt();
  for (let px = 0; px < wide - 40; px += 100) {
    const t = el('span', 'tick', shortTime(when(a + (b - a) * px / wide)));
    t.style.left = px + 'px';
    box.append(t);
  }
}

function newFall() {
  const node = { el: el('div', 'fall'), segments: [] };
  node.el.setAttribute('role', 'option');
  node.name = el('span', 'w-name');
  node.kind = el('span', 'w-kind');
  node.label = el('span', 'w-label');
  node.name.append(node.kind, node.label);
  node.bars = el('span', 'w-bars');
  for (const cls of ['wait', 'first', 'rest']) {
    const s = el('i', 'seg ' + cls);
    node.segments.push(s);
    node.bars.append(s);
  }
  node.took = el('span', 'w-took');
  node.bars.append(node.took);
  node.el.append(node.name, node.bars);
  return node;
}

function fillFall(node, i) {
  const s = spansShown[i], [a, b] = lookedAt();
  const x = (t) => Math.max(0, Math.min(100, (place(t) - a) / (b - a) * 100));
  const bad = /^error|failed/.test(s.status || '');
  node.el.id = 'w' + i;
  node.el.className = `fall w-${s.kind}` + (bad ? ' bad' : '') + (s.open ? ' open' : '') + (s.row >= 0 && s.row === selected ? ' sel' : '');
  node.el.setAttribute('aria-selected', s.row >= 0 && s.row === selected);
  node.kind.textContent = s.kind;
  node.label.textContent = s.label || s.kind;
  const edges = s.kind === 'turn' ? [s.from, s.sent || s.from, s.first || s.to, s.to] : [s.from, s.from, s.from, s.to];
  for (let k = 0; k < 3; k++) {
    const from = x(edges[k]), to = x(edges[k + 1]);
    node.segments[k].style.left = from + '%';
    node.segments[k].style.width = Math.max(0, to - from) + '%';
    node.segments[k].hidden = edges[k + 1] <= edges[k] && k < 2;
  }
  const end = x(s.to), text = dur(s.to - s.from) + (s.open ? ' and more' : '') + (s.status ? ' · ' + s.status : '');
  node.took.textContent = text;
  const left = end > 66;
  node.took.classList.toggle('before', left);
  node.took.style.left = left ? 'auto' : `calc(${end}% + 6px)`;
  node.took.style.right = left ? `calc(${100 - x(s.from)}% + 6px)` : 'auto';
  if (left && x(s.from) < 34) {
    node.took.style.right = 'auto';
    node.took.style.left = '6px';
    node.took.classList.add('inside');
  } else {
    node.took.classList.remove('inside');
  }
  const parts = s.kind === 'turn' && s.first ? `, first chunk after ${dur(s.first - (s.sent || s.from))}` : '';
  node.el.title = `${s.kind}: ${s.label}\n${text}${parts}`;
  node.el.setAttribute('aria-label', `${s.kind} ${s.label}, at ${shortTime(s.from)}, ${text}${parts}`);
}
