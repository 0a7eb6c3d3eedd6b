// The script of the timeline page: plain JavaScript, no library, nothing from outside.
// It draws what the data block holds (timeline_data.h states its form) and stores
// nothing. The page allows this text by its digest and no other script.
#pragma once

#include "html_writer.h"

namespace stepslack::render {

inline constexpr TrustedText kTimelineScript = R"js(
'use strict';
(function () {
const D = JSON.parse(document.getElementById('data').textContent);
const box = document.getElementById('box'), canvas = document.getElementById('view');
const pad = document.getElementById('pad'), readout = document.getElementById('read');
const ctx = canvas.getContext('2d');
const GUTTER = 84, AXIS = 30, LANES = 40, NONE = 4294967295;
function decode(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}
const u32 = t => new Uint32Array(decode(t).buffer);
const rank = new Int32Array(decode(D.rank).buffer);
const first = u32(D.first), last = u32(D.last), n = rank.length, U = D.unitNs;
const levels = D.levels.map(l => ({w: l.tileNs, tiles: l.tiles, rows: l.rows,
  g: l.ranksPerRow, bytes: l.bytesPerTile, data: decode(l.data),
  focus: l.focus && new Map([...u32(l.focus)].map((row, k) => [row, k]))}));
const groups = [...new Set(levels.map(l => l.g))].sort((a, b) => a - b);
const marks = {};
for (const kind of ['steps', 'phases', 'collectives']) {
  const m = D[kind];
  marks[kind] = {at: u32(m.at), s: u32(m.start), e: u32(m.end), v: m.value && u32(m.value),
    w: m.wait && u32(m.wait)};
}

// Rows merged of several ranks: their common span, for clipping.
for (const l of levels.filter(l => !l.focus)) {
  l.first = new Float64Array(l.rows).fill(Infinity);
  l.last = new Float64Array(l.rows);
  for (let i = 0; i < n; i++) {
    if (first[i] === last[i]) continue;
    const r = Math.floor(i / l.g);
    l.first[r] = Math.min(l.first[r], first[i] * U);
    l.last[r] = Math.max(l.last[r], last[i] * U);
  }
}

const PARTS = ['compute', 'comm overlapped', 'comm exposed', 'memory', 'idle'];
const LETTERS = 'COEMI';
const PHASES = ['data', 'forward', 'backward', 'optimizer', 'zero_grad', 'eval',
  'checkpoint'];
const PHASE_STYLE = [['c3', 'h'], ['c0', ''], ['c0', 'd'], ['c2', ''], ['c2', 'h'],
  ['c4', 'd'], ['c1', 'h']];
const view = {t0: 0, t1: Math.max(D.lengthNs, 1), h: 0};
let cursor = null, theme = null, pending = false, W = 0, H = 0, dpr = 1;
function readTheme() {
  const css = getComputedStyle(document.documentElement), t = {pattern: {}, word: {}};
  for (const name of ['paper', 'panel', 'ink', 'muted', 'rule', 'grid', 'c0', 'c1', 'c2',
    'c3', 'c4']) {
    t[name] = css.getPropertyValue('--' + name).trim();
    let hex = t[name].slice(1);
    if (hex.length === 3) hex = hex.replace(/./g, '$&$&');
    const v = parseInt(hex, 16);
    t.word[name] = (255 << 24 | (v & 255) << 16 | (v & 65280) | v >> 16) >>> 0;
  }
  theme = t;
}
function fill(colour, kind, key = colour + kind) {
  if (!kind) return theme[colour];
  if (theme.pattern[key]) return theme.pattern[key];
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const c = tile.getContext('2d');
  c.fillStyle = theme[colour];
  c.fillRect(0, 0, 6, 6);
  c.fillStyle = theme.paper;
  for (let i = 0; i < 6; i++) {
    if (kind === 'd') { c.fillRect(i, 5 - i, 1, 1); c.fillRect(i, (6 - i) % 6, 1, 1); }
    if (kind === 'h') c.fillRect(i, 2, 1, 1);
    if (kind === 'p' && i % 3 === 0) { c.fillRect(i, 0, 1, 1); c.fillRect(i, 3, 1, 1); }
  }
  return theme.pattern[key] = ctx.createPattern(tile, 'repeat');
}

const bodyH = () => Math.max(H - AXIS, 1);
const bodyW = () => Math.max(W - GUTTER, 1);
const timeAt = x => view.t0 + (x - GUTTER) / bodyW() * (view.t1 - view.t0);
const xAt = t => GUTTER + (t - view.t0) / (view.t1 - view.t0) * bodyW();
const rankAt = y => Math.floor((y - AXIS + box.scrollTop) / view.h);
function duration(ns) {
  const a = Math.abs(ns);
  const [scale, unit] = a >= 1e9 ? [1e9, 's'] : a >= 1e6 ? [1e6, 'ms'] :
    a >= 1e3 ? [1e3, 'us'] : [1, 'ns'];
  return parseFloat((ns / scale).toPrecision(6)) + ' ' + unit;
}
// The finest level with tiles of a pixel at least; of all ranks, or of the focus.
function pickLevel(focus) {
  let g = groups[groups.length - 1], found = null;
  for (const one of groups) if (view.h * one >= 3) { g = one; break; }
  for (const l of levels) {
    if (l.g !== g || !!l.focus !== focus) continue;
    found = l;
    if (l.w / (view.t1 - view.t0) * bodyW() * dpr >= 1) break;
  }
  return found;
}
// Where the tiles of row r of level l are: in f when that knows the rank.
function source(l, f, r) {
  const fine = f && l.g === 1 && f.focus.has(r);
  return fine ? {l: f, at: f.focus.get(r) * f.tiles} : {l, at: r * l.tiles};
}
function drawTiles(l, f) {
  const w = Math.round(bodyW() * dpr), h = Math.round(bodyH() * dpr);
  const image = ctx.createImageData(w, h), px = new Uint32Array(image.data.buffer);
  const span = view.t1 - view.t0, rowH = l ? view.h * l.g * dpr : 1;
  const top = box.scrollTop * dpr;
  px.fill(theme.word.panel);
  const end = l ? Math.min(l.rows, Math.ceil((top + h) / rowH)) : 0;
  for (let r = Math.floor(top / rowH); r < end; r++) {
    if (l.first[r] >= l.last[r]) continue;
    const y0 = Math.round(r * rowH - top), from = source(l, f, r);
    let full = Math.max(Math.round((r + 1) * rowH - top) - y0 - (rowH >= 6 ? 1 : 0), 1);
    if (view.h >= LANES) full = Math.round(full * 0.52);
    const x0 = Math.max(0, Math.floor((l.first[r] - view.t0) / span * w));
    const x1 = Math.min(w, Math.ceil((l.last[r] - view.t0) / span * w));
    for (let x = x0; x < x1; x++) {
      const k = Math.floor((view.t0 + (x + 0.5) / w * span) / from.l.w);
      if (k < 0 || k >= from.l.tiles) continue;
      column(px, w, h, x, y0, full, from.l, (from.at + k) * from.l.bytes);
    }
  }
  ctx.putImageData(image, Math.round(GUTTER * dpr), Math.round(AXIS * dpr));
}
// One pixel column of one row: the parts stacked from below, each with its pattern.
function column(px, w, h, x, y0, full, l, o) {
  const d = l.data, t = theme.word, base = y0 + full;
  const a = d[o] * full / 255, b = a + d[o + 1] * full / 255;
  const c = b + d[o + 2] * full / 255, e = c + d[o + 3] * full / 255;
  const worst = l.bytes > 4 && d[o + 5] >= 2 * d[o + 2] && d[o + 5] >= 51;
  for (let y = Math.max(y0, 0); y < Math.min(base, h); y++) {
    const up = base - y - 0.5;
    let v = (x & 7) === 0 && (y & 7) === 0 ? t.muted : t.paper;
    if (worst && y - y0 < 2) v = t.ink;
    else if (up < a) v = t.c0;
    else if (up < b) v = (x & 3) === 0 && (y & 3) === 0 ? t.paper : t.c2;
    else if (up < c) v = ((x + y) % 6) < 2 ? t.paper : t.c1;
    else if (up < e) v = (y & 3) === 0 ? t.paper : t.c3;
    px[y * w + x] = v;
  }
}

function text(s, x, y, colour, halo) {
  if (halo) {
    ctx.lineWidth = 3;
    ctx.strokeStyle = theme.paper;
    ctx.strokeText(s, x, y);
  }
  ctx.fillStyle = theme[colour];
  ctx.fillText(s, x, y);
}
// The part that takes most of the time at an instant, how much of the rest lies below
// it and above; -1 outside of the span.
function partAt({l, at}, i, t) {
  const k = Math.floor(t / l.w), o = (at + k) * 4;
  if (k < 0 || k >= l.tiles || t < first[i] * U || t >= last[i] * U) return {part: -1};
  let below = 0, left = 255, best = {part: -1, size: 0};
  for (let p = 0; p < 5; p++) {
    const size = p < 4 ? l.data[o + p] : Math.max(left, 0);
    if (size > best.size) best = {part: p, size, below};
    below += size;
    left -= size;
  }
  return best;
}
// Letters where one part lasts, so that a reader needs no colour.
function drawLetters(l, f) {
  if (!l || l.g !== 1 || view.h < 18) return;
  const full = view.h >= LANES ? view.h * 0.52 : view.h - 1;
  ctx.textAlign = 'center';
  eachRow((i, y) => {
    const from = source(l, f, i);
    for (let x = GUTTER + 9; x < W - 8;) {
      const here = partAt(from, i, timeAt(x)), part = here.part;
      const lasts = part >= 0 && here.size / 255 * full >= 11 &&
        partAt(from, i, timeAt(x - 7)).part === part &&
        partAt(from, i, timeAt(x + 7)).part === part;
      if (lasts) {
        const up = (here.below + here.size / 2) / 255;
        text(LETTERS[part], x, y + full * (1 - up) + 4, 'ink', 1);
      }
      x += lasts ? 64 : 6;
    }
  });
}
function eachRow(draw) {
  const from = Math.max(0, Math.floor(box.scrollTop / view.h));
  const to = Math.min(n, Math.ceil((box.scrollTop + bodyH()) / view.h));
  for (let i = from; i < to; i++) draw(i, AXIS + i * view.h - box.scrollTop);
}
function eachMark(kind, i, draw) {
  const m = marks[kind];
  for (let k = m.at[i]; k < m.at[i + 1]; k++) {
    const s = m.s[k] * U, e = m.e[k] * U;
    if (s > view.t1) break;
    if (e >= view.t0) draw(k, Math.max(xAt(s), GUTTER), Math.min(xAt(e), W), s, e);
  }
}
function bar(x0, x1, y, h, style, label) {
  const w = Math.max(x1 - x0, 1);
  ctx.fillStyle = style;
  ctx.fillRect(x0, y, w, h);
  if (w > 14 && h >= 9 && label) {
    const wide = ctx.measureText(label).width + 6 < w;
    text(wide ? label : label[0].toUpperCase(), x0 + w / 2, y + h / 2 + 4, 'ink', 1);
  }
}
function drawLanes() {
  if (view.h < LANES) return;
  const y1 = view.h * 0.55, h = view.h * 0.2, y2 = view.h * 0.77;
  ctx.textAlign = 'center';
  eachRow((i, y) => {
    eachMark('phases', i, (k, x0, x1) => {
      const p = marks.phases.v[k];
      bar(x0, x1, y + y1, h, fill(...PHASE_STYLE[p]), PHASES[p]);
    });
    eachMark('collectives', i, (k, x0, x1, s, e) => {
      const m = marks.collectives, known = m.w[k] !== NONE, wait = known ? m.w[k] * U : 0;
      const stop = Math.min(Math.max(xAt(s + wait), x0), x1);
      if (x1 > stop || x1 === x0) {
        bar(stop, x1, y + y2, h, fill('c1', known ? '' : 'p'), D.names[m.v[k]]);
      }
      if (stop > x0) bar(x0, stop, y + y2, h, fill('c1', 'd'), 'wait');
      ctx.strokeStyle = theme.ink;
      ctx.lineWidth = 0.5;
      ctx.strokeRect(x0, y + y2, Math.max(x1 - x0, 1), h);
    });
  });
}
function drawSteps() {
  ctx.lineWidth = 1;
  ctx.textAlign = 'left';
  let labelled = false;
  const line = (x, y0, y1) => {
    if (x < GUTTER) return;
    ctx.beginPath();
    ctx.moveTo(Math.round(x) + 0.5, y0);
    ctx.lineTo(Math.round(x) + 0.5, y1);
    ctx.stroke();
  };
  eachRow((i, y) => {
    const m = marks.steps, some = m.at[i + 1] > m.at[i];
    if (!some || (labelled && view.h < 8)) return;
    let free = 0;
    ctx.strokeStyle = theme.ink;
    eachMark('steps', i, (k, x0, x1, s, e) => {
      const whole = !labelled && view.h < 8;
      line(xAt(s), whole ? AXIS : y, whole ? H : y + view.h);
      if (xAt(e) <= W) line(xAt(e), whole ? AXIS : y, whole ? H : y + view.h);
      if (!labelled && x0 >= free && x1 - x0 > 12) {
        const label = 'step ' + (m.v[k] | 0);
        text(label, x0 + 3, 11, 'ink');
        free = x0 + ctx.measureText(label).width + 12;
      }
    });
    if (!labelled) text('of rank ' + rank[i], 4, 11, 'muted');
    labelled = true;
  });
}
function drawAxis() {
  const span = view.t1 - view.t0, rough = span / Math.max(bodyW() / 110, 1);
  const ten = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map(k => k * ten).find(k => k >= rough) || 10 * ten;
  ctx.textAlign = 'left';
  ctx.strokeStyle = theme.rule;
  ctx.lineWidth = 1;
  for (let t = Math.ceil(view.t0 / step) * step; t <= view.t1; t += step) {
    const x = Math.round(xAt(t)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, 16);
    ctx.lineTo(x, AXIS);
    ctx.stroke();
    text(duration(t), x + 3, 26, 'muted');
  }
}
function drawLabels(l) {
  ctx.fillStyle = theme.paper;
  ctx.fillRect(0, AXIS, GUTTER, H);
  ctx.textAlign = 'right';
  const g = l ? l.g : 1, row = view.h * g, every = Math.max(1, Math.ceil(15 / row));
  const from = Math.floor(box.scrollTop / row);
  for (let r = from - from % every; r * row < box.scrollTop + bodyH(); r += every) {
    const i = r * g, y = AXIS + r * row - box.scrollTop;
    if (i >= n || y < AXIS - 2) continue;
    const to = Math.min(i + g, n) - 1;
    text(to > i ? rank[i] + '-' + rank[to] : 'rank ' + rank[i], GUTTER - 6,
      y + Math.min(row / 2 + 4, 13), 'ink');
  }
}
function drawCursor() {
  if (!cursor) return;
  const x = xAt(cursor.t), y = AXIS + cursor.i * view.h - box.scrollTop;
  ctx.strokeStyle = theme.ink;
  ctx.lineWidth = 1;
  ctx.setLineDash([3, 3]);
  if (x >= GUTTER && x <= W) {
    ctx.beginPath();
    ctx.moveTo(x, AXIS);
    ctx.lineTo(x, H);
    ctx.stroke();
  }
  ctx.setLineDash([]);
  if (y + view.h > AXIS) {
    ctx.lineWidth = 1.5;
    ctx.strokeRect(GUTTER, y, W - GUTTER - 1, Math.max(view.h - 1, 2));
  }
}
function draw() {
  pending = false;
  if (!theme) readTheme();
  dpr = Math.min(window.devicePixelRatio || 1, 2);
  W = canvas.clientWidth;
  H = canvas.clientHeight;
  const w = Math.round(W * dpr), h = Math.round(H * dpr);
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
  ctx.font = '12px system-ui,sans-serif';
  ctx.fillStyle = theme.paper;
  ctx.fillRect(0, 0, W, H);
  const l = pickLevel(false), f = pickLevel(true);
  drawTiles(l, f);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, AXIS, W, H);
  ctx.clip();
  drawLetters(l, f);
  drawLanes();
  drawLabels(l);
  drawCursor();
  ctx.restore();
  drawAxis();
  drawSteps();
}
function redraw() {
  if (!pending) requestAnimationFrame(draw);
  pending = true;
}
function setRow(h, keepY) {
  const y = keepY === undefined ? bodyH() / 2 : keepY - AXIS;
  const at = view.h > 0 ? (box.scrollTop + y) / view.h : 0;
  view.h = Math.min(Math.max(h, bodyH() / Math.max(n, 1), 0.02), 120);
  pad.style.height = Math.max(0, n * view.h - bodyH()) + 'px';
  box.scrollTop = at * view.h - y;
  redraw();
}
function setTime(t0, t1) {
  const whole = Math.max(D.lengthNs, 1);
  const span = Math.min(Math.max(t1 - t0, 50), whole * 1.1);
  const low = -0.05 * whole, high = whole * 1.05;
  view.t0 = Math.min(Math.max(t0, low), Math.max(high - span, low));
  view.t1 = view.t0 + span;
  redraw();
}
function zoom(factor, x) {
  const t = x === undefined ? (view.t0 + view.t1) / 2 : timeAt(x);
  setTime(t - (t - view.t0) * factor, t + (view.t1 - t) * factor);
}
function pan(share) {
  const d = (view.t1 - view.t0) * share;
  setTime(view.t0 + d, view.t1 + d);
}
function fitAll() {
  setRow(n > 0 ? Math.min(bodyH() / n, 72) : 20);
  box.scrollTop = 0;
  setTime(0, D.lengthNs);
}

function markAt(kind, i, t) {
  const m = marks[kind];
  let found = -1;
  for (let k = m.at[i]; k < m.at[i + 1]; k++) {
    if (m.s[k] * U > t) break;
    if (m.e[k] * U > t) found = k;
  }
  return found;
}
function describe(i, t) {
  const out = ['rank ' + rank[i] + ' at ' + duration(t)], rows = pickLevel(false);
  const r = Math.floor(i / rows.g), {l, at} = source(rows, pickLevel(true), r);
  const k = Math.floor(t / l.w), o = (at + k) * l.bytes;
  if (k >= 0 && k < l.tiles && t >= rows.first[r] && t < rows.last[r]) {
    const share = [0, 1, 2, 3].map(p => l.data[o + p]);
    share.push(Math.max(0, 255 - share[0] - share[1] - share[2] - share[3]));
    const parts = share.map((s, p) => PARTS[p] + ' ' + Math.round(s / 2.55) + ' %');
    out.push((l.g > 1 ? 'mean of ' + l.g + ' ranks, ' : '') + duration(l.w) + ' tile: ' +
      parts.join(', '));
    if (l.bytes > 4 && l.data[o + 5] > 0) {
      out.push('worst rank ' + rank[r * l.g + l.data[o + 4]] + ' exposed ' +
        Math.round(l.data[o + 5] / 2.55) + ' %');
    }
  } else out.push('outside of the recorded span');
  const s = markAt('steps', i, t), p = markAt('phases', i, t), c = markAt('collectives', i, t);
  if (s >= 0) out.push('step ' + (marks.steps.v[s] | 0));
  if (p >= 0) out.push('phase ' + PHASES[marks.phases.v[p]]);
  if (c >= 0) {
    const m = marks.collectives, whole = (m.e[c] - m.s[c]) * U;
    out.push('collective ' + D.names[m.v[c]] + ' ' + duration(whole) + (m.w[c] === NONE ?
      ' (wait not known)' : ', wait ' + duration(m.w[c] * U)));
  }
  return out.join('; ');
}
function point(i, t) {
  if (n === 0) return;
  cursor = {i: Math.min(Math.max(i, 0), n - 1), t: Math.min(Math.max(t, 0), D.lengthNs)};
  readout.textContent = describe(cursor.i, cursor.t);
  redraw();
}
function moveCursor(dx, dy) {
  if (!cursor) cursor = {i: rankAt(AXIS), t: (view.t0 + view.t1) / 2};
  point(cursor.i + dy, cursor.t + dx * (view.t1 - view.t0) / 100);
  const y = cursor.i * view.h;
  if (y < box.scrollTop) box.scrollTop = y;
  if (y + view.h > box.scrollTop + bodyH()) box.scrollTop = y + view.h - bodyH();
  if (cursor.t < view.t0 || cursor.t > view.t1) {
    const half = (view.t1 - view.t0) / 2;
    setTime(cursor.t - half, cursor.t + half);
  }
}
function jump(k) {
  const p = D.worst[k], room = (p.end - p.start) * 0.1 + 50;
  setRow(Math.max(view.h, 72));
  box.scrollTop = p.row * view.h - (bodyH() - view.h) / 2;
  setTime(p.start - room, p.end + room);
  point(p.row, (p.start + p.end) / 2);
  box.scrollIntoView({block: 'nearest'});
  canvas.focus({preventScroll: true});
}

const KEYS = {
  '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), '_': () => zoom(2),
  '0': fitAll, '[': () => setRow(view.h / 1.5), ']': () => setRow(view.h * 1.5),
  ArrowLeft: e => e.shiftKey ? moveCursor(-1, 0) : pan(-0.15),
  ArrowRight: e => e.shiftKey ? moveCursor(1, 0) : pan(0.15),
  ArrowUp: e => e.shiftKey ? moveCursor(0, -1) : box.scrollTop -= Math.max(view.h, 24),
  ArrowDown: e => e.shiftKey ? moveCursor(0, 1) : box.scrollTop += Math.max(view.h, 24),
  PageUp: () => box.scrollTop -= bodyH(), PageDown: () => box.scrollTop += bodyH(),
  Home: () => setTime(0, view.t1 - view.t0),
  End: () => setTime(D.lengthNs - (view.t1 - view.t0), D.lengthNs),
};
canvas.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || !KEYS[e.key]) return;
  e.preventDefault();
  KEYS[e.key](e);
});
box.addEventListener('wheel', e => {
  e.preventDefault();
  const d = (e.deltaY || e.deltaX) * (e.deltaMode === 1 ? 30 : 1);
  const at = canvas.getBoundingClientRect();
  if (e.shiftKey) box.scrollTop += d;
  else if (e.ctrlKey) setRow(view.h * Math.exp(-d / 400), e.clientY - at.top);
  else zoom(Math.exp(d / 400), e.clientX - at.left);
}, {passive: false});
box.addEventListener('scroll', redraw);
let drag = null;
canvas.addEventListener('pointerdown', e => {
  drag = {x: e.clientX, y: e.clientY, t0: view.t0, top: box.scrollTop};
  canvas.setPointerCapture(e.pointerId);
});
canvas.addEventListener('pointermove', e => {
  if (drag) {
    const dt = (drag.x - e.clientX) / bodyW() * (view.t1 - view.t0);
    setTime(drag.t0 + dt, drag.t0 + dt + view.t1 - view.t0);
    box.scrollTop = drag.top + drag.y - e.clientY;
    return;
  }
  const at = canvas.getBoundingClientRect(), x = e.clientX - at.left, y = e.clientY - at.top;
  if (x >= GUTTER && y >= AXIS && rankAt(y) < n) point(rankAt(y), timeAt(x));
});
for (const up of ['pointerup', 'pointercancel'])
  canvas.addEventListener(up, () => { drag = null; });
for (const b of document.querySelectorAll('button[data-do]')) {
  b.addEventListener('click', () => KEYS[b.dataset.do]({}));
}
for (const b of document.querySelectorAll('button[data-worst]')) {
  b.addEventListener('click', () => jump(Number(b.dataset.worst)));
}
const scheme = matchMedia('(prefers-color-scheme: dark)');
scheme.addEventListener('change', () => { theme = null; redraw(); });
if (n * 72 + AXIS < box.clientHeight) box.style.height = n * 72 + AXIS + 4 + 'px';
[W, H] = [canvas.clientWidth, canvas.clientHeight];
fitAll();
new ResizeObserver(() => { H = canvas.clientHeight; setRow(view.h); }).observe(box);
const wanted = /^#place-(\d+)$/.exec(location.hash);
if (wanted && D.worst[wanted[1]]) requestAnimationFrame(() => jump(Number(wanted[1])));
})();
)js";

}  // namespace stepslack::render
