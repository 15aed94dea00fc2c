// diff.js: what the shim changed in a frame, line by line.

// compare gives [sign, text] of two lists of lines: ' ', '-' or '+'. A comma at the end
// is no difference: it comes with a line that follows.
function compare(a, b) {
  const bare = (list) => list.map((t) => t.endsWith(',') ? t.slice(0, -1) : t);
  return lineUp(bare(a), bare(b));
}

function lineUp(a, b) {
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const out = a.slice(0, head).map((t) => [' ', t]);
  if (x.length * y.length > 4e6) {
    for (const t of x) out.push(['-', t]);
    for (const t of y) out.push(['+', t]);
  } else {
    // The longest common subsequence.
    const w = y.length + 1, m = new Uint32Array((x.length + 1) * w);
    for (let i = x.length - 1; i >= 0; i--) {
      for (let j = y.length - 1; j >= 0; j--) {
        m[i * w + j] = x[i] === y[j] ? m[(i + 1) * w + j + 1] + 1 : Math.max(m[(i + 1) * w + j], m[i * w + j + 1]);
      }
    }
    let i = 0, j = 0;
    while (i < x.length || j < y.length) {
      if (i < x.length && j < y.length && x[i] === y[j]) { out.push([' ', x[i++]]); j++; }
      else if (i < x.length && (j >= y.length || m[(i + 1) * w + j] >= m[i * w + j + 1])) out.push(['-', x[i++]]);
      else out.push(['+', y[j++]]);
    }
  }
  for (let i = a.length - tail; i < a.length; i++) out.push([' ', a[i]]);
  return out;
}

const CONTEXT = 2, WIDE = 400;

// difference shows before and after of a changed frame.
function difference(d) {
  const box = el('div', 'diff');
  let lines = null;
  try {
    if (d.o.length < 1 << 20 && d.b.length < 1 << 20) lines = compare(pretty(parseJSON(d.o)), pretty(parseJSON(d.b)));
  } catch { /* one of them is no JSON: then the splices alone */ }
  if (!lines) {
    for (const e of d.e) {
      if (e.old) box.append(diffLine('-', e.old));
      if (e.new) box.append(diffLine('+', e.new));
    }
    return box;
  }
  const near = new Uint8Array(lines.length);
  lines.forEach((l, i) => {
    if (l[0] === ' ') return;
    for (let k = Math.max(0, i - CONTEXT); k <= Math.min(lines.length - 1, i + CONTEXT); k++) near[k] = 1;
  });
  let skipped = 0;
  const flush = () => {
    if (skipped) box.append(el('div', 'dskip', plural(skipped, 'line') + ' alike'));
    skipped = 0;
  };
  lines.forEach((l, i) => {
    if (!near[i]) { skipped++; return; }
    flush();
    box.append(diffLine(l[0], l[1]));
  });
  flush();
  if (!lines.some((l) => l[0] !== ' ')) box.append(el('div', 'dskip', 'only white space or the order of bytes differs'));
  return box;
}

function diffLine(sign, text) {
  const line = el('div', sign === '-' ? 'dl del' : sign === '+' ? 'dl add' : 'dl');
  line.append(el('span', 'sign', sign === ' ' ? '\u00a0' : sign === '-' ? '−' : '+'), el('span', '', visible(text.length > WIDE ? text.slice(0, WIDE) + '…' : text)));
  return line;
}
