// detail.js: one frame, as it was sent, and what the shim made of it.

let detailRow = -1;

async function openDetail() {
  if (selected < 0) return;
  const row = selected;
  detailRow = row;
  const box = $('detail');
  const was = box.hidden;
  box.hidden = false;
  document.body.classList.add('with-detail');
  if (was && sequence) sequence.show(indexOf(row), false);
  const d = await detailOf(row);
  if (detailRow !== row) return;
  box.textContent = '';
  box.scrollTop = 0;
  box.append(detailHead(row), ...facts(row, d));
  if (d.o !== undefined && d.e) {
    box.append(part('What the shim changed', difference(d)));
  }
  if (d.t) {
    const text = el('div');
    longText(text, d.t);
    box.append(part('Text', text));
  }
  if (d.b) box.append(frame(row, d));
}

function closeDetail() {
  detailRow = -1;
  $('detail').hidden = true;
  $('detail').textContent = '';
  document.body.classList.remove('with-detail');
  $('list').focus();
}

function detailHead(row) {
  const head = el('header');
  const title = el('h2', '', nameOf(row));
  title.id = 'detail-title';
  const close = el('button', 'quiet close', 'Close');
  close.addEventListener('click', closeDetail);
  head.append(title, close);
  return head;
}

function part(title, content, ...buttons) {
  const s = el('section', 'part');
  const h = el('div', 'part-head');
  h.append(el('h3', '', title), ...buttons);
  s.append(h, content);
  return s;
}

// facts are what is known of the row beside its text.
function facts(row, d) {
  const f = C.flags[row], kind = C.kind[row];
  const way = el('p', 'way');
  way.append(el('span', 'seq', '#' + C.seq[row]));
  if (kind === EVENT) {
    way.append('event', C.from[row] ? ' of ' + peer(C.from[row]) : '');
  } else {
    way.append(el('b', '', peer(C.from[row])), ' → ', el('b', '', peer(C.to[row])), ' · ' + KIND[kind]);
  }
  const tags = [];
  if (f & FAILED) tags.push(['bad', kind === RESPONSE ? 'error' : 'trouble']);
  if (f & CHANGED) tags.push(['changed', 'changed']);
  if (f & MADE) tags.push(['made', 'made by the shim']);
  if (f & LOST) tags.push(['gone', f & HELD ? 'held' : 'nobody received it']);
  if (f & AGAIN) tags.push(['plain', 'released']);
  if (f & REPLAYED) tags.push(['gone', 'history']);
  const list = el('dl', 'facts-list');
  const fact = (name, ...value) => {
    const v = el('dd');
    v.append(...value);
    list.append(el('dt', '', name), v);
  };
  fact('Time', `${(timeOf(row) / 1e9).toFixed(6)} s`);
  if (C.method[row] && C.update[row]) fact('Method', S[C.method[row]]);
  if (C.session[row]) {
    const b = el('button', 'link', visible(S[C.session[row]]));
    b.title = 'show this session only';
    b.addEventListener('click', () => {
      F.session = S[C.session[row]];
      $('session').value = F.session;
      $('session').classList.add('on');
      applyFilter();
    });
    fact('Session', b);
  }
  if (d.i) fact('Id', visible(d.i));
  if (C.why[row]) fact('Why', S[C.why[row]]);
  if (kind !== EVENT) fact('Size', bytes(C.bytes[row]));
  const jump = (to, text) => {
    const b = el('button', 'link', text);
    b.addEventListener('click', () => { select(to); openDetail(); });
    return b;
  };
  if (C.partner[row] >= 0) {
    const p = C.partner[row], took = C.took[row];
    fact(kind === RESPONSE ? 'Answers' : 'Answer', jump(p, `#${C.seq[p]} ${nameOf(p)}`), took > 0 ? ` ${kind === RESPONSE ? 'after' : 'in'} ${dur(took)}` : '');
  } else if (kind === REQUEST && !(f & HELD)) {
    fact('Answer', 'none is here');
  }
  if (C.held[row] >= 0) {
    const h = C.held[row];
    fact(f & AGAIN ? 'Came' : 'Went on', jump(h, `#${C.seq[h]}`), ` ${dur(Math.abs(C.t[h] - C.t[row]))} ${f & AGAIN ? 'before' : 'later'}`);
  }
  const out = [way];
  if (tags.length) {
    const t = el('p', 'badges');
    for (const [cls, text] of tags) t.append(el('span', 'badge ' + cls, text));
    out.push(t);
  }
  out.push(list);
  return out;
}

function frame(row, d) {
  let node = null;
  if (d.j) {
    try { node = parseJSON(d.b); } catch { /* shown as text */ }
  }
  const content = el('div', 'json');
  if (node) {
    const t = tree(node);
    if (t.tagName === 'DETAILS') t.open = true;
    content.append(t);
  } else {
    longText(content, d.b);
  }
  if (d.s) content.append(el('p', 'hint', `The page has the first ${bytes(8 << 20)} of ${bytes(d.s)}.`));
  const buttons = [];
  if (node) {
    const all = el('button', 'quiet', 'Expand');
    all.addEventListener('click', () => {
      const open = all.textContent === 'Expand';
      let n = 0;
      // What is opened makes more that is to be opened.
      for (let list = [...content.querySelectorAll('details')]; list.length && n < 2000;) {
        for (const x of list) {
          if (x.open !== open && (open || x.parentElement !== content)) x.open = open;
          n++;
          x.dispatchEvent(new Event('toggle'));
        }
        list = open ? [...content.querySelectorAll('details:not([open])')] : [];
      }
      all.textContent = open ? 'Collapse' : 'Expand';
    });
    buttons.push(all);
  }
  if (navigator.clipboard) {
    const copy = el('button', 'quiet', 'Copy');
    copy.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(d.b);
        copy.textContent = 'Copied';
      } catch {
        copy.textContent = 'Not allowed';
      }
    });
    buttons.push(copy);
  }
  const name = C.kind[row] === EVENT ? (d.j ? 'Data' : 'Text') : C.flags[row] & LOST ? 'Frame, as it came' : 'Frame, as it was sent';
  return part(name, content, ...buttons);
}
