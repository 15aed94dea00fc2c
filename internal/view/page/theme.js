// theme.js: light and dark.

const theme = { choice: 'auto', changed: [] };
const prefersDark = matchMedia('(prefers-color-scheme: dark)');

function applyTheme() {
  const dark = theme.choice === 'dark' || theme.choice === 'auto' && prefersDark.matches;
  inks.clear();
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  $('theme').textContent = '◐ ' + { auto: 'Auto', light: 'Light', dark: 'Dark' }[theme.choice];
  $('theme').setAttribute('aria-label', 'Theme: ' + theme.choice);
  for (const f of theme.changed) f();
}

function nextTheme() {
  const order = prefersDark.matches ? ['auto', 'light', 'dark'] : ['auto', 'dark', 'light'];
  theme.choice = order[(order.indexOf(theme.choice) + 1) % 3];
  try { localStorage.setItem('acp-shim-theme', theme.choice); } catch { /* a page of a file may have none */ }
  applyTheme();
}

function startTheme() {
  try { theme.choice = localStorage.getItem('acp-shim-theme') || 'auto'; } catch { /* as above */ }
  if (!['auto', 'light', 'dark'].includes(theme.choice)) theme.choice = 'auto';
  prefersDark.addEventListener('change', applyTheme);
  $('theme').addEventListener('click', nextTheme);
  applyTheme();
}

// ink is a colour of the theme, for what is drawn on a canvas. To ask for one makes
// the browser settle all styles, so each is asked for once.
const inks = new Map();
function ink(name) {
  if (!inks.has(name)) inks.set(name, getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim());
  return inks.get(name);
}
