// main.js: begins the page.

const TABS = ['sequence', 'waterfall', 'charts'];
const sessions = [], sessionNumber = new Map();

function tab(name) {
  for (const t of TABS) {
    $(t).hidden = t !== name;
    $('tab-' + t).setAttribute('aria-selected', t === name);
    $('tab-' + t).tabIndex = t === name ? 0 : -1;
  }
  if (name === 'sequence') sequence.soon();
  if (name === 'waterfall') { ticks(); falls.version++; falls.soon(); }
  if (name === 'charts') drawCharts();
  drawSoon();
}

function squeeze() {
  axis.squeeze = !axis.squeeze;
  buildAxis();
  stripPicture = null;
  drawSoon();
  setFalls();
  drawCharts();
  $('squeeze').setAttribute('aria-pressed', axis.squeeze);
  $('squeeze').textContent = axis.squeeze ? 'Idle squeezed' : 'Time to scale';
  say(axis.squeeze ? 'Idle time is squeezed.' : 'Time is to scale.');
}

let saying = 0;
function say(text) {
  $('count').textContent = text;
  clearTimeout(saying);
  saying = setTimeout(counts, 2500);
}

function counts() {
  $('count').textContent = V.lines === H.rows ? plural(H.rows, 'line') : `${num(V.lines)} of ${plural(H.rows, 'line')}`;
  $('clear').hidden = !filtered();
}

function notes() {
  const list = [];
  if (H.full) list.push(`This is a window: it ends at ${plural(H.max, 'line')}, and the capture goes on. --from-seq, --to-seq and --max-frames choose another.`);
  if (H.outside) list.push(`${plural(H.outside, 'line')} before and behind the chosen window ${H.outside === 1 ? 'is' : 'are'} not here.`);
  if (H.damaged) list.push(`${plural(H.damaged, 'line')} of the capture ${H.damaged === 1 ? 'is' : 'are'} damaged and not here.`);
  if (H.cut) list.push(`Of ${plural(H.cut, 'frame')} only the beginning is here.`);
  if (H.runs.length > 1) list.push(`${H.runs.length} runs, one behind the other; each has its own time.`);
  $('notes').hidden = !list.length;
  $('notes').textContent = list.join(' ');
}

function about() {
  $('title').textContent = visible(H.title);
  document.title = visible(H.title) + ' · acp-shim';
  const r = H.runs[0] || {};
  const parts = [];
  if (r.start) parts.push(r.start.slice(0, 19).replace('T', ' ') + ' UTC');
  if (r.agent) parts.push(r.agent);
  if (H.rows) parts.push(dur(C.t[H.rows - 1] - C.t[0]));
  if (r.redacted === false && r.start) parts.push('not redacted');
  $('facts').textContent = visible(parts.join(' · '));
}

async function main() {
  startTheme();
  try {
    await load();
  } catch (e) {
    $('empty').hidden = false;
    $('empty').textContent = 'The data of this page cannot be read: ' + e.message;
    return;
  }
  const seen = new Set();
  for (let i = 0; i < H.rows; i++) {
    const s = C.session[i];
    if (s && !seen.has(s)) {
      seen.add(s);
      sessionNumber.set(s, sessions.length);
      sessions.push(s);
    }
  }
  about();
  notes();
  buildAxis();
  startFilter();
  startOverview();
  filterChanged.push(counts);
  applyFilter();
  startSequence();
  startWaterfall();
  startCharts();
  startKeys();
  $('squeeze').addEventListener('click', squeeze);
  for (const t of TABS) $('tab-' + t).addEventListener('click', () => tab(t));
  $('empty').hidden = V.n > 0;
  counts();
  $('list').focus({ preventScroll: true });
  requestAnimationFrame(() => requestAnimationFrame(() => {
    performance.mark('shown');
    document.documentElement.dataset.ready = 'yes';
  }));
}

main();
