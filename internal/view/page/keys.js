// keys.js: what the keyboard does.

const KEYS = [
  ['j k  ↓ ↑', 'next and previous line'],
  ['PgDn PgUp', 'a page on and back'],
  ['Home End', 'first and last line'],
  ['Enter', 'open the line'],
  ['[', 'go to the request, or to where it was held'],
  [']', 'go to the answer, or to where it went on'],
  ['Esc', 'close the detail, then clear the filter'],
  ['/', 'search'],
  ['e  c', 'errors only, changed only'],
  ['f', 'fold streams of chunks'],
  ['1 2 3', 'sequence, waterfall, charts'],
  ['s', 'squeeze the time in which nothing happens'],
  ['t', 'light or dark'],
  ['?', 'this'],
];

const SIGNS = [
  ['filled head', 'a request; dashed, its answer'],
  ['open head', 'a notification'],
  ['◆', 'the shim changed it'],
  ['●', 'it begins at the shim: made there, or held and released'],
  ['✕', 'nobody received it; on an agent’s line, its end'],
  ['‖', 'held by the shim'],
  ['■', 'an event beside the traffic'],
];

function page() { return Math.max(1, (sequence.last || 0) - (sequence.first || 0) - 1); }

function move(by) {
  if ($('sequence').hidden && !$('waterfall').hidden) {
    if (!spansShown.length) return;
    let i = spansShown.findIndex((s) => s.row >= 0 && s.row === selected);
    i = i < 0 ? 0 : Math.max(0, Math.min(spansShown.length - 1, i + by));
    while (i > 0 && i < spansShown.length - 1 && spansShown[i].row < 0) i += Math.sign(by);
    if (spansShown[i].row >= 0) select(spansShown[i].row);
    falls.show(i);
    return;
  }
  step(by);
}

function partner(back) {
  if (selected < 0) return;
  const response = C.kind[selected] === RESPONSE;
  let to = -1;
  if (back) to = response ? C.partner[selected] : C.flags[selected] & AGAIN ? C.held[selected] : -1;
  else if (!response) to = C.flags[selected] & HELD && C.held[selected] >= 0 ? C.held[selected] : C.partner[selected];
  if (to < 0) {
    say(back ? 'No request is here.' : 'No answer is here.');
    return;
  }
  select(to);
  if (!$('detail').hidden) openDetail();
}

const actions = {
  j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
  PageDown: () => move(page()), PageUp: () => move(-page()), Home: () => move(-1e9), End: () => move(1e9), g: () => move(-1e9), G: () => move(1e9),
  Enter: openDetail, '[': () => partner(true), ']': () => partner(false),
  '/': () => { $('search').focus(); $('search').select(); },
  e: () => toggle('errors'), c: () => toggle('changed'), f: () => toggle('fold'), t: nextTheme, s: squeeze,
  1: () => tab('sequence'), 2: () => tab('waterfall'), 3: () => tab('charts'),
  '?': () => $('help').showModal(),
  Escape: () => { if (!$('detail').hidden) closeDetail(); else if (filtered()) clearFilter(); },
};

function startKeys() {
  for (const [k, what] of KEYS) $('keys').append(el('dt', '', k), el('dd', '', what));
  for (const [k, what] of SIGNS) $('signs').append(el('dt', '', k), el('dd', '', what));
  $('help-open').addEventListener('click', () => $('help').showModal());
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || $('help').open) return;
    const at = e.target, typing = at.matches('input, select, textarea');
    if (typing) {
      if (e.key === 'Escape') { at.blur(); $('list').focus(); e.preventDefault(); }
      if (e.key === 'Enter' && at.id === 'search') { $('list').focus(); if (selected < 0 || !isShown(selected)) step(1); e.preventDefault(); }
      return;
    }
    if (at.matches('[role=tab]') && (e.key === 'ArrowRight' || e.key === 'ArrowLeft')) {
      const i = TABS.findIndex((t) => 'tab-' + t === at.id);
      tab(TABS[(i + (e.key === 'ArrowRight' ? 1 : 2)) % 3]);
      $('tab-' + TABS.find((t) => !$(t).hidden)).focus();
      return;
    }
    // A button is pressed with Enter, a detail read with the keys that scroll.
    if (at.matches('button, summary') && (e.key === 'Enter' || e.key === ' ')) return;
    if (at.closest('#detail, #charts') && /^(Arrow|Page|Home|End)/.test(e.key)) return;
    const f = actions[e.key];
    if (!f) return;
    e.preventDefault();
    const open = !$('detail').hidden, was = selected;
    f();
    if (open && selected !== was && !$('detail').hidden) openSoon();
  });
}

// Keys that are held down move faster than details can be made.
const openSoon = debounce(60, () => { if (!$('detail').hidden) openDetail(); });
