// json.js: JSON as it was sent. The browser's own parser would lose what matters
// here: the text of numbers, names that are given twice, the order of names.

// parseJSON makes nodes {k: kind, v: text or children}. It throws on what is no JSON.
function parseJSON(text) {
  let at = 0, hold = null;
  const plain = /[^\s{}[\]:,"]+/gy;
  // next is a token: a sign, a string or another scalar. Strings are searched for
  // their end by hand: a regular expression runs out of stack in one of megabytes.
  function next() {
    while (at < text.length && ' \t\r\n'.includes(text[at])) at++;
    const c = text[at];
    if (c === undefined) throw new Error('no JSON');
    if (c === '"') {
      for (let end = at + 1; ;) {
        end = text.indexOf('"', end);
        if (end < 0) throw new Error('no JSON');
        let slashes = 0;
        while (text[end - 1 - slashes] === '\\') slashes++;
        if (slashes % 2 === 0) {
          hold = text.slice(at, end + 1);
          at = end + 1;
          return '"';
        }
        end++;
      }
    }
    if ('{}[]:,'.includes(c)) {
      at++;
      return c;
    }
    plain.lastIndex = at;
    hold = plain.exec(text)[0];
    at += hold.length;
    return 'x';
  }
  const root = { k: 'root', v: [] };
  const stack = [root];
  let name = null;
  for (;;) {
    const top = stack[stack.length - 1];
    if (top === root && root.v.length) return root.v[0];
    const m = next();
    const put = (node) => {
      node.n = name;
      name = null;
      top.v.push(node);
    };
    if (m === '{' || m === '[') {
      const node = { k: m, v: [], a: at - 1, of: text };
      put(node);
      stack.push(node);
    } else if (m === '}' || m === ']') {
      if (stack.length < 2) throw new Error('no JSON');
      stack.pop().z = at;
    } else if (m === '"' && top.k === '{' && name === null) {
      name = hold;
      if (next() !== ':') throw new Error('no JSON');
    } else if (m !== ',') {
      put({ k: m, v: hold });
    }
  }
}

// pretty are the lines of a node, for a comparison.
function pretty(node, indent = '', tail = '', lines = []) {
  const head = indent + (node.n ? node.n + ': ' : '');
  if (node.k === '{' || node.k === '[') {
    const end = node.k === '{' ? '}' : ']';
    if (!node.v.length) {
      lines.push(head + node.k + end + tail);
    } else {
      lines.push(head + node.k);
      node.v.forEach((c, i) => pretty(c, indent + '  ', i < node.v.length - 1 ? ',' : '', lines));
      lines.push(indent + end + tail);
    }
  } else {
    lines.push(head + node.v + tail);
  }
  return lines;
}

// What nests deeper than DEEP is shown as text: a browser lays out nothing so deep.
const FEW = 100, LONG = 600, DEEP = 40;

// tree shows a node, its children as they are opened.
function tree(node, last = true, depth = 0) {
  const line = el('div', 'jl');
  if (node.n) {
    line.append(el('span', 'jk', visible(node.n.length > 200 ? node.n.slice(0, 200) + '…' : node.n)), el('span', 'jp', ': '));
  }
  const comma = last ? '' : ',';
  if (depth >= DEEP && node.v.length && node.k !== '"' && node.k !== 'x') {
    node = { k: 'x', v: node.of.slice(node.a, node.z) };
  }
  if (node.k !== '{' && node.k !== '[') {
    scalar(line, node);
    line.append(el('span', 'jp', comma));
    return line;
  }
  const end = node.k === '{' ? '}' : ']';
  if (!node.v.length) {
    line.append(el('span', 'jp', node.k + end + comma));
    return line;
  }
  const box = el('details', 'jn');
  const head = el('summary');
  const count = el('span', 'jc', ` ${node.v.length} ${node.k === '{' ? (node.v.length === 1 ? 'member' : 'members') : (node.v.length === 1 ? 'element' : 'elements')} ${end}${comma}`);
  head.append(...line.childNodes, el('span', 'jp', node.k), count);
  box.append(head);
  const fill = () => {
    if (box.childElementCount > 1) return;
    const body = el('div', 'jb');
    box.append(body, el('div', 'jp', end + comma));
    const some = (from) => {
      const to = Math.min(node.v.length, from + FEW);
      for (let i = from; i < to; i++) body.append(tree(node.v[i], i === node.v.length - 1, depth + 1));
      if (to < node.v.length) {
        const b = el('button', 'more', `${node.v.length - to} more`);
        b.addEventListener('click', () => { b.remove(); some(to); });
        body.append(b);
      }
    };
    some(0);
  };
  box.addEventListener('toggle', () => box.open && fill());
  if (depth < 5 && node.v.length <= 40) {
    fill();
    box.open = true;
  }
  return box;
}

function scalar(line, node) {
  const cls = node.k === '"' ? 'js' : /^-?\d/.test(node.v) ? 'jd' : 'jx';
  const span = el('span', cls, visible(node.v.length > LONG ? node.v.slice(0, LONG) + '…' : node.v));
  line.append(span);
  const worth = node.k === '"' && (node.v.length > LONG || /\\n/.test(node.v));
  if (!worth) return;
  const b = el('button', 'more', node.v.length > LONG ? `text, ${bytes(node.v.length)}` : 'text');
  b.title = 'show it as text';
  b.addEventListener('click', () => {
    let text = node.v;
    try { text = JSON.parse(node.v); } catch { /* then as it is */ }
    b.remove();
    longText(line, text);
  });
  line.append(' ', b);
}

const PIECE = 100000;

// longText shows text piece by piece: megabytes at once would stop the page.
function longText(into, text) {
  const pre = el('pre', 'text', visible(text.slice(0, PIECE)));
  pre.tabIndex = 0;
  into.append(pre);
  let at = PIECE;
  if (text.length <= at) return;
  const b = el('button', 'more', `${bytes(text.length - at)} more`);
  b.addEventListener('click', () => {
    pre.append(visible(text.slice(at, at + PIECE)));
    at += PIECE;
    if (at >= text.length) b.remove();
    else b.textContent = `${bytes(text.length - at)} more`;
  });
  into.append(b);
}
