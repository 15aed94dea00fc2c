// names.js: the words of the data, and how figures are written.

const KIND = ['header', 'event', 'request', 'notification', 'response', 'other'];
const EVENT = 1, REQUEST = 2, NOTIFICATION = 3, RESPONSE = 4;
const FAILED = 1, CHANGED = 2, AGAIN = 4, REPLAYED = 8, LOST = 16, MADE = 32, CHUNK = 64, HELD = 128;
const NOBODY = 0, CLIENT = 1, SHIM = 2, AGENTS = 3;

const $ = (id) => document.getElementById(id);

// el makes an element. Text gets in as text only; the page's policy allows nothing else.
function el(tag, cls, text) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  if (text !== undefined) e.textContent = text;
  return e;
}

// The page has no address in it, not even that of a namespace.
const SVG = $('drawing').namespaceURI;
function svg(tag, attrs) {
  const e = document.createElementNS(SVG, tag);
  for (const k in attrs) e.setAttribute(k, attrs[k]);
  return e;
}

// dur is a time in three digits or so, of nanoseconds.
function dur(ns) {
  const a = Math.abs(ns);
  if (a === 0) return '0';
  if (a < 9950) return (ns / 1e3).toFixed(1) + ' µs';
  if (a < 999500) return (ns / 1e3).toFixed(0) + ' µs';
  if (a < 9.95e6) return (ns / 1e6).toFixed(1) + ' ms';
  if (a < 999.5e6) return (ns / 1e6).toFixed(0) + ' ms';
  if (a < 9.995e9) return (ns / 1e9).toFixed(2) + ' s';
  if (a < 99.95e9) return (ns / 1e9).toFixed(1) + ' s';
  const s = Math.round(ns / 1e9);
  if (s < 3600) return Math.floor(s / 60) + 'm' + String(s % 60).padStart(2, '0') + 's';
  return Math.floor(s / 3600) + 'h' + String(Math.floor(s / 60) % 60).padStart(2, '0') + 'm';
}

function bytes(n) {
  if (n < 1000) return n + ' B';
  for (const unit of ['kB', 'MB', 'GB', 'TB']) {
    n /= 1000;
    if (n < 999.5) return n.toFixed(n < 9.95 ? 1 : 0) + ' ' + unit;
  }
  return n.toFixed(0) + ' PB';
}

const num = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
const plural = (n, thing) => num(n) + ' ' + thing + (n === 1 ? '' : 's');

// What would be invisible, or turn the direction of the text, is spelled out.
const HIDDEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const visible = (s) => s.replace(HIDDEN, (c) => c === '\t' ? '  ' : '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));

function debounce(ms, f) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(f, ms); };
}

// lowerBound is the first index at which the sorted list is not below x.
function lowerBound(list, x, n = list.length) {
  let a = 0, b = n;
  while (a < b) {
    const m = (a + b) >> 1;
    if (list[m] < x) a = m + 1; else b = m;
  }
  return a;
}
